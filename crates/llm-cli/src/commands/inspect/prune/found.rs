//! What pruning finds.

use crate::args::HeadName;
use llm_stories::FactTable;

/// How good a model is: its loss, and with the built-in stories its facts.
pub(super) type Score = llm_lens::Score<Option<FactTable>>;
pub(super) type Scored = llm_lens::Scored<Option<FactTable>>;

/// What was found.
pub(super) struct Found {
    pub whole: Score,
    /// Scored in each measurement.
    pub tokens: u64,
    /// Nothing when the heads to drop were named.
    pub alone: Vec<Scored>,
    pub greedy: Vec<Scored>,
    /// What is left without the dropped heads, when some are to be dropped.
    pub dropped: Option<Dropped>,
}

/// Heads that go.
pub(super) struct Dropped {
    pub heads: Vec<HeadName>,
    pub mask: Vec<bool>,
    pub score: Score,
}

/// Facts right, 0..=1.
pub(super) fn facts_share(score: &Score) -> Option<f64> {
    score.details.as_ref().map(|facts| facts.total().share())
}
