//! Exercise m1, solved.

use crate::Array2;

/// Every row turned by its position.
pub fn rotate(x: &Array2, theta: f64, start: usize) -> Array2 {
    let half = x.ncols() / 2;
    let mut y = Array2::zeros(x.raw_dim());
    for row in 0..x.nrows() {
        for i in 0..half {
            let speed = theta.powf(-(i as f64) / half as f64);
            let angle = (start + row) as f64 * speed;
            let (a, b) = (x[[row, i]], x[[row, i + half]]);
            y[[row, i]] = a * angle.cos() - b * angle.sin();
            y[[row, i + half]] = a * angle.sin() + b * angle.cos();
        }
    }
    y
}
