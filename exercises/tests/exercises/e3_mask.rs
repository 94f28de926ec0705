//! −∞ where j > i.

use crate::check::{Mistake, check, mistake};
use crate::numbers::some;
use llm_core::ndarray::arr2;
use llm_exercises::{Array2, hide_future};

const HIDDEN: f64 = f64::NEG_INFINITY;

/// Each number by its row, its column and what it was.
fn each(scores: &Array2, f: impl Fn(usize, usize, f64) -> f64) -> Array2 {
    Array2::from_shape_fn(scores.raw_dim(), |(i, j)| f(i, j, scores[[i, j]]))
}

fn mistakes(scores: &Array2) -> Vec<Mistake> {
    let large = "the future has a large negative number: −1e9 hides too, as long as a row has something else, \
                 but a row of it alone would give equal shares; wanted here is −∞";
    let mut all = vec![
        mistake(
            "j >= i is hidden: that hides the position itself, and the first one sees nothing",
            each(scores, |i, j, s| if j >= i { HIDDEN } else { s }),
        ),
        mistake("the past is hidden in place of the future: j < i and not j > i", {
            each(scores, |i, j, s| if j < i { HIDDEN } else { s })
        }),
        mistake(
            "the mask is multiplied as 0 and 1: a score of 0 is a score like any other, e^0 = 1",
            each(scores, |i, j, s| if j > i { 0.0 } else { s }),
        ),
        mistake("the mask was added as 0 and 1, 1 for the visible: that hides nothing", {
            each(scores, |i, j, s| if j > i { s } else { s + 1.0 })
        }),
        mistake("the mask was added as 0 and 1, 1 for the hidden: that makes them larger", {
            each(scores, |i, j, s| if j > i { s + 1.0 } else { s })
        }),
        mistake("0 is multiplied by −∞: that is NaN; choose with `if`", {
            each(scores, |i, j, _| if j > i { HIDDEN } else { f64::NAN })
        }),
        mistake("nothing is hidden", scores.clone()),
        mistake("+∞ stands for hidden: its e^x would be all there is", {
            each(scores, |i, j, s| if j > i { f64::INFINITY } else { s })
        }),
    ];
    // Set or added: with the larger ones it is the same.
    for number in [-1e4, -1e9, -1e10, -1e30, f64::from(f32::MIN), f64::MIN] {
        all.push(mistake(large, each(scores, |i, j, s| if j > i { number } else { s })));
        all.push(mistake(large, each(scores, |i, j, s| if j > i { s + number } else { s })));
    }
    all
}

#[test]
fn by_hand() {
    let scores = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
    let want = arr2(&[[1.0, HIDDEN, HIDDEN], [4.0, 5.0, HIDDEN], [7.0, 8.0, 9.0]]);
    check("the table of scores", hide_future(&scores), want, &mistakes(&scores));
}

#[test]
fn of_six_positions() {
    let scores = some((6, 6), 1);
    let want = each(&scores, |i, j, s| if j > i { HIDDEN } else { s });
    check("the table of scores", hide_future(&scores), want, &mistakes(&scores));
}

#[test]
fn one_position_sees_itself() {
    let scores = arr2(&[[0.5]]);
    check("a text of one position", hide_future(&scores), scores.clone(), &mistakes(&scores));
}
