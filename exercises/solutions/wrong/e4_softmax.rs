//! Exercise 4 with its usual mistakes.

use crate::planted::planted;
use crate::{Array2, hide_future, scores, weighted_sum};

pub fn softmax(scores: &Array2) -> Array2 {
    if planted("softmax_columns") {
        let turned = scores.t().to_owned();
        return rows(&turned).t().to_owned();
    }
    if planted("softmax_table") {
        let all: f64 = scores.iter().map(|s| s.exp()).sum();
        return scores.mapv(|s| s.exp() / all);
    }
    rows(scores)
}

fn rows(scores: &Array2) -> Array2 {
    let mut p = scores.clone();
    let table = scores.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let mut running = 0.0;
    for mut row in p.rows_mut() {
        let start = if planted("softmax_max_from_0") { 0.0 } else { f64::NEG_INFINITY };
        let mut max = row.fold(start, |a, b| a.max(*b));
        if planted("softmax_max_of_table") {
            max = table;
        }
        if planted("softmax_first") {
            max = row[0];
        }
        if planted("softmax_last") {
            max = row[row.len() - 1];
        }
        if planted("softmax_smallest") {
            max = row.fold(f64::INFINITY, |a, b| a.min(*b));
        }
        if planted("softmax_no_max") || planted("softmax_no_sum") {
            max = 0.0;
        }
        if planted("softmax_no_exp") {
            let sum = row.sum();
            row.mapv_inplace(|s| s / sum);
            continue;
        }
        row.mapv_inplace(|s| (s - max).exp());
        if planted("softmax_too_early") {
            let mut sum = 0.0;
            row.mapv_inplace(|e| {
                sum += e;
                e / sum
            });
            continue;
        }
        running += row.sum();
        let sum = if planted("softmax_sum_runs_on") { running } else { row.sum() };
        if !planted("softmax_no_sum") && !planted("softmax_max_no_sum") {
            row.mapv_inplace(|e| e / sum);
        }
    }
    p
}

pub fn causal_attention(q: &Array2, k: &Array2, v: &Array2) -> Array2 {
    let (q, k) = if planted("attention_exchanged") { (k, q) } else { (q, k) };
    let mut s = scores(q, k);
    if planted("attention_no_scale") {
        s *= (q.ncols() as f64).sqrt();
    }
    if planted("attention_sees_all") {
        return weighted_sum(&softmax(&s), v);
    }
    if planted("attention_cut_after") {
        let p = Array2::from_shape_fn(s.raw_dim(), |(i, j)| if j > i { 0.0 } else { 1.0 });
        return weighted_sum(&(p * softmax(&s)), v);
    }
    if planted("attention_hide_after") {
        return weighted_sum(&hide_future(&softmax(&s)), v);
    }
    if planted("attention_hidden_as_zero") {
        let seen = Array2::from_shape_fn(s.raw_dim(), |(i, j)| if j > i { 0.0 } else { s[[i, j]] });
        return weighted_sum(&softmax(&seen), v);
    }
    let added = match () {
        () if planted("attention_keep_added") => Some([0.0, 1.0]),
        () if planted("attention_hide_added") => Some([1.0, 0.0]),
        () => None,
    };
    if let Some([hidden, visible]) = added {
        let mask = |(i, j)| if j > i { hidden } else { visible };
        return weighted_sum(&softmax(&(&s + &Array2::from_shape_fn(s.raw_dim(), mask))), v);
    }
    if planted("attention_hides_itself") {
        s.indexed_iter_mut().filter(|((i, j), _)| j >= i).for_each(|(_, s)| *s = f64::NEG_INFINITY);
    }
    let mut p = softmax(&hide_future(&s));
    if planted("attention_columns") {
        p = rows(&hide_future(&s).t().to_owned()).t().to_owned();
    }
    weighted_sum(&p, v)
}
