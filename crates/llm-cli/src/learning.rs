//! Progress of training a vocabulary.

use crate::console::bar;
use crate::messages::said;
use indicatif::ProgressBar;
use llm_formats::bpe::Learning as Step;
use llm_run::tokenizers::Watching;
use std::sync::OnceLock;

/// Does `make` with a bar, as soon as there is something to learn.
pub(crate) fn watched<T>(quiet: bool, make: impl FnOnce(&Watching<'_>) -> T) -> T {
    let shown: OnceLock<Option<ProgressBar>> = OnceLock::new();
    let made = make(&|step, total| {
        let style = "{spinner} [{wide_bar}] {bytes}/{total_bytes}  {msg}  {elapsed}";
        let new = || bar(total, style, quiet).map(|bar| bar.with_message(said("reading words")));
        let Some(bar) = shown.get_or_init(new) else { return };
        match step {
            Step::Read(bytes) => bar.set_position(bytes as u64),
            Step::Merge => bar.set_message(said("merging the pairs that come most often")),
        }
    });
    if let Some(Some(bar)) = shown.get() {
        bar.finish_and_clear();
    }
    made
}
