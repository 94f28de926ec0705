//! What a run is and what came of it, in `run.json`: for lists of runs, and for their pages.

use llm_core::base::{open_regular, replace_file};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::Best;
use llm_core::{Error, IoAction, Result};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// The file in a run's folder.
pub(crate) const FILE: &str = "run.json";
/// More than it has.
const MOST_BYTES: u64 = 1 << 20;

/// Writes a file of a run's folder as a whole.
///
/// # Errors
/// [`Error::Io`] with the path; an older file is then as before.
pub(crate) fn put(path: &Path, text: &str) -> Result<()> {
    let written = replace_file(path, |out| out.write_all(text.as_bytes()));
    written.map_err(|source| Error::io(IoAction::Write, path, source))
}

/// What is known about a run besides its settings and its steps. What a file does not say keeps its
/// default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// Name of the program.
    pub program: String,
    /// Version of the program, with its commit where that is known.
    pub version: String,
    /// When the run began, in UTC as RFC 3339 writes it.
    pub started: String,
    /// When this was written.
    pub written: String,
    /// Seconds of all commands that worked on it, measurements and saves included.
    pub seconds: f64,
    /// How it stands.
    pub state: RunState,
    /// The processor of the last command, as it calls itself.
    pub processor: String,
    /// The instructions that its kernels used, and the order of sums of products in bf16.
    pub kernels: String,
    /// Threads at work.
    pub threads: usize,
    /// The GPU of the last command, with interface and driver; empty: the processor.
    pub device: String,
    /// The training data, in words.
    pub data: String,
    /// A hash of the text, of the part of it that is unseen, and of the tokenizer: where it is the
    /// same, losses compare. Empty in the folders of older programs.
    pub judged_on: String,
    /// The tokenizer's name.
    pub tokenizer: String,
    /// V.
    pub vocab_size: usize,
    /// T.
    pub seq_len: usize,
    /// C.
    pub d_model: usize,
    /// L.
    pub n_layers: usize,
    /// H.
    pub n_heads: usize,
    /// Number of parameters.
    pub parameters: u64,
    /// Tokens of a step.
    pub tokens_per_step: u64,
    /// Steps done.
    pub step: u64,
    /// Steps planned in all.
    pub steps: u64,
    /// What no model's expected loss is below, where that is known.
    pub entropy_floor: Option<f64>,
    /// The measurement after the last step.
    pub result: Option<RunResult>,
    /// What became of what the model knew, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<Forgotten>,
    /// The lowest loss that was measured, always on the same part of the unseen data.
    pub best: Option<Best>,
    /// Speed of training, without measurements and saves.
    pub tokens_per_s: f64,
    /// Useful floating-point operations of learning from a token.
    pub flops_per_token: f64,
    /// Useful floating-point operations per second at that speed, in units of 10⁹.
    pub gflops: f64,
    /// The most that the machine was measured to do, in the same unit.
    pub peak_gflops: Option<f64>,
    /// Model FLOPs utilisation: the one over the other.
    pub mfu: Option<f64>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// At work, or ended by something that left no time to say so.
    #[default]
    Running,
    /// All steps are done.
    Done,
    /// Ended early as asked: no time, or no progress.
    Stopped,
    /// Ended by a signal.
    Interrupted,
    /// Ended by its own numbers.
    Diverged,
    /// Ended by something else.
    Failed,
}

impl RunState {
    /// Name of the state in the file.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Done => "done",
            RunState::Stopped => "stopped",
            RunState::Interrupted => "interrupted",
            RunState::Diverged => "diverged",
            RunState::Failed => "failed",
        }
    }
}

/// What was measured on unseen data after the last step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// Steps done.
    pub step: u64,
    /// In nats per token.
    pub val_loss: f64,
    /// Tokens that were scored.
    #[serde(alias = "tokens")]
    pub scored: u64,
    /// The share of tokens whose first choice was right, 0..=1.
    pub accuracy: f64,
    /// Bits for each byte of text; none of tokens that stand for no text.
    pub bits_per_byte: Option<f64>,
    /// Facts right, 0..=1, with the built-in stories.
    pub facts: Option<f64>,
}

/// What a model knew before the steps of a command, and after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forgotten {
    /// Loss on the unseen part of what it learned, in nats per token, before and after.
    pub unseen: Option<[f64; 2]>,
    /// The text of another kind.
    pub file: String,
    /// Bits for each byte of that text, before and after.
    pub bits_per_byte: [f64; 2],
}

impl RunInfo {
    /// Reads what the folder `dir` of a run says; nothing where it says nothing, or nothing that
    /// can be understood.
    pub fn read(dir: &Path) -> Option<RunInfo> {
        let (file, _) = open_regular(&dir.join(FILE)).ok()?;
        serde_json::from_reader(file.take(MOST_BYTES)).ok()
    }

    /// Writes it into the folder.
    ///
    /// # Errors
    /// [`Error::Io`] with the path; an older file is then as before.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(FILE);
        match serde_json::to_string_pretty(self) {
            Ok(text) => put(&path, &(text + "\n")),
            Err(e) => Err(Error::io(IoAction::Write, path, e.into())),
        }
    }

    /// The lowest loss that is known of it.
    pub fn lowest_loss(&self) -> Option<f64> {
        let known = [self.best.map(|best| best.val_loss), self.result.as_ref().map(|r| r.val_loss)];
        known.into_iter().flatten().min_by(f64::total_cmp)
    }

    /// Validation loss as bits for each byte of text, where tokens stand for text: comparable between
    /// tokenizers.
    pub fn bits_per_byte(&self) -> Option<f64> {
        let measured = self.result.as_ref().filter(|result| result.val_loss > 0.0);
        let of_a_nat = match measured {
            Some(result) => result.bits_per_byte? / result.val_loss,
            // A token is a byte.
            None if self.tokenizer == ByteTokenizer::NAME => std::f64::consts::LOG2_E,
            None => return None,
        };
        Some(of_a_nat * self.lowest_loss()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_what_is_missing_keeps_its_default() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(RunInfo::read(dir.path()), None);
        let result = RunResult { step: 7, val_loss: 0.5, facts: Some(0.25), ..Default::default() };
        let best = Some(Best { step: 5, val_loss: 0.25 });
        let state = RunState::Interrupted;
        let info = RunInfo { steps: 9, state, result: Some(result), best, ..RunInfo::default() };
        info.write(dir.path()).unwrap();
        assert_eq!(RunInfo::read(dir.path()), Some(info.clone()));
        assert_eq!(info.lowest_loss(), Some(0.25));
        assert_eq!(info.bits_per_byte(), None);
        let result = RunResult { val_loss: 0.5, bits_per_byte: Some(2.0), ..Default::default() };
        let told = RunInfo { result: Some(result), ..info.clone() };
        assert_eq!(told.bits_per_byte(), Some(1.0));
        let bytes = RunInfo { tokenizer: "byte".into(), result: None, ..info.clone() };
        assert_eq!(bytes.bits_per_byte(), Some(0.25 * std::f64::consts::LOG2_E));
        let file = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(file.contains(&format!("\"state\": \"{}\"", state.name())), "{file}");
        for (text, steps) in [("{\"steps\": 3, \"later\": []}", Some(3)), ("{", None), ("3", None)]
        {
            std::fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(RunInfo::read(dir.path()).map(|info| info.steps), steps, "{text}");
        }
    }
}
