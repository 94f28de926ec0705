//! Exercise t2, solved.

use crate::{Array2, softmax};

/// A of every answer.
pub fn advantages(rewards: &[f64], group: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for of_group in rewards.chunks(group) {
        let mean = of_group.iter().sum::<f64>() / group as f64;
        for r in of_group {
            all.push(r - mean);
        }
    }
    all
}

/// dL/dlogits.
pub fn policy_gradient(logits: &Array2, answers: &[usize], advantages: &[f64]) -> Array2 {
    let (n_len, v_len) = logits.dim();
    let mut gradient = softmax(logits);
    for n in 0..n_len {
        gradient[[n, answers[n]]] -= 1.0;
        for v in 0..v_len {
            gradient[[n, v]] *= advantages[n] / n_len as f64;
        }
    }
    gradient
}

/// The weight of ∇ln p in ∇J.
pub fn clipped(ratio: f64, advantage: f64, epsilon: f64) -> f64 {
    let free = ratio * advantage;
    let held = ratio.clamp(1.0 - epsilon, 1.0 + epsilon) * advantage;
    if held < free { 0.0 } else { free }
}
