//! `--message-format json`: one object a line on standard output.

use crate::console::json_line;
use llm_core::TokenId;
use llm_core::generate::{Finish, Written};
use llm_formats::chat::exported::LeftOut;
use llm_lens::trace::Walk;
use llm_run::data::Report;
use llm_run::device::AdapterInfo;
use llm_run::log::{AnswerMoment, Compared, Forgotten};
use llm_run::tasks::Answers;
use serde::Serialize;

/// What a run reports. Numbers read back to the same value.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// A GPU that there is, by `--device list`.
    Adapter(&'a AdapterInfo),
    /// Before the first step.
    Start {
        /// Program and version.
        program: &'a str,
        /// Version.
        version: &'a str,
        /// Seed of weights, batches and samples.
        seed: u64,
        /// Threads at work.
        threads: usize,
        /// Instruction set of our kernels.
        kernels: &'a str,
        /// Number of parameters.
        parameters: u64,
        /// H.
        heads: usize,
        /// Steps done before.
        step: u64,
        /// Steps to do.
        steps: u64,
        /// ln V: the loss of a model that knows nothing.
        expected_loss: f64,
        /// What no model's loss can be below, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        entropy_floor: Option<f64>,
        /// By `--time`: what it chose, as words of a command.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        chosen: &'a [String],
    },
    /// The steps of a run by `--time` are planned again.
    #[serde(rename = "planned_again")]
    PlannedAgain {
        /// Steps of the run: with what was chosen else they make the same run.
        steps: u64,
        /// Steps that were planned before.
        before: u64,
    },
    /// How long the run would take, by `--dry-run`.
    Estimate {
        /// All of it.
        seconds: f64,
        /// A step, in milliseconds.
        step_ms: f64,
        /// A measurement on the way.
        measurement_seconds: f64,
    },
    /// One batch, memorised or not, by `--overfit`.
    Overfit {
        /// Tokens of the batch.
        tokens: u64,
        /// Loss before the first update, in nats a token.
        first_loss: f32,
        /// Loss after the last update, in nats a token.
        last_loss: f32,
        /// Whether the last loss is below a tenth of the first.
        learned: bool,
    },
    /// A training step.
    Step {
        /// Steps done.
        step: u64,
        /// Loss of the batch before the update, in nats a token.
        loss: f32,
        /// Learning rate.
        lr: f32,
        /// Before clipping.
        grad_norm: f32,
        /// Since the last report.
        tokens_per_s: f64,
        /// The update was left out, see `--skip-spikes`.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        skipped: bool,
        /// The mean reward, with `--reward`.
        #[serde(skip_serializing_if = "Option::is_none")]
        reward: Option<f64>,
        /// Share of the questions whose answers differ in their rewards.
        #[serde(skip_serializing_if = "Option::is_none")]
        differ: Option<f64>,
        /// Mean length of an answer, in tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
        /// Entropy of the model over the tokens of its answers, in nats.
        #[serde(skip_serializing_if = "Option::is_none")]
        entropy: Option<f64>,
        /// How far the model is from its start, in nats a token, with `--beta`.
        #[serde(skip_serializing_if = "Option::is_none")]
        kl: Option<f64>,
        /// Share of tokens that no longer teach in the later of several `--updates`.
        #[serde(skip_serializing_if = "Option::is_none")]
        clipped: Option<f64>,
        /// By how much the better answers of the step have gained more than the worse ones, with `--dpo`.
        #[serde(skip_serializing_if = "Option::is_none")]
        margin: Option<f64>,
        /// Share of its pairs with a margin above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        accuracy: Option<f64>,
    },
    /// Unseen pairs of answers, with `--dpo`.
    Pairs {
        /// Steps done.
        step: u64,
        /// What the model makes of them.
        #[serde(flatten)]
        of: &'a Compared,
    },
    /// Answers to questions that stay the same, with `--reward`.
    Answers(&'a AnswerMoment),
    /// A measurement on unseen data.
    Eval {
        /// Steps done.
        step: u64,
        /// What was found.
        #[serde(flatten)]
        report: &'a Report,
        /// By `eval --weights`: the same without rounding.
        #[serde(flatten)]
        beside: Option<BesideF32>,
    },
    /// What the model knew before its steps and knows after them, by `--forget`.
    Forgotten(&'a Forgotten),
    /// Answers to questions, by `eval --task`.
    Task {
        /// Steps done.
        step: u64,
        /// The file of questions.
        task: &'a str,
        /// Shares of right answers.
        #[serde(flatten)]
        answers: &'a Answers,
        /// By `--weights`: what they are rounded to.
        #[serde(skip_serializing_if = "Option::is_none")]
        weights: Option<&'a str>,
        /// Shares without rounding.
        #[serde(skip_serializing_if = "Option::is_none")]
        f32: Option<&'a Answers>,
    },
    /// Text written by the model.
    Sample {
        /// Steps done.
        step: u64,
        /// Which of several, from 0.
        sample: u64,
        /// What it began with; what is no UTF-8 has replacement characters.
        prompt: &'a str,
        /// What it wrote, likewise.
        text: &'a str,
        /// The prompt in tokens.
        prompt_ids: &'a [TokenId],
        /// What was drawn, a stop text included.
        ids: &'a [TokenId],
        /// ln p of each in the model's own distribution.
        logprobs: &'a [f32],
        /// Why it ended.
        finish: Finish,
        /// The likeliest next tokens after the prompt, and with `--print-next-top-each-step` after
        /// each token that was drawn.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        next: &'a [Vec<NextToken>],
    },
    /// A probe of `--sanity-next-from-data`.
    Probe {
        /// Place in the data, in tokens.
        offset: usize,
        /// The token that comes.
        target: u32,
        /// The model's first choice.
        top1: u32,
    },
    /// A checkpoint is safe on disk.
    Saved {
        /// Steps done.
        step: u64,
        /// The file.
        path: &'a str,
    },
    /// Conversations out of the exports of apps are safe on disk.
    Imported {
        /// How many.
        conversations: usize,
        /// Messages in them.
        messages: usize,
        /// Messages in none of them, by kind.
        left_out: LeftOut,
        /// File of the conversations.
        path: &'a str,
    },
    /// One number of attention, followed by hand.
    Trace(&'a Walk),
    /// The end.
    Done {
        /// Steps done.
        step: u64,
        /// What was found on unseen data after the last step.
        #[serde(flatten)]
        report: Option<&'a Report>,
        /// The whole command.
        seconds: f64,
        /// The last saved file.
        checkpoint: Option<&'a str>,
    },
}

/// A token that may come next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextToken {
    pub id: TokenId,
    /// The text; what is no UTF-8 has replacement characters.
    pub text: String,
    /// The probability, after temperature and before any filter.
    pub p: f64,
}

/// What rounding a model's weights does to a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BesideF32 {
    /// What they are rounded to: `bf16`, `q8` or `q4`.
    pub weights: &'static str,
    /// The loss without rounding, in nats per token.
    pub f32_loss: f64,
    /// Share of tokens with the same first choice.
    pub same_first_choice: f64,
}

/// The event of a text: its step and which of several it is, what it began with, as text and in
/// tokens, what was written, and what was likely to come.
pub fn sample(
    [step, sample]: [u64; 2],
    (prompt, prompt_ids): (&str, &[TokenId]),
    written: &Written,
    next: &[Vec<NextToken>],
) -> Vec<u8> {
    let text = &String::from_utf8_lossy(&written.text);
    let choices = || written.choices.iter();
    let ids = &choices().map(|choice| choice.token).collect::<Vec<_>>();
    let logprobs = &choices().map(|choice| choice.logprob).collect::<Vec<_>>();
    let finish = written.finish;
    line(&Event::Sample { step, sample, prompt, text, prompt_ids, ids, logprobs, finish, next })
}

/// The event as a line.
pub fn line(event: &Event<'_>) -> Vec<u8> {
    json_line(event).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_read_back_to_the_same_number() {
        for bits in [0x4019_999a_u32, 0x3dcc_cccd, 0x0000_0001, 0x7f7f_ffff] {
            let loss = f32::from_bits(bits);
            let text = line(&Event::Step {
                step: 1,
                loss,
                lr: 1e-3,
                grad_norm: 0.1,
                tokens_per_s: 1.0,
                skipped: false,
                reward: None,
                differ: None,
                length: None,
                entropy: None,
                kl: None,
                clipped: None,
                margin: None,
                accuracy: None,
            });
            let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(value["event"], "step");
            assert_eq!(value["loss"].to_string().parse::<f32>().unwrap().to_bits(), bits);
        }
    }
}
