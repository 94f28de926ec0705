//! y = x·W + b.

use crate::check::{Mistake, check, mistake};
use crate::library::{array, running, tensor};
use crate::numbers::some;
use llm_core::ndarray::{Axis, arr1, arr2};
use llm_core::ops::linear_lastdim;
use llm_exercises::{Array1, Array2, linear};

fn mistakes(x: &Array2, w: &Array2, b: &Array1) -> Vec<Mistake> {
    let mut all = vec![
        mistake("b is forgotten", x.dot(w)),
        mistake(
            "b is added once for each channel of x, and not once",
            x.dot(w) + b * w.nrows() as f64,
        ),
        mistake("each number is set and not added to: only the last channel is left", {
            let last = w.nrows() - 1;
            let (x, w) =
                (x.slice_axis(Axis(1), (last..).into()), w.slice_axis(Axis(0), (last..).into()));
            x.dot(&w) + b
        }),
    ];
    for anew_for_each_row in [false, true] {
        let sums = running(&x.dot(w), anew_for_each_row);
        all.push(mistake(
            "the sum goes on from the number before: it begins anew for each t and o",
            sums + b,
        ));
    }
    if w.is_square() {
        let turned = x.dot(&w.t()) + b;
        all.push(mistake("W is read as [out, in]: W[o, i] in place of W[i, o]", turned));
    }
    if x.nrows() == w.ncols() {
        let by_row = x.dot(w) + b.view().insert_axis(Axis(1));
        all.push(mistake("b is added by position, b[t], and not by channel, b[o]", by_row));
    }
    all
}

#[test]
fn by_hand() {
    let x = arr2(&[[1.0, 2.0], [0.0, -1.0]]);
    let (w, b) = (arr2(&[[1.0, 0.0, 2.0], [3.0, 1.0, -1.0]]), arr1(&[0.5, 0.0, 10.0]));
    // y[0] = 1·[1, 0, 2] + 2·[3, 1, -1] + b,  y[1] = -1·[3, 1, -1] + b
    let want = arr2(&[[7.5, 2.0, 10.0], [-2.5, -1.0, 11.0]]);
    check("x·W + b", linear(&x, &w, &b), want, &mistakes(&x, &w, &b));
}

#[test]
fn a_square_w() {
    let (x, w, b) = (some((3, 3), 1), some((3, 3), 2), some(3, 3));
    let want = array(&linear_lastdim(&tensor(&x), &tensor(&w), Some(&tensor(&b))).unwrap());
    check("x·W + b with a square W", linear(&x, &w, &b), want, &mistakes(&x, &w, &b));
}

#[test]
fn as_in_the_library() {
    for [t, n_in, n_out] in [[5, 4, 3], [1, 2, 6], [3, 1, 1]] {
        let (x, w, b) = (some((t, n_in), 4), some((n_in, n_out), 5), some(n_out, 6));
        let want = array(&linear_lastdim(&tensor(&x), &tensor(&w), Some(&tensor(&b))).unwrap());
        let what = format!("x·W + b for x [{t}, {n_in}] and W [{n_in}, {n_out}]");
        check(&what, linear(&x, &w, &b), want, &mistakes(&x, &w, &b));
    }
}
