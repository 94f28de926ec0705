//! Answers to the questions of a batch, and the batch that is learned from them.

use super::Questions;
use llm_core::generate::{Sampling, Writers};
use llm_core::model::{Batch, Origin};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Result, TinyGPT, TokenId};

/// Answers that are written at the same time: they share a read of the weights.
const TOGETHER: usize = 16;

/// A written answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Tokens of the question.
    pub prompt: Vec<TokenId>,
    /// What was written, what ends it included.
    pub tokens: Vec<TokenId>,
    /// What it says.
    pub text: String,
    /// Whether it came to its end.
    pub ended: bool,
}

/// `group` answers to each question of a batch, those to the first question first.
///
/// # Errors
/// As [`Writers::step`].
pub(super) fn answers(
    model: &TinyGPT,
    batch: &Batch,
    group: usize,
    questions: &Questions,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Attempt>> {
    let Origin { seed, step, first_row, step_rows, .. } = batch.origin;
    let t = batch.shape[1];
    let rows = batch.inputs.chunks_exact(t).zip(batch.targets.chunks_exact(t));
    let prompts: Vec<&[TokenId]> = rows
        .map(|(inputs, targets)| {
            let first = targets.iter().position(|&target| target != Batch::IGNORED);
            &inputs[..=first.unwrap_or(0)]
        })
        .collect();
    let sampling = |row: usize| Sampling {
        seed,
        // A number of its own for each row of the run.
        sample: (step * step_rows + first_row) * group as u64 + row as u64,
        ..Sampling::default()
    };
    let n = prompts.len() * group;
    let mut written: Vec<Vec<TokenId>> = vec![Vec::new(); n];
    let mut writers = Writers::new(model, None, TOGETHER.min(n))?;
    let mut joined = 0;
    while joined < n || !writers.is_empty() {
        while joined < n && writers.room() > 0 {
            writers.join(prompts[joined / group], questions.most, sampling(joined), false)?;
            joined += 1;
        }
        let mut over = Vec::new();
        writers.step(|writer, choice, _| {
            let (Some(choice), Some(tokens)) = (choice, written.get_mut(writer as usize)) else {
                return;
            };
            tokens.push(choice.token);
            if questions.is_over(choice.token) || questions.said(tokens, tokenizer).1 {
                over.push(writer);
            }
        })?;
        over.into_iter().for_each(|writer| writers.leave(writer));
    }
    let answer = |(row, tokens): (usize, Vec<TokenId>)| {
        let (text, ended) = questions.said(&tokens, tokenizer);
        Attempt { prompt: prompts[row / group].to_vec(), tokens, text, ended }
    };
    Ok(written.into_iter().enumerate().map(answer).collect())
}

/// What each reward is above the mean of its group; where it is `scaled`, over the standard deviation (n − 1) too.
pub fn advantages(rewards: &[f64], group: usize, scaled: bool) -> Vec<f64> {
    /// Keeps what hardly differs from growing without bound.
    const LEAST: f64 = 1e-4;
    let of_group = |rewards: &[f64]| {
        let n = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / n;
        let squares: f64 = rewards.iter().map(|r| (r - mean) * (r - mean)).sum();
        let scale = if scaled { (squares / (n - 1.0)).sqrt() + LEAST } else { 1.0 };
        rewards.iter().map(move |r| (r - mean) / scale).collect::<Vec<f64>>()
    };
    rewards.chunks(group).flat_map(of_group).collect()
}

/// The batch in which each token of an answer has the answer's advantage as its weight. Its sum is divided by the
/// tokens that all answers of the step could have had, `rows`·`most`, whoever writes the others.
pub fn learned(answers: &[Attempt], advantages: &[f64], origin: Origin, most: usize) -> Batch {
    let rows: Vec<_> = answers.iter().map(|of| (&of.prompt[..], &of.tokens[..])).collect();
    let batch = answered(&rows);
    let mut weights = vec![0.0; batch.targets.len()];
    let t = batch.shape[1].max(1);
    for ((weights, targets), advantage) in
        weights.chunks_exact_mut(t).zip(batch.targets.chunks_exact(t)).zip(advantages)
    {
        let answer = weights.iter_mut().zip(targets).filter(|(_, of)| **of != Batch::IGNORED);
        answer.for_each(|(weight, _)| *weight = *advantage as f32);
    }
    let step_targets = Some(origin.step_rows.saturating_mul(most as u64));
    Batch { weights: Some(weights), origin, step_targets, ..batch }
}

/// Questions, each with the tokens of an answer, which are targets.
pub(super) fn answered(rows: &[(&[TokenId], &[TokenId])]) -> Batch {
    let t = rows.iter().map(|(prompt, answer)| prompt.len() + answer.len() - 1).max().unwrap_or(0);
    let n = rows.len() * t;
    let (mut inputs, mut targets) = (vec![0; n], vec![Batch::IGNORED; n]);
    for (row, (prompt, answer)) in rows.iter().enumerate() {
        let all = [*prompt, *answer].concat();
        let (start, last) = (row * t, all.len() - 1);
        let first = prompt.len() - 1;
        inputs[start..start + last].copy_from_slice(&all[..last]);
        targets[start + first..start + last].copy_from_slice(&all[first + 1..]);
    }
    Batch::new(inputs, targets, [rows.len(), t])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advantages_are_above_and_below_their_own_groups_mean() {
        let rewards = [1.0, 0.0, 0.0, 1.0, 5.0, 5.0, 5.0, 5.0];
        let plain = advantages(&rewards, 4, false);
        assert_eq!(plain, [0.5, -0.5, -0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
        let scaled = advantages(&rewards, 4, true);
        assert!((scaled[0] - 0.5 / ((1.0f64 / 3.0).sqrt() + 1e-4)).abs() < 1e-12);
        assert_eq!(scaled[4..], [0.0; 4]);
    }

    #[test]
    fn the_tokens_of_an_answer_are_targets_with_its_weight() {
        let answer = |prompt: &[u32], tokens: &[u32]| Attempt {
            prompt: prompt.to_vec(),
            tokens: tokens.to_vec(),
            text: String::new(),
            ended: true,
        };
        let answers = [answer(&[1, 2], &[3, 4]), answer(&[5], &[6])];
        let origin = Origin { step_rows: 8, ..Origin::default() };
        let batch = learned(&answers, &[0.5, -1.0], origin, 3);
        const NO: u32 = Batch::IGNORED;
        assert_eq!((&batch.inputs[..], batch.shape), (&[1, 2, 3, 5, 0, 0][..], [2, 3]));
        assert_eq!(batch.targets[..], [NO, 3, 4, 6, NO, NO]);
        assert_eq!(batch.weights.unwrap(), [0.0, 0.5, 0.5, -1.0, 0.0, 0.0]);
        assert_eq!(batch.step_targets, Some(24));
    }
}
