//! Several runs side by side on one page.

use crate::bilingual::Bilingual;
use serde::Serialize;

/// Runs, and in what they differ.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeveralRuns {
    /// One for each, in the order of their colours; the page sorts its table by validation loss.
    pub rows: Vec<OneRun>,
    /// Names of the settings in which they differ, in the order of their columns.
    pub differing: Vec<String>,
    /// What runs that are drawn alike have in common, where some are; [`OneRun::group`] counts them.
    pub groups: Vec<Bilingual>,
}

/// A run of a page. Losses are in nats for a token; what is not finite is left out of the picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OneRun {
    /// What it is called, for example its folder.
    pub name: String,
    /// The values of [`SeveralRuns::differing`], in the same order.
    pub settings: Vec<String>,
    /// Runs of the same number are drawn alike.
    pub group: usize,
    /// Step and validation loss; empty where none was measured.
    pub val: Vec<(u64, f64)>,
    /// Step and smoothed training loss, drawn where there is no validation loss.
    pub smooth: Vec<(u64, f64)>,
    /// Validation loss at the end, by which the runs are sorted.
    pub val_loss: Option<f64>,
    /// The lowest validation loss on the way.
    pub best: Option<f64>,
    /// Steps done.
    pub steps: u64,
    /// Time of training.
    pub seconds: Option<f64>,
    /// What became of it, in a word or two.
    pub state: Bilingual,
}
