//! Token sequences: splitting, batches, evaluation windows; and the built-in stories.

mod dataset;
mod files;
pub mod stories;
mod story_corpus;
mod tokens;
mod windows;

pub use dataset::{Batch, Origin, TokenDataset};
pub use files::ByteFiles;
pub use story_corpus::StoryCorpus;
pub use windows::{Window, Windows};
