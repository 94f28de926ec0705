//! Progress of training a vocabulary.

use crate::console::bar;
use crate::messages::said;
use indicatif::ProgressBar;
use llm_formats::bpe::Learning as Step;
use llm_run::tokenizers::Watching;
use std::sync::OnceLock;

/// A bar, as soon as there is something to learn.
pub(crate) struct Learning {
    quiet: bool,
    bar: OnceLock<Option<ProgressBar>>,
}

impl Learning {
    pub(crate) fn new(quiet: bool) -> Learning {
        Learning { quiet, bar: OnceLock::new() }
    }

    /// Does `make` with it.
    pub(crate) fn watch<T>(&self, make: impl FnOnce(&Watching<'_>) -> T) -> T {
        let made = make(&|step, total| {
            let style = "{spinner} [{wide_bar}] {bytes}/{total_bytes}  {msg}  {elapsed}";
            let new =
                || bar(total, style, self.quiet).map(|bar| bar.with_message(said("reading words")));
            let Some(bar) = self.bar.get_or_init(new) else { return };
            match step {
                Step::Read(bytes) => bar.set_position(bytes as u64),
                Step::Merge => bar.set_message(said("merging the pairs that come most often")),
            }
        });
        if let Some(Some(bar)) = self.bar.get() {
            bar.finish_and_clear();
        }
        made
    }
}
