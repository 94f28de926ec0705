//! Exercise t2: right or wrong is enough, `cargo test rewards`.
//!
//! ```text
//! A[n]  = r[n] − mean of the rewards of n's group
//!
//! p     = softmax(logits)                            exercise 4
//! L     = −(1/N)·Σ_n A[n]·ln p[n, answers[n]]
//! ∇ln p[n, answers[n]] = [1 at answers[n], else 0] − p[n]
//!
//! ratio = p(answer) now / p(answer) when it was written
//! J     = min(ratio·A, clip(ratio, 1 − ε, 1 + ε)·A)
//! ∇J    = weight·∇ln p(answer)
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | r, A | `[N]` | what a program says to each answer; what that is above the answers to the same question |
//! | logits | `[N, V]` | row n: what answer n was drawn from |
//! | answers | `[N]` | the token that was written; here an answer is one token |
//!
//! The answers to one question are a group and stand one behind the other. A step goes against dL/dlogits. Where several steps
//! are taken on the same answers, all but the first have answers of an older model: J stands in place of A·ln p there, and grows
//! with an answer until it has moved by ε to where A sends it. clip(x, a, b) is a below a, b above b, and x between.
//!
//! To read first: `docs/concepts/rewards.md`, sections 1 to 3. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array2;

/// A of every answer; N is a multiple of `group`.
pub fn advantages(rewards: &[f64], group: usize) -> Vec<f64> {
    todo!("exercise t2: r − the mean of its group")
}

/// dL/dlogits, `[N, V]`.
pub fn policy_gradient(logits: &Array2, answers: &[usize], advantages: &[f64]) -> Array2 {
    todo!("exercise t2: dL/dlogits of L = −(1/N)·Σ A·ln p")
}

/// The weight of ∇ln p in ∇J: 0 where clip decides.
pub fn clipped(ratio: f64, advantage: f64, epsilon: f64) -> f64 {
    todo!("exercise t2: how much of ∇ln p is in the gradient of min(ratio·A, clip(ratio)·A)")
}
