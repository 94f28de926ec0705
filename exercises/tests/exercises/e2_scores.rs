//! S = q·kᵀ / √D and y = P·v.

use crate::check::{Mistake, check, mistake};
use crate::library::{array, running, shares, tensor};
use crate::numbers::some;
use llm_core::ndarray::{Axis, arr2};
use llm_exercises::{Array2, scores, weighted_sum};

/// The walkthrough's head 1, section 4.2.
const Q: [[f64; 2]; 3] = [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]];
const K: [[f64; 2]; 3] = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];

fn score_mistakes(q: &Array2, k: &Array2) -> Vec<Mistake> {
    let (t, d) = (q.nrows() as f64, q.ncols() as f64);
    let dots = q.dot(&k.t());
    let last = q.ncols() - 1;
    let mut all = vec![
        mistake("scores are not divided by √D", dots.clone()),
        mistake("scores are divided by D and not by √D", &dots / d),
        mistake("scores are multiplied by √D and not divided by it", &dots * d.sqrt()),
        mistake(
            "scores are divided by √T, the number of positions, and not by √D",
            &dots / t.sqrt(),
        ),
        mistake(
            "i and j are exchanged: row i of S has to belong to q[i]",
            dots.t().to_owned() / d.sqrt(),
        ),
        mistake("q meets q: k is not used", q.dot(&q.t()) / d.sqrt()),
        mistake("k is read at i: column j of S belongs to k[j]", {
            let own = (q * k).sum_axis(Axis(1)).insert_axis(Axis(1)) / d.sqrt();
            own.broadcast(dots.raw_dim()).unwrap().to_owned()
        }),
        mistake(
            "each product is set and not added to: only the last channel is left",
            Array2::from_shape_fn(dots.raw_dim(), |(i, j)| q[[i, last]] * k[[j, last]]) / d.sqrt(),
        ),
    ];
    for anew_for_each_row in [false, true] {
        all.push(mistake(
            "the sum goes on from the score before: it begins at 0 for each i and j",
            running(&dots, anew_for_each_row) / d.sqrt(),
        ));
    }
    for hidden in [0.0, f64::NEG_INFINITY, -1e9] {
        all.push(mistake(
            "the future is left out already: here every i meets every j, and hiding is exercise 3",
            {
                let seen = |(i, j)| if j > i { hidden } else { dots[[i, j]] / d.sqrt() };
                Array2::from_shape_fn(dots.raw_dim(), seen)
            },
        ));
    }
    all
}

#[test]
fn by_hand() {
    let (q, k) = (arr2(&Q), arr2(&K));
    let r = std::f64::consts::FRAC_1_SQRT_2; // 1/√2
    let want = arr2(&[[r, 0.0, r], [0.0, r, r], [r, -r, 0.0]]);
    check("S", scores(&q, &k), want, &score_mistakes(&q, &k));
}

#[test]
fn of_five_positions_and_three_channels() {
    let (q, k) = (some((5, 3), 1), some((5, 3), 2));
    let want = q.dot(&k.t()) / 3f64.sqrt();
    check("S", scores(&q, &k), want, &score_mistakes(&q, &k));
}

fn sum_mistakes(p: &Array2, v: &Array2) -> Vec<Mistake> {
    vec![
        mistake("i and j of P are exchanged: row i of P says what position i takes", p.t().dot(v)),
        mistake("every value counts the same: P is not used", {
            let mean = v.mean_axis(Axis(0)).unwrap();
            mean.broadcast(v.raw_dim()).unwrap().to_owned()
        }),
        mistake(
            "the sum is divided by T: the shares add up to 1 already",
            p.dot(v) / v.nrows() as f64,
        ),
        mistake("each position takes its own value: v[i] in place of v[j]", {
            p.sum_axis(Axis(1)).insert_axis(Axis(1)) * v
        }),
        mistake("each product is set and not added to: only the last position is left", {
            let last = v.nrows() - 1;
            Array2::from_shape_fn(v.raw_dim(), |(i, d)| p[[i, last]] * v[[last, d]])
        }),
    ]
}

#[test]
fn values_by_their_shares_by_hand() {
    let p = arr2(&[[1.0, 0.0], [0.25, 0.75]]);
    let v = arr2(&[[8.0, 0.0], [4.0, -4.0]]);
    let want = arr2(&[[8.0, 0.0], [5.0, -3.0]]);
    check("P·v", weighted_sum(&p, &v), want, &sum_mistakes(&p, &v));
}

#[test]
fn values_by_their_shares_as_in_the_library() {
    let (p, v) = (shares(&some((5, 5), 3), 1), some((5, 3), 4));
    let [p3, v3] = [&p, &v].map(|x| tensor(&x.view().insert_axis(Axis(0)).to_owned()));
    let want = array::<llm_core::ndarray::Ix3>(&llm_core::ops::bmm(&p3, &v3).unwrap());
    let want = want.index_axis_move(Axis(0), 0);
    check("P·v", weighted_sum(&p, &v), want, &sum_mistakes(&p, &v));
}
