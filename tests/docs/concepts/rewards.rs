//! docs/concepts/rewards.md: a world of two tokens, by the library itself.

use llm_core::autograd::Gradients;
use llm_core::{Result, Tensor, TokenId, ops};
use llm_run::rewards::advantages;

/// Answers of a group.
pub const GROUP: usize = 4;
/// By how much all rewards are higher in the other world.
pub const HIGHER: f64 = 10.0;

/// Scores of the tokens a and b, of which a has the share 0.25.
pub fn scores() -> Tensor {
    Tensor::parameter_from_vec(&[1, 2], vec![0.0, 3f32.ln()]).unwrap()
}

/// The shares of scores.
pub fn shares(scores: &[f64]) -> Vec<f64> {
    let all: f64 = scores.iter().map(|s| s.exp()).sum();
    scores.iter().map(|s| s.exp() / all).collect()
}

/// The gradient of A·ln p, summed over answers and divided by their number: where the scores are to go.
pub fn direction(answers: &[TokenId], advantages: &[f64]) -> Result<Vec<f64>> {
    let scores = scores();
    let mut grads = Gradients::default();
    for (answer, advantage) in answers.iter().zip(advantages) {
        let weight = (advantage / answers.len() as f64) as f32;
        let loss = ops::cross_entropy(&scores, &[*answer])?; // −ln p of what was written
        grads = loss.backward_into(grads, weight)?; // its gradient, as often as it is worth
    }
    let loss = grads.get(&scores).unwrap();
    Ok(loss.iter().map(|x| -f64::from(*x)).collect())
}

/// The group with `right` answers a and otherwise b, and its rewards, which are `more` higher than 1 and 0.
pub fn group(right: usize, more: f64) -> ([TokenId; GROUP], Vec<f64>) {
    let answers = std::array::from_fn(|i| u32::from(i >= right));
    let rewards = answers.iter().map(|answer| f64::from(1 - answer) + more);
    (answers, rewards.collect())
}

/// How far the score of a is to go by each group: by rewards as they are, by those of the other world, and with the
/// mean taken off.
pub fn groups() -> [[f64; 3]; GROUP + 1] {
    std::array::from_fn(|right| {
        let (answers, rewards) = group(right, 0.0);
        let (_, higher) = group(right, HIGHER);
        let [a, b] = [&rewards, &higher].map(|of| advantages(of, GROUP, false));
        assert_eq!(a, b);
        [rewards, higher, a].map(|weights| direction(&answers, &weights).unwrap()[0])
    })
}

/// The chance of each group: 4 over k, times 0.25^k and 0.75^(4 − k).
pub fn chances() -> [f64; GROUP + 1] {
    let p = shares(&[0.0, 3f64.ln()])[0];
    let ways = [1.0, 4.0, 6.0, 4.0, 1.0];
    std::array::from_fn(|k| ways[k] * p.powi(k as i32) * (1.0 - p).powi((GROUP - k) as i32))
}

#[test]
fn the_mean_of_all_groups_is_the_gradient_of_the_mean_reward() {
    let [p, q] = shares(&[0.0, 3f64.ln()])[..] else { panic!() };
    let mean = |which: usize| -> f64 {
        groups().iter().zip(chances()).map(|(of, chance)| of[which] * chance).sum()
    };
    let exact = p * q;
    assert!((mean(0) - exact).abs() < 1e-6 && (mean(1) - exact).abs() < 1e-5);
    // A group's own mean takes a part of each answer's reward off it.
    let part = (GROUP - 1) as f64 / GROUP as f64;
    assert!((mean(2) - part * exact).abs() < 1e-6);
}
