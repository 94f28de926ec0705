//! Token sequences: splitting, batches, evaluation windows; and the built-in stories.

mod dataset;
pub mod stories;

pub use dataset::{Batch, TokenDataset, Window};
