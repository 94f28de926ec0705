//! Exercise t2 with its usual mistakes.

use crate::planted::planted;
use crate::{Array2, softmax};

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn deviation(of: &[f64], less: f64) -> f64 {
    let squares: f64 = of.iter().map(|r| (r - mean(of)).powi(2)).sum();
    (squares / (of.len() as f64 - less)).sqrt()
}

pub fn advantages(rewards: &[f64], group: usize) -> Vec<f64> {
    let of = |(n, &r): (usize, &f64)| {
        let (own, count) = (&rewards[n / group * group..][..group], group as f64);
        let every = |step: usize| -> Vec<f64> {
            rewards.iter().skip(n % step).step_by(step).copied().collect()
        };
        match () {
            () if planted("rewards_mean_of_all") => r - mean(rewards),
            () if planted("rewards_no_mean") => r,
            () if planted("rewards_sign") => mean(own) - r,
            () if planted("rewards_sum") => r - own.iter().sum::<f64>(),
            () if planted("rewards_scaled") => (r - mean(own)) / deviation(own, 0.0),
            () if planted("rewards_scaled_as_run") => {
                (r - mean(own)) / (deviation(own, 1.0) + 1e-4)
            }
            () if planted("rewards_of_others") => (r - mean(own)) * count / (count - 1.0),
            () if planted("rewards_every") => r - mean(&every(group)),
            () if planted("rewards_dealt_out") => r - mean(&every(rewards.len() / group)),
            () => r - mean(own),
        }
    };
    rewards.iter().enumerate().map(of).collect()
}

pub fn policy_gradient(logits: &Array2, answers: &[usize], advantages: &[f64]) -> Array2 {
    let (n_len, v_len) = logits.dim();
    let p = softmax(logits);
    let by = match () {
        () if planted("policy_no_mean") => 1.0,
        () if planted("policy_mean_of_table") => (n_len * v_len) as f64,
        () => n_len as f64,
    };
    Array2::from_shape_fn(p.raw_dim(), |(n, v)| {
        let answer = if planted("policy_first_answer") { answers[0] } else { answers[n] };
        let here = if v == answer { 1.0 } else { 0.0 };
        let a = match () {
            () if planted("policy_no_advantage") => 1.0,
            () if planted("policy_first_advantage") => advantages[0],
            () if planted("policy_by_token") => *advantages.get(answer).unwrap_or(&advantages[n]),
            () if planted("policy_good_alone") => advantages[n].max(0.0),
            () if planted("policy_of_p") => advantages[n] * p[[n, answer]],
            () => advantages[n],
        };
        let number = match () {
            () if planted("policy_sign") => a * (here - p[[n, v]]),
            () if planted("policy_no_softmax") => -a * here,
            () if planted("policy_dp") => -a * here / p[[n, v]],
            () if planted("policy_logits") => a * (logits[[n, v]] - here),
            () if planted("policy_chosen_alone") => p[[n, v]] - a * here,
            () => a * (p[[n, v]] - here),
        };
        number / by
    })
}

pub fn clipped(ratio: f64, advantage: f64, epsilon: f64) -> f64 {
    let free = ratio * advantage;
    let clip = ratio.clamp(1.0 - epsilon, 1.0 + epsilon);
    let held = clip * advantage;
    let stopped = match () {
        () if planted("clipped_nothing") => false,
        () if planted("clipped_both") => clip != ratio,
        () if planted("clipped_max") => held > free,
        () if planted("clipped_above") => ratio > clip,
        () if planted("clipped_below") => ratio < clip,
        () => held < free,
    };
    match () {
        () if planted("clipped_no_min") => held,
        () if planted("clipped_value") => free.min(held),
        () if stopped => 0.0,
        () if planted("clipped_no_ratio") => advantage,
        () if planted("clipped_sign") => -free,
        () => free,
    }
}
