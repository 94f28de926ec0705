//! How far the measuring is: a bar on a terminal, lines elsewhere.

use crate::console::{bar, eta, note};
use crate::messages::said;
use indicatif::ProgressBar;
use llm_core::base::Message;
use llm_core::message;
use std::time::Instant;

/// Counts measurements.
pub(super) struct Counting {
    bar: Option<ProgressBar>,
    quiet: bool,
    total: u64,
    start: Instant,
}

impl Counting {
    pub(super) fn new(total: u64, quiet: bool) -> Counting {
        let what = said("measurements");
        let style = format!("{{spinner}} [{{wide_bar}}] {{pos}}/{{len}} {what}  {}", eta());
        Counting { bar: bar(total, &style, quiet), quiet, total, start: Instant::now() }
    }

    /// After a measurement.
    pub(super) fn one_more(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// After the first measurement: how long the others will take, unless a bar shows it.
    pub(super) fn forecast(&self) {
        let left = self.total.saturating_sub(1);
        let minutes = self.start.elapsed().as_secs_f64() * left as f64 / 60.0;
        if self.bar.is_none() && minutes >= 0.1 {
            self.say(message!("about {:.1} min for {} more measurements", minutes, left));
        }
    }

    /// A line among the progress.
    pub(super) fn say(&self, line: impl Into<Message>) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| note(line)),
            None => note(line),
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
