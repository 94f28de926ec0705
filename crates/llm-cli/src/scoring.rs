//! A measurement that may take long: it says how far it is, and a signal cuts it.

use crate::console::{bar, note};
use crate::error::Result;
use crate::messages::said;
use crate::signals::Signals;
use indicatif::ProgressBar;
use llm_core::TinyGPT;
use llm_core::base::thousands;
use llm_core::crew::{Alone, Crew};
use llm_core::data::Window;
use llm_core::message;
use llm_core::train::Scored;
use llm_run::clock::TimeBudget;
use llm_run::data::{Report, Validation};
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
    /// What it has to keep to.
    pub clock: Option<&'a TimeBudget>,
}

/// Tokens that tell how fast a model is scored.
const PILOT: usize = 4096;

impl Scoring<'_> {
    /// Scores at most `limit` tokens of `val`, in evenly spaced windows; with a clock that ends, as
    /// many as there is time for. After a signal, or when the time is up all the same, the result is
    /// that of the windows that were scored. All members of the crew come to the same result.
    ///
    /// # Errors
    /// What scoring refuses.
    pub fn run(
        &self,
        crew: &mut dyn Crew,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
    ) -> Result<Report> {
        self.run_all(crew, val, model, batch_size, limit, |_, _| {})
    }

    /// The same by this process alone, and `seen` is told each window and what the model said about it.
    ///
    /// # Errors
    /// As [`Scoring::run`].
    pub fn run_seen(
        &self,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        seen: impl FnMut(Window, &Scored<'_>),
    ) -> Result<Report> {
        self.run_all(&mut Alone, val, model, batch_size, limit, seen)
    }

    fn run_all(
        &self,
        crew: &mut dyn Crew,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        mut seen: impl FnMut(Window, &Scored<'_>),
    ) -> Result<Report> {
        let wanted = val.tokens_of(limit);
        let limit = self.in_time(crew, val, model, batch_size, wanted)?;
        let total = val.tokens_of(limit) as u64;
        let mut shown = Watching::new(total, self.quiet);
        let report =
            val.score_together(crew, model, batch_size, limit, |tokens, window, scored| {
                shown.position(tokens);
                seen(window, scored);
                self.is_cut()
            });
        shown.finish();
        let report = report?;
        let scored = report.evaluation.tokens;
        let of_all = format!("{} of {} tokens", thousands(scored), thousands(wanted as u64));
        if scored < total && !self.quiet {
            let loss = report.evaluation.loss;
            note(message!("the measurement was cut after {}: loss {:.4} so far", of_all, loss));
        } else if total < wanted as u64 && !self.quiet {
            note(message!("--max-time leaves room for a measurement of {}", of_all));
        }
        Ok(report)
    }

    /// No signal came and there is time.
    fn is_cut(&self) -> bool {
        self.signals.pending().is_some() || self.clock.is_some_and(TimeBudget::is_up)
    }

    /// The tokens that there is time for, of `wanted`: a few are scored to know. They are spread
    /// over the whole text, where those until the time is up would be its beginning.
    fn in_time(
        &self,
        crew: &mut dyn Crew,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        wanted: usize,
    ) -> Result<usize> {
        if self.clock.is_none_or(|clock| clock.most.is_none()) || wanted <= PILOT {
            return Ok(wanted);
        }
        let begin = Instant::now();
        let cut = |_, _, _: &Scored<'_>| self.is_cut();
        let pilot = val.score_together(crew, model, batch_size, PILOT, cut)?;
        let rate = pilot.evaluation.tokens as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        let left = self.clock.and_then(TimeBudget::left).unwrap_or_default();
        let mine = wanted.min((0.8 * rate * left.as_secs_f64()) as usize).max(1);
        let mut bytes = (mine as u64).to_le_bytes();
        crew.share(&mut bytes)?; // clocks differ
        Ok(u64::from_le_bytes(bytes) as usize)
    }
}

/// A bar on a terminal, lines elsewhere.
struct Watching {
    total: u64,
    bar: Option<ProgressBar>,
    /// When the next line is due; `None`: there are none.
    due: Option<Instant>,
}

impl Watching {
    fn new(total: u64, quiet: bool) -> Watching {
        let style = "{spinner} [{wide_bar}] {msg}  eta {eta}";
        let bar = bar(total, style, quiet);
        let due = (bar.is_none() && !quiet).then(|| Instant::now() + LINES);
        Watching { total, bar, due }
    }

    fn position(&mut self, scored: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(scored);
            bar.set_message(said(&format!("scoring {}", self.share(scored))));
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + LINES);
            note(message!("scored {}", self.share(scored)));
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
