//! Token sequences: splitting, batches, evaluation windows.

mod dataset;
mod files;
mod order;
mod passages;
mod passes;
mod tokens;
mod windows;

pub use crate::model::{Batch, BatchShape, Origin};
pub use dataset::TokenDataset;
pub use files::ByteFiles;
pub use windows::{Window, Windows};
