//! What a run is given, and what it reports.

use crate::config::Beside;
use crate::data::Report;
use crate::folder::Target;
use crate::log::{AnswerMoment, Curves, HeadMoment, Paired, Rewarded, Sample};
use llm_core::base::Message;
use llm_core::checkpoint::Snapshot;
use llm_core::message;
use llm_core::train::Best;
use std::path::{Path, PathBuf};

/// The program that trains and its machine, for the run's folder.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The name of the program.
    pub face: &'static str,
    /// Version of the program.
    pub version: String,
    /// What stands above the settings in a run's folder.
    pub head: String,
    /// Threads at work.
    pub threads: usize,
    /// The GPU that computes the steps, with interface and driver; empty: the processor.
    pub device: String,
    /// Settings of its own.
    pub beside: Vec<Beside>,
    /// What was changed of a run that goes on, in words.
    pub changed: Vec<String>,
}

impl Identity {
    /// One of this name, on `threads` threads.
    pub fn of(face: &'static str, threads: usize) -> Identity {
        let version = env!("CARGO_PKG_VERSION").to_string();
        let head = format!("{face} {version}: the settings of a run");
        Identity { face, version, head, threads, ..Identity::default() }
    }
}

/// Why there were fewer steps than planned.
#[derive(Clone, Debug, PartialEq)]
pub enum Early {
    /// The time was up after this step.
    TimeIsUp(u64),
    /// The validation loss no longer fell.
    NoProgress(u64),
    /// A signal came.
    Interrupted(u64),
    /// The numbers ran away.
    Diverged(Message),
}

/// The last measurement, and how much of what was wanted it scored.
#[derive(Debug)]
pub struct Scored {
    /// What was found.
    pub report: Report,
    /// Tokens that there was time for.
    pub total: u64,
    /// Tokens that were to be scored.
    pub wanted: u64,
}

/// What there is of a run when it ends.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// Where it is saved, if it is.
    pub target: Option<&'a Target>,
    /// Where the last state is instead, when what is there cannot be replaced.
    pub instead: Option<&'a Path>,
    /// The best state and its file, if there is one.
    pub best: Option<(Best, PathBuf)>,
}

impl<'a> Kept<'a> {
    /// The file of the last state.
    pub fn file(&self) -> Option<&'a Path> {
        self.instead.or(self.target.map(|target| &*target.path))
    }

    /// What to give `--load`.
    pub fn load_name(&self) -> Option<&'a Path> {
        self.instead.or(self.target.map(Target::load_name))
    }
}

/// A test that memorises one batch.
#[derive(Clone, Copy, Debug)]
pub struct Overfit {
    /// Tokens of the batch.
    pub tokens: u64,
    /// Loss of the batch before the first step, in nats per token.
    pub first_loss: f32,
    /// Loss of the batch before the last step, in nats per token.
    pub last_loss: f32,
}

impl Overfit {
    /// Whether the batch was memorised.
    pub fn is_memorised(&self) -> bool {
        self.last_loss < 0.1 * self.first_loss
    }
}

/// How long a run would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds of the whole run, at most the time that it may take.
    pub seconds: f64,
    /// Seconds of everything but the steps.
    pub rest: f64,
    /// Seconds of a step.
    pub step: f64,
    /// Seconds of a measurement on the way.
    pub measurement: f64,
    /// Whether the time that the run may take ends it.
    pub is_cut: bool,
}

/// What a page about a run is made of.
#[derive(Debug)]
pub struct PageOf<'a> {
    /// The run's folder.
    pub folder: &'a Path,
    /// The run as it is now.
    pub run: Snapshot<'a>,
    /// Losses of the run.
    pub curves: Curves,
    /// Samples that it wrote.
    pub samples: Vec<Sample>,
    /// What heads looked at and carried on the way.
    pub heads: Vec<HeadMoment>,
    /// Rewards of its steps, if it learns from them.
    pub rewards: Vec<Rewarded>,
    /// What it made of pairs of answers, if it learns from them.
    pub pairs: Vec<Paired>,
    /// What it answered on the way.
    pub answers: Vec<AnswerMoment>,
    /// Tokens trained on, by all steps.
    pub tokens: u64,
    /// How it ended, if it did.
    pub ending: PageEnding<'a>,
}

/// What a page says about the end.
#[derive(Debug, Default)]
pub struct PageEnding<'a> {
    /// The measurement after the last step, where there was one.
    pub report: Option<&'a Report>,
    /// Seconds of this command; earlier parts of the run are not counted.
    pub seconds: f64,
    /// Where its states are saved.
    pub checkpoints: Vec<PathBuf>,
    /// Why it ended early, if it did.
    pub early: Option<&'a Early>,
}

/// What helps when the numbers of training run away.
pub fn advice_on_rate(clipped: bool) -> Message {
    if clipped { message!("try a lower {lr}") } else { message!("try a lower {lr}, or {clip} 1") }
}
