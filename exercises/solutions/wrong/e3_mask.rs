//! Exercise 3 with its usual mistakes.

use crate::Array2;
use crate::planted::planted;

pub fn hide_future(scores: &Array2) -> Array2 {
    let mut hidden = scores.clone();
    for i in 0..scores.nrows() {
        for j in 0..scores.ncols() {
            let future = match () {
                () if planted("mask_itself") => j >= i,
                () if planted("mask_past") => j < i,
                () if planted("mask_nothing") => false,
                () => j > i,
            };
            let keep = if future { 0.0 } else { 1.0 };
            let score = &mut hidden[[i, j]];
            match () {
                () if planted("mask_multiplied") => *score *= keep,
                () if planted("mask_keep_added") => *score += keep,
                () if planted("mask_hide_added") => *score += 1.0 - keep,
                () if planted("mask_nan") => *score += (1.0 - keep) * f64::NEG_INFINITY,
                () if planted("mask_large_number") => *score += (1.0 - keep) * -1e9,
                () if planted("mask_smallest_number") && future => *score = f64::MIN,
                () if planted("mask_plus_infinity") && future => *score = f64::INFINITY,
                () if future => *score = f64::NEG_INFINITY,
                () => {}
            }
        }
    }
    hidden
}
