//! softmax of rows, and one whole head.

use crate::check::{Mistake, check, mistake};
use crate::library::{How, Sees, array, head, shares, tensor};
use crate::numbers::some;
use llm_core::ndarray::{ArrayView1, Axis, Ix3, arr2, concatenate};
use llm_core::ops::softmax_lastdim;
use llm_exercises::{Array2, causal_attention, softmax};
use llm_variant_mha::causal_attention_heads;

/// e^(S − m), m the largest of the row.
fn shares_unscaled(s: &Array2) -> Array2 {
    let max = s.map_axis(Axis(1), |r| r.fold(f64::NEG_INFINITY, |a, b| a.max(*b)));
    (s - &max.insert_axis(Axis(1))).exp()
}

fn mistakes(s: &Array2) -> Vec<Mistake> {
    let exps = s.mapv(f64::exp);
    let over_rows = |x: &Array2| x / &x.sum_axis(Axis(1)).insert_axis(Axis(1));
    let less = |of_row: &dyn Fn(ArrayView1<f64>) -> f64| {
        over_rows(&(s - &s.map_axis(Axis(1), of_row).insert_axis(Axis(1))).exp())
    };
    vec![
        mistake(
            "it is a softmax over the wrong axis: columns add up to 1 and not rows",
            shares(s, 0),
        ),
        mistake("the whole table adds up to 1, and not every row", &exps / exps.sum()),
        mistake("nothing is divided by the sum of its row", exps.clone()),
        mistake(
            "the largest number of a row is subtracted, and nothing is divided by the sum",
            shares_unscaled(s),
        ),
        mistake("e^x is forgotten: scores are divided by their sum", over_rows(s)),
        mistake(
            "the largest number starts at 0: rows of negative numbers have a larger one, and should start at −∞",
            {
                let max = s.map_axis(Axis(1), |r| r.fold(0.0, |a: f64, b| a.max(*b)));
                over_rows(&(s - &max.insert_axis(Axis(1))).exp())
            },
        ),
        mistake("the largest number of the whole table is subtracted, and not that of the row", {
            over_rows(&(s - s.fold(f64::NEG_INFINITY, |a, b| a.max(*b))).exp())
        }),
        mistake(
            "the first number of a row is subtracted, and not its largest",
            less(&|row| row[0]),
        ),
        mistake(
            "the last number of a row is subtracted, and not its largest",
            less(&|row| row[row.len() - 1]),
        ),
        mistake(
            "the smallest number of a row is subtracted, and not its largest",
            less(&|row| row.fold(f64::INFINITY, |a, b| a.min(*b))),
        ),
        mistake("numbers are divided before the sum is whole: dividing is a loop of its own", {
            let exps = shares_unscaled(s);
            let mut sums = exps.clone();
            sums.accumulate_axis_inplace(Axis(1), |before, e| *e += before);
            exps / sums
        }),
        mistake("the sum does not begin at 0 for each row", {
            let (exps, mut sum) = (shares_unscaled(s), 0.0);
            let mut p = exps.clone();
            for (mut p, e) in p.rows_mut().into_iter().zip(exps.rows()) {
                sum += e.sum();
                p /= sum;
            }
            p
        }),
        mistake(
            "the largest number of the row is not subtracted first: e^1000 is more than a number can hold",
            over_rows(&exps),
        ),
    ]
}

#[test]
fn of_rows_by_hand() {
    // docs/learn_by_hand.md, section 7.
    let s = arr2(&[[2.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]]);
    let want = arr2(&[[0.643914, 0.236883, 0.087144, 0.032059], [0.25, 0.25, 0.25, 0.25]]);
    check("P", softmax(&s), want, &mistakes(&s));
}

#[test]
fn of_rows_as_in_the_library() {
    let s = some((5, 4), 1);
    let want = array(&softmax_lastdim(&tensor(&s)).unwrap());
    check("P", softmax(&s), want, &mistakes(&s));
}

#[test]
fn of_large_numbers() {
    let s = arr2(&[[1000.0, 1000.0], [-1000.0, -1001.0], [1000.0, -1000.0], [-1000.0, 1000.0]]);
    let want = arr2(&[[0.5, 0.5], [0.731059, 0.268941], [1.0, 0.0], [0.0, 1.0]]);
    check("P of numbers near 1000 and −1000", softmax(&s), want, &mistakes(&s));
}

#[test]
fn of_hidden_places() {
    let hidden = f64::NEG_INFINITY;
    let s = arr2(&[[3.0, hidden, hidden], [1.0, 1.0, hidden]]);
    let want = arr2(&[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]);
    check("P of a table with −∞", softmax(&s), want, &mistakes(&s));
}

fn head_mistakes(q: &Array2, k: &Array2, v: &Array2) -> Vec<Mistake> {
    let with = |how: How| head(q, k, v, &how);
    let sees = |sees: Sees| with(How { sees, ..How::default() });
    vec![
        mistake("the future is not hidden", sees(Sees::All)),
        mistake(
            "`j >= i` hides the position itself: the first one sees nothing, and 0/0 is NaN",
            sees(Sees::Past),
        ),
        mistake(
            "the mask was added as 0 and 1, 1 for the visible: that hides nothing",
            sees(Sees::AllVisiblePlusOne),
        ),
        mistake(
            "the mask was added as 0 and 1, 1 for the hidden: that makes them larger",
            sees(Sees::AllHiddenPlusOne),
        ),
        mistake(
            "shares are set to 0 behind the softmax: those left do not add up to 1",
            sees(Sees::AllThenCut),
        ),
        mistake("hidden scores are 0 and not −∞", sees(Sees::AllHiddenAsZero)),
        mistake(
            "−∞ is put behind the softmax: it belongs into the scores, and a share has to be 0",
            {
                let mut p = shares(&(q.dot(&k.t()) / (q.ncols() as f64).sqrt()), 1);
                p.indexed_iter_mut()
                    .filter(|((i, j), _)| j > i)
                    .for_each(|(_, p)| *p = f64::NEG_INFINITY);
                p.dot(v)
            },
        ),
        mistake("the scale is forgotten", with(How { root_of: Some(1), ..How::default() })),
        mistake(
            "it is a softmax over the wrong axis",
            with(How { wrong_axis: true, ..How::default() }),
        ),
        mistake("q and k are exchanged", head(k, q, v, &How::default())),
    ]
}

#[test]
fn one_head_by_hand() {
    // docs/learn_by_hand.md, sections 2 to 5: query, key and value are the same.
    let n = arr2(&[[-1.0, 1.0], [1.0, -1.0]]);
    let want = arr2(&[[-1.0, 1.0], [0.888386, -0.888386]]);
    check("causal attention", causal_attention(&n, &n, &n), want, &head_mistakes(&n, &n, &n));
}

#[test]
fn one_head_as_in_the_library() {
    let (q, k, v) = (some((6, 3), 2), some((6, 3), 3), some((6, 3), 4));
    let qkv = concatenate(Axis(1), &[q.view(), k.view(), v.view()]).unwrap().insert_axis(Axis(0));
    let want = array::<Ix3>(&causal_attention_heads(&tensor(&qkv), 1, &[], None).unwrap());
    let want = want.index_axis_move(Axis(0), 0);
    check("causal attention", causal_attention(&q, &k, &v), want, &head_mistakes(&q, &k, &v));
}
