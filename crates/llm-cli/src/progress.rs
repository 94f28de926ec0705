//! How training is watched: a bar on a terminal, lines elsewhere.

use crate::console::{bar, eta, note};
use crate::messages::said;
use indicatif::ProgressBar;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_core::train::StepReport;
use llm_formats::bpe::Learning;
use llm_run::tokenizers;
use llm_run::training::Scored;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A bar on a terminal; none before the first step.
#[derive(Debug, Default)]
pub struct Progress {
    pub bar: Option<ProgressBar>,
    val_loss: Option<f64>,
}

impl Progress {
    /// For `total` steps, or whatever else is called `what`. The bar stands on a terminal only.
    pub fn new(total: u64, what: &str, quiet: bool) -> Progress {
        // A terminal that cannot move its cursor gets lines.
        let style = format!("{{spinner}} [{{wide_bar}}] {{pos}}/{{len}} {what}  {}", eta());
        Progress { bar: bar(total, &style, quiet || total == 0), val_loss: None }
    }

    /// Runs `f`, which may print, with the bar out of the way.
    pub fn aside<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(f),
            None => f(),
        }
    }

    /// After each step, when `done` of this command's are; whether there is a bar that shows it.
    pub fn step(&self, done: u64, report: &StepReport, rate: f64) -> bool {
        let Some(bar) = &self.bar else { return false };
        bar.set_position(done);
        let val = self.val_loss.map_or_else(String::new, |val| said(message!("  val {:.3}", val)));
        let rate = thousands(rate as u64);
        bar.set_message(said(message!("loss {:.3}{}  {} tok/s", report.loss, val, rate)));
        true
    }

    /// After a measurement.
    pub fn measured(&mut self, loss: f64) {
        self.val_loss = Some(loss);
    }

    /// The run has `total` steps from now on.
    pub fn planned_again(&self, total: u64) {
        self.bar.iter().for_each(|bar| bar.set_length(total));
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        self.bar = None;
    }
}

/// Between two lines where there is no bar, and before the first: what ends sooner says nothing.
const LINES: Duration = Duration::from_secs(5);

/// A measurement that may take long: a bar on a terminal, lines elsewhere.
#[derive(Debug)]
pub struct Watching {
    total: u64,
    bar: Option<ProgressBar>,
    /// Whether the bar is of this measurement alone.
    is_own: bool,
    /// When the next line is due; `None`: no lines.
    due: Option<Instant>,
}

impl Watching {
    /// Progress towards `total` tokens; on the bar of the steps, where that stands.
    pub fn new(total: u64, quiet: bool, steps: Option<&ProgressBar>) -> Watching {
        let style = format!("{{spinner}} [{{wide_bar}}] {{msg}}  {}", eta());
        let own = if steps.is_some() { None } else { bar(total, &style, quiet) };
        let bar = own.as_ref().or(steps).cloned();
        let due = (bar.is_none() && !quiet).then(|| Instant::now() + LINES);
        Watching { total, bar, is_own: own.is_some(), due }
    }

    /// Shows that `scored` tokens are scored.
    pub fn position(&mut self, scored: u64) {
        if let Some(bar) = &self.bar {
            if self.is_own {
                bar.set_position(scored);
            }
            bar.set_message(said(message!("scoring {}", self.share(scored))));
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + LINES);
            note(message!("scored {}", self.share(scored)));
        }
    }

    fn share(&self, scored: u64) -> Message {
        message!("{} of {} tokens", thousands(scored), thousands(self.total))
    }
}

/// What a measurement did not score.
pub fn scored_in_time(of: &Scored, say: impl FnOnce(Message)) {
    let Scored { report, total, wanted } = of;
    let (scored, loss) = (report.evaluation.tokens, report.evaluation.loss);
    let of_all = || message!("{} of {} tokens", thousands(scored), thousands(*wanted));
    if scored < *total {
        say(message!("the measurement was cut after {}: loss {:.4} so far", of_all(), loss));
    } else if total < wanted {
        say(message!("the time leaves room for a measurement of {}", of_all()));
    }
}

/// Does `make` with a bar, as soon as there is something to learn.
pub(crate) fn watched<T>(quiet: bool, make: impl FnOnce(&tokenizers::Watching<'_>) -> T) -> T {
    let shown: OnceLock<Option<ProgressBar>> = OnceLock::new();
    make(&|step, total| {
        let style = "{spinner} [{wide_bar}] {bytes}/{total_bytes}  {msg}  {elapsed}";
        let new = || bar(total, style, quiet).map(|bar| bar.with_message(said("reading words")));
        let Some(bar) = shown.get_or_init(new) else { return };
        match step {
            Learning::Read(bytes) => bar.set_position(bytes as u64),
            Learning::Merge => bar.set_message(said("merging the pairs that come most often")),
        }
    })
}
