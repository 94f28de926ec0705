//! The square of ReLU.
//!
//! relu²(x) = max(x, 0)²
//!
//! No exponential, and a derivative without a jump.
//!
//! Reference: So et al., "Primer: Searching for Efficient Transformers for Language Modeling".

use super::elementwise::map_kernel;

map_kernel! {
    /// y ← max(x, 0)².
    pub fn forward(x) by LIGHT {
        let positive = positive(x);
        positive * positive
    }
}

map_kernel! {
    /// dx ← dy·2·max(x, 0).
    pub fn backward(dy, x) by LIGHT { dy * (2.0 * positive(x)) }
}

/// max(x, 0), and NaN for NaN, which `f32::max` would pass over.
#[inline(always)]
fn positive(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_and_backward_equal_their_naive_twins() {
        let x: Vec<f32> = (0..70_001).map(|i| (i % 81) as f32 / 10.0 - 4.0).collect();
        let dy: Vec<f32> = (0..70_001).map(|i| (i % 7) as f32 - 3.0).collect();
        let (mut y, mut dx) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
        forward(&mut y, &x);
        backward(&mut dx, &dy, &x);
        for i in 0..x.len() {
            let [x, dy] = [x[i], dy[i]].map(f64::from);
            assert!((f64::from(y[i]) - x.max(0.0).powi(2)).abs() < 1e-5);
            assert!((f64::from(dx[i]) - dy * 2.0 * x.max(0.0)).abs() < 1e-5);
        }
    }

    #[test]
    fn nan_is_not_passed_over() {
        let (mut y, mut dx) = ([0.0; 2], [0.0; 2]);
        let x = [f32::NAN, f32::NEG_INFINITY];
        forward(&mut y, &x);
        backward(&mut dx, &[1.0; 2], &x);
        assert!(y[0].is_nan() && dx[0].is_nan());
        assert_eq!((y[1], dx[1]), (0.0, 0.0));
    }
}
