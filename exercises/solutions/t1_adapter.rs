//! Exercise t1, solved.

use crate::{Adapter, Array1, Array2, linear, linear_backward};

fn product(x: &Array2, w: &Array2) -> Array2 {
    linear(x, w, &Array1::zeros(w.ncols()))
}

fn scale(adapter: &Adapter) -> f64 {
    adapter.alpha / adapter.a.ncols() as f64
}

/// y = x·W + s·(x·A)·B.
pub fn adapted(x: &Array2, w: &Array2, adapter: &Adapter) -> Array2 {
    let u = product(x, &adapter.a);
    product(x, w) + product(&u, &adapter.b) * scale(adapter)
}

/// dA and dB.
pub fn adapter_backward(x: &Array2, adapter: &Adapter, dy: &Array2) -> (Array2, Array2) {
    let u = product(x, &adapter.a);
    let (du, d_b, _) = linear_backward(&u, &adapter.b, &(dy * scale(adapter)));
    let (_, d_a, _) = linear_backward(x, &adapter.a, &du);
    (d_a, d_b)
}

/// Makes s·A·B a part of W, once.
pub fn merge(w: &mut Array2, adapter: &mut Adapter) {
    *w += &(product(&adapter.a, &adapter.b) * scale(adapter));
    adapter.b.fill(0.0);
}
