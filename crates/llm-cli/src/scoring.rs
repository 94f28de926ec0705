//! A measurement that may take long: it says how far it is, and a signal cuts it.

use crate::console::{bar, note};
use crate::data::{Report, Validation};
use crate::error::Result;
use crate::signals::Signals;
use indicatif::ProgressBar;
use llm_core::TinyGPT;
use llm_core::base::thousands;
use std::time::{Duration, Instant};

/// Between two lines where there is no bar, and before the first: what ends sooner says nothing.
const LINES: Duration = Duration::from_secs(5);

/// How a measurement is watched.
#[derive(Clone, Copy, Debug)]
pub struct Scoring<'a> {
    /// Say nothing on the way.
    pub quiet: bool,
    /// What cuts it.
    pub signals: &'a Signals,
}

impl Scoring<'_> {
    /// Scores at most `limit` tokens of `val`, in evenly spaced windows. After a signal the result
    /// is that of the windows that were scored.
    ///
    /// # Errors
    /// What scoring refuses.
    pub fn run(
        &self,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
    ) -> Result<Report> {
        let total = val.tokens_of(limit) as u64;
        let mut shown = Shown::new(total, self.quiet);
        let report = val.score(model, batch_size, limit, |scored| {
            shown.position(scored);
            self.signals.pending().is_some()
        });
        shown.finish();
        let report = report?;
        let scored = report.evaluation.tokens;
        if scored < total && !self.quiet {
            note(&format!(
                "the measurement was cut after {} of {} tokens: loss {:.4} so far",
                thousands(scored),
                thousands(total),
                report.evaluation.loss
            ));
        }
        Ok(report)
    }
}

/// A bar on a terminal, lines elsewhere.
struct Shown {
    total: u64,
    bar: Option<ProgressBar>,
    /// When the next line is due; `None`: there are none.
    due: Option<Instant>,
}

impl Shown {
    fn new(total: u64, quiet: bool) -> Shown {
        let style = "{spinner} [{wide_bar}] {msg}  eta {eta}";
        let bar = bar(total, style, quiet);
        let due = (bar.is_none() && !quiet).then(|| Instant::now() + LINES);
        Shown { total, bar, due }
    }

    fn position(&mut self, scored: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(scored);
            bar.set_message(format!("scoring {}", self.share(scored)));
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + LINES);
            note(&format!("scored {}", self.share(scored)));
        }
    }

    fn share(&self, scored: u64) -> String {
        format!("{} of {} unseen tokens", thousands(scored), thousands(self.total))
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
