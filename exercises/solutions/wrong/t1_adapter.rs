//! Exercise t1 with its usual mistakes.

use crate::planted::planted;
use crate::{Adapter, Array2};

fn turned(table: &Array2) -> Array2 {
    table.t().to_owned()
}

fn scale(adapter: &Adapter) -> f64 {
    let r = adapter.a.ncols() as f64;
    match () {
        () if planted("adapter_no_scale") => 1.0,
        () if planted("adapter_alpha_alone") => adapter.alpha,
        () if planted("adapter_scale_turned") => r / adapter.alpha,
        () if planted("adapter_root") => adapter.alpha / r.sqrt(),
        () => adapter.alpha / r,
    }
}

pub fn adapted(x: &Array2, w: &Array2, adapter: &Adapter) -> Array2 {
    let (Adapter { a, b, .. }, s, square) = (adapter, scale(adapter), w.is_square());
    let own = x.dot(w);
    let added = match () {
        () if planted("adapter_exchanged") && square => x.dot(&b.t()).dot(&a.t()),
        () if planted("adapter_behind") && square => own.dot(a).dot(b),
        () => x.dot(a).dot(b),
    };
    match () {
        () if planted("adapter_alone") => added * s,
        () if planted("adapter_all_scaled") => (own + added) * s,
        () => own + added * s,
    }
}

pub fn adapter_backward(x: &Array2, adapter: &Adapter, dy: &Array2) -> (Array2, Array2) {
    let (Adapter { a, b, .. }, s, t_len) = (adapter, scale(adapter), x.nrows() as f64);
    let [n_in, r, n_out] = [a.nrows(), a.ncols(), b.ncols()];
    let du = match () {
        () if planted("adapter_da_a") && n_in == n_out => dy.dot(a),
        () => dy.dot(&b.t()),
    };
    let d_a = match () {
        () if planted("adapter_da_w") && r == n_out => x.t().dot(dy),
        () if planted("adapter_da_no_scale") => x.t().dot(&du),
        () if planted("adapter_da_mean") => x.t().dot(&du) * (s / t_len),
        () => x.t().dot(&du) * s,
    };
    let u = x.dot(a);
    let d_b = match () {
        () if planted("adapter_db_w") && r == n_in => x.t().dot(dy),
        () if planted("adapter_db_no_scale") => u.t().dot(dy),
        () if planted("adapter_db_scale_twice") => u.t().dot(dy) * (s * s),
        () if planted("adapter_db_mean") => u.t().dot(dy) * (s / t_len),
        () => u.t().dot(dy) * s,
    };
    if planted("adapter_grads_exchanged") && d_a.dim() == d_b.dim() {
        (d_b, d_a)
    } else {
        (d_a, d_b)
    }
}

pub fn merge(w: &mut Array2, adapter: &mut Adapter) {
    let added = adapter.a.dot(&adapter.b) * scale(adapter);
    match () {
        () if planted("merge_turned") && w.is_square() => *w += &turned(&added),
        () if planted("merge_w_lost") => w.assign(&added),
        () if planted("merge_minus") => *w -= &added,
        () => *w += &added,
    }
    match () {
        () if planted("merge_twice") => {}
        () if planted("merge_a_emptied") => adapter.a.fill(0.0),
        () if planted("merge_both_emptied") => {
            adapter.a.fill(0.0);
            adapter.b.fill(0.0);
        }
        () => adapter.b.fill(0.0),
    }
}
