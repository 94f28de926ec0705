//! Answers to the questions of a batch, and the batch that is learned from them.

use super::Questions;
use llm_core::generate::{Sampling, Writers};
use llm_core::kernels::cross_entropy::log_sum_exp;
use llm_core::kernels::softmax;
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
    /// Sum over its tokens of the entropy, in nats, of what they were drawn from.
    pub entropy: f64,
}

impl Attempt {
    /// Whether it came to its end and says what is known to be right; none where nothing is known.
    pub(super) fn is_right(&self, questions: &Questions) -> Option<bool> {
        let (_, known) = questions.texts.get(&self.prompt)?;
        known.as_ref().map(|known| self.ended && *known == self.text)
    }
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
    written(model, &prompts, group, sampling, questions, tokenizer)
}

/// `group` answers to each of these prompts; each is drawn as `sampling` of its number says.
///
/// # Errors
/// As [`Writers::step`].
pub(super) fn written(
    model: &TinyGPT,
    prompts: &[impl AsRef<[TokenId]>],
    group: usize,
    sampling: impl Fn(usize) -> Sampling,
    questions: &Questions,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Attempt>> {
    let n = prompts.len() * group;
    let mut written: Vec<(Vec<TokenId>, f64)> = vec![Default::default(); n];
    let mut writers = Writers::new(model, None, TOGETHER.min(n))?;
    let mut joined = 0;
    while joined < n || !writers.is_empty() {
        while joined < n && writers.room() > 0 {
            let prompt = prompts[joined / group].as_ref();
            writers.join(prompt, questions.most, sampling(joined), false)?;
            joined += 1;
        }
        let mut over = Vec::new();
        writers.step(|writer, choice, scores| {
            let (Some(choice), Some(of)) = (choice, written.get_mut(writer as usize)) else {
                return;
            };
            let (tokens, sum) = of;
            tokens.push(choice.token);
            *sum += entropy(scores);
            if questions.is_over(choice.token) || questions.said(tokens, tokenizer).1 {
                over.push(writer);
            }
        })?;
        over.into_iter().for_each(|writer| writers.leave(writer));
    }
    let answer = |(row, (tokens, entropy)): (usize, (Vec<TokenId>, f64))| {
        let (text, ended) = questions.said(&tokens, tokenizer);
        let prompt = prompts[row / group].as_ref().to_vec();
        Attempt { prompt, tokens, text, ended, entropy }
    };
    Ok(written.into_iter().enumerate().map(answer).collect())
}

/// −Σ p·ln p = ln Σ e^x − Σ p·x of the softmax p of scores x, in nats.
fn entropy(scores: &[f32]) -> f64 {
    let (mut p, mut lse) = (vec![0.0; scores.len()], [0.0]);
    softmax::forward(&mut p, scores, scores.len());
    log_sum_exp(&mut lse, scores, scores.len());
    let of = |(p, x): (&f32, &f32)| if *p > 0.0 { f64::from(p * (lse[0] - x)) } else { 0.0 };
    p.iter().zip(scores).map(of).sum()
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
    fn entropy_is_that_of_the_softmax() {
        assert!((entropy(&[2.0; 4]) - 4f64.ln()).abs() < 1e-6);
        let p: [f64; 3] = [0.5, 0.25, 0.25];
        let wanted: f64 = p.iter().map(|p| -p * p.ln()).sum();
        assert!((entropy(&p.map(|p| p.ln() as f32 + 7.0)) - wanted).abs() < 1e-6);
        assert!(entropy(&[0.0, -1e30]).abs() < 1e-6);
    }

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
            entropy: 0.0,
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
