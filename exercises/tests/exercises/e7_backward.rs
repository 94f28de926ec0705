//! Gradients against the library's, and against numbers moved a little.

use crate::check::{Mistake, check, mistake};
use crate::library::{array, shares, tensor};
use crate::numbers::some;
use llm_core::ndarray::{Array, Axis, Dimension, arr2};
use llm_core::{Tensor, ops};
use llm_exercises::{Array1, Array2, linear_backward, softmax_backward};

/// By how much `loss` grows for each number of `x`, from moving it up and down a little.
fn moved<D: Dimension>(x: &Array<f64, D>, loss: impl Fn(&Array<f64, D>) -> f64) -> Array<f64, D> {
    let eps = 1e-5;
    let at = |n: usize, by: f64| {
        let mut x = x.clone();
        *x.iter_mut().nth(n).unwrap() += by;
        loss(&x)
    };
    let slopes = (0..x.len()).map(|n| (at(n, eps) - at(n, -eps)) / (2.0 * eps)).collect();
    Array::from_shape_vec(x.raw_dim(), slopes).unwrap()
}

/// A leaf of the library's autograd.
fn leaf<D: Dimension>(x: &Array<f64, D>) -> Tensor {
    Tensor::parameter(x.mapv(|x| x as f32).into_dyn())
}

/// ∂L/∂leaf for L = Σ y·dy.
fn library<D: Dimension>(
    y: &Tensor,
    dy: &Array2,
    leaf: &Tensor,
    like: &Array<f64, D>,
) -> Array<f64, D> {
    let loss = ops::sum(&ops::mul(y, &tensor(dy)).unwrap()).unwrap();
    let grads = loss.backward().unwrap();
    let grad = grads.get(leaf).unwrap().to_vec();
    array(&Tensor::from_vec(like.shape(), grad).unwrap())
}

fn last_of(a: &Array2, axis: usize) -> Array2 {
    a.slice_axis(Axis(axis), (-1..).into()).to_owned()
}

fn dx_mistakes(w: &Array2, dy: &Array2) -> Vec<Mistake> {
    let t = dy.nrows() as f64;
    let mut all = vec![
        mistake("dx is divided by T", dy.dot(&w.t()) / t),
        mistake(
            "dx is set and not added to: only the last channel of y is left",
            last_of(dy, 1).dot(&last_of(w, 1).t()),
        ),
    ];
    if w.is_square() {
        all.push(mistake("W is not turned over: Σ_o dy[t, o]·W[o, i]", dy.dot(w)));
    }
    all
}

fn dw_mistakes(x: &Array2, dy: &Array2) -> Vec<Mistake> {
    let (t, right) = (x.nrows(), x.t().dot(dy));
    let mut all = vec![
        mistake("dW is a mean over positions and not their sum", &right / t as f64),
        mistake(
            "dW is set and not added to: only the last position is left",
            last_of(x, 0).t().dot(&last_of(dy, 0)),
        ),
    ];
    if x.ncols() == dy.ncols() {
        all.push(mistake(
            "rows and columns of dW are exchanged: dyᵀ·x and not xᵀ·dy",
            right.t().to_owned(),
        ));
    }
    if x.is_square() {
        all.push(mistake("x is not turned over: x·dy and not xᵀ·dy", x.dot(dy)));
    }
    all
}

fn db_mistakes(n_in: usize, dy: &Array2) -> Vec<Mistake> {
    let mut all = vec![
        mistake("db is a mean over positions and not their sum", dy.mean_axis(Axis(0)).unwrap()),
        mistake(
            "db is set and not added to: only the last position is left",
            dy.row(dy.nrows() - 1).to_owned(),
        ),
        mistake(
            "db is added in the loop over the channels of x: as often as there are such channels",
            dy.sum_axis(Axis(0)) * n_in as f64,
        ),
        mistake(
            "db is 1: each y grows with its b, but L grows with y by dy",
            Array1::ones(dy.ncols()),
        ),
    ];
    if dy.is_square() {
        all.push(mistake(
            "db is summed over channels and not over positions",
            dy.sum_axis(Axis(1)),
        ));
    }
    all
}

#[test]
fn of_a_map_by_hand() {
    let (x, w) = (arr2(&[[1.0, 2.0], [0.0, -1.0]]), arr2(&[[1.0, 0.0], [3.0, 1.0]]));
    let dy = arr2(&[[1.0, 0.0], [2.0, 1.0]]);
    let (dx, dw, db) = linear_backward(&x, &w, &dy);
    check("dx", dx, arr2(&[[1.0, 3.0], [2.0, 7.0]]), &dx_mistakes(&w, &dy));
    check("dW", dw, arr2(&[[1.0, 0.0], [0.0, -1.0]]), &dw_mistakes(&x, &dy));
    check("db", db, llm_core::ndarray::arr1(&[3.0, 1.0]), &db_mistakes(x.ncols(), &dy));
}

#[test]
fn of_a_map_as_in_the_library() {
    for [t, n_in, n_out] in [[3, 3, 3], [5, 4, 2], [2, 1, 4]] {
        let (x, w, dy) = (some((t, n_in), 1), some((n_in, n_out), 2), some((t, n_out), 3));
        let b = Array1::zeros(n_out);
        let (dx, dw, db) = linear_backward(&x, &w, &dy);
        let [lx, lw, lb] = [leaf(&x), leaf(&w), leaf(&b)];
        let y = || ops::linear_lastdim(&lx, &lw, Some(&lb)).unwrap();
        check("dx", dx, library(&y(), &dy, &lx, &x), &dx_mistakes(&w, &dy));
        check("dW", dw, library(&y(), &dy, &lw, &w), &dw_mistakes(&x, &dy));
        check("db", db, library(&y(), &dy, &lb, &b), &db_mistakes(x.ncols(), &dy));
    }
}

#[test]
fn of_a_map_by_moving_each_number() {
    let (x, w, dy) = (some((4, 3), 4), some((3, 3), 5), some((4, 3), 6));
    let (dx, dw, db) = linear_backward(&x, &w, &dy);
    let b = some(3, 7);
    let loss = |x: &Array2, w: &Array2, b: &Array1| ((x.dot(w) + b) * &dy).sum();
    check("dx", dx, moved(&x, |x| loss(x, &w, &b)), &dx_mistakes(&w, &dy));
    check("dW", dw, moved(&w, |w| loss(&x, w, &b)), &dw_mistakes(&x, &dy));
    check("db", db, moved(&b, |b| loss(&x, &w, b)), &db_mistakes(x.ncols(), &dy));
}

fn ds_mistakes(p: &Array2, dp: &Array2) -> Vec<Mistake> {
    let both = p * dp;
    let rows = both.sum_axis(Axis(1)).insert_axis(Axis(1));
    let mut all = vec![
        mistake(
            "the sum Σ P·dP is forgotten: a share can grow only at the others' expense",
            both.clone(),
        ),
        mistake(
            "each share is taken alone: P·(1 − P)·dP has only what a score does to its own share",
            &both * &p.mapv(|p| 1.0 - p),
        ),
        mistake("the sum Σ P·dP does not begin at 0 for each row", {
            let mut sums = both.sum_axis(Axis(1)).insert_axis(Axis(1));
            sums.accumulate_axis_inplace(Axis(0), |before, sum| *sum += before);
            p * &(dp - &sums)
        }),
        mistake("Σ P·dP is added and not subtracted", p * &(dp + &rows)),
        mistake("Σ P·dP is subtracted but not multiplied by P", both.clone() - &rows),
        mistake("the sum is Σ dP, without the shares", {
            p * &(dp - &dp.sum_axis(Axis(1)).insert_axis(Axis(1)))
        }),
        mistake("the sum goes over the whole table and not over the row", p * &(dp - both.sum())),
    ];
    if p.is_square() {
        all.push(mistake(
            "the sum goes over columns and not over rows",
            p * &(dp - &both.sum_axis(Axis(0))),
        ));
    }
    all
}

#[test]
fn of_shares_by_hand() {
    // docs/learn_by_hand.md, section 8; the first row sees itself alone, and nothing can change that.
    let p = arr2(&[[1.0, 0.0], [0.055807, 0.944193]]);
    let dp = arr2(&[[2.0, 3.0], [-1.0, 1.0]]);
    let want = arr2(&[[0.0, 0.0], [-0.105386, 0.105386]]);
    check("dS", softmax_backward(&p, &dp), want, &ds_mistakes(&p, &dp));
}

#[test]
fn of_shares_as_in_the_library() {
    for [t, n] in [[4, 4], [3, 5]] {
        let (s, dp) = (some((t, n), 8), some((t, n), 9));
        let p = shares(&s, 1);
        let leaf = leaf(&s);
        let want = library(&ops::softmax_lastdim(&leaf).unwrap(), &dp, &leaf, &s);
        check("dS", softmax_backward(&p, &dp), want, &ds_mistakes(&p, &dp));
    }
}

#[test]
fn of_shares_by_moving_each_number() {
    let (s, dp) = (some((4, 4), 10), some((4, 4), 11));
    let want = moved(&s, |s| (shares(s, 1) * &dp).sum());
    let p = shares(&s, 1);
    check("dS", softmax_backward(&p, &dp), want, &ds_mistakes(&p, &dp));
}
