//! Exercise m1 with its usual mistakes.

use crate::Array2;
use crate::planted::planted;

pub fn rotate(x: &Array2, theta: f64, start: usize) -> Array2 {
    let d = x.ncols();
    let half = d / 2;
    let mut y = x.clone();
    for row in 0..x.nrows() {
        let position = match () {
            () if planted("rotary_by_row") => row,
            () if planted("rotary_from_1") => start + row + 1,
            () => start + row,
        };
        for i in 0..half {
            let power = match () {
                () if planted("rotary_half_power") => i as f64 / d as f64,
                () if planted("rotary_one_speed") => 0.0,
                () if planted("rotary_faster") => -2.0 * i as f64 / d as f64,
                () => 2.0 * i as f64 / d as f64,
            };
            let angle = position as f64 / theta.powf(power);
            let angle = if planted("rotary_degrees") { angle.to_radians() } else { angle };
            let angle = if planted("rotary_backwards") { -angle } else { angle };
            let [first, second] = match () {
                () if planted("rotary_interleaved") => [2 * i, 2 * i + 1],
                () => [i, i + half],
            };
            let (a, b) = (x[[row, first]], x[[row, second]]);
            y[[row, first]] = a * angle.cos() - b * angle.sin();
            let a = if planted("rotary_overwritten") { y[[row, first]] } else { a };
            y[[row, second]] = match () {
                () if planted("rotary_sign") => a * angle.sin() - b * angle.cos(),
                () if planted("rotary_first_half") => b,
                () => a * angle.sin() + b * angle.cos(),
            };
        }
    }
    y
}
