//! Rotary positions: each pair of channels of a query or key is turned by an angle that grows with
//! the position, so that a score depends on the distance of two positions.
//!
//! ```text
//! angle(t, i) = t · θ^(−2i/D)                           i = 0..D/2
//! y[i]        = x[i]·cos − x[i + D/2]·sin
//! y[i + D/2]  = x[i]·sin + x[i + D/2]·cos
//! ```
//!
//! Reference: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding".

use llm_core::{Result, Tensor, ops};

/// θ.
pub const THETA: f64 = 10_000.0;

/// `x [B, T, D]`, position t of each sequence turned by its angles. Made of ops, so its gradient is
/// there already.
pub fn rotate(x: &Tensor) -> Result<Tensor> {
    let [_, t, d] = x.dims("rotate", "x of shape [B, T, D]")?;
    let half = d / 2;
    let table = |of: fn(f32) -> f32| {
        let values = (0..t * half).map(|n| of(angle(n / half, n % half, d))).collect();
        Tensor::from_vec(&[t, half], values) // [T, D/2]: the same for every sequence
    };
    let (cos, sin) = (table(f32::cos)?, table(f32::sin)?);
    let [low, high] = [ops::slice_lastdim(x, 0, half)?, ops::slice_lastdim(x, half, half)?];
    let first = ops::sub(&ops::mul(&low, &cos)?, &ops::mul(&high, &sin)?)?;
    let second = ops::add(&ops::mul(&low, &sin)?, &ops::mul(&high, &cos)?)?;
    ops::concat(&[&first, &second], 2)
}

/// Rotates one head at one position, `x [D]`, as text is written.
pub fn rotate_row(x: &mut [f32], position: usize) {
    let d = x.len();
    let (low, high) = x.split_at_mut(d / 2);
    for (i, (a, b)) in low.iter_mut().zip(high).enumerate() {
        let (sin, cos) = angle(position, i, d).sin_cos();
        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
    }
}

fn angle(position: usize, pair: usize, d: usize) -> f32 {
    position as f32 * (THETA as f32).powf(-2.0 * pair as f32 / d as f32)
}
