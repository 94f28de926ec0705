//! A measurement of a verb: it says how far it is, and a signal cuts it.

use crate::console::note;
use crate::error::Result;
use crate::progress::{Watching, scored_in_time};
use crate::signals::Signals;
use llm_core::TinyGPT;
use llm_core::crew::Alone;
use llm_core::data::Window;
use llm_core::train::Scored;
use llm_run::data::{Report, Validation};
use llm_run::training::measure;

/// How a measurement is watched.
#[derive(Clone, Copy, Debug)]
pub struct Scoring<'a> {
    /// Say nothing on the way.
    pub quiet: bool,
    /// What cuts it.
    pub signals: &'a Signals,
}

impl Scoring<'_> {
    /// Scores at most `limit` tokens of `val`, in evenly spaced windows; `seen` is told each window and
    /// what the model said about it. After a signal the result is that of the windows that were
    /// scored.
    ///
    /// # Errors
    /// What scoring refuses.
    pub fn run_seen(
        &self,
        val: &Validation,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        mut seen: impl FnMut(Window, &Scored<'_>),
    ) -> Result<Report> {
        let mut shown = Watching::new(val.tokens_of(limit) as u64, self.quiet);
        let sizes = [batch_size, limit];
        let scored = measure(&mut Alone, val, model, sizes, None, &mut |tokens, _, of| {
            if let Some((window, scored)) = of {
                shown.position(tokens);
                seen(window, scored);
            }
            self.signals.pending().is_some()
        });
        shown.finish();
        let scored = scored?;
        scored_in_time(&scored, |line| {
            if !self.quiet {
                note(line)
            }
        });
        Ok(scored.report)
    }
}
