//! Token sequences: splitting, batches, evaluation windows; and the built-in stories.

mod dataset;
pub mod stories;
mod story_corpus;

pub use dataset::{Batch, Origin, TokenDataset, Window, evenly_spaced};
pub use story_corpus::StoryCorpus;
