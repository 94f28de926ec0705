//! The safetensors format: a length, a header in JSON, then the tensors' bytes without holes.
//!
//! The header is parsed by the `safetensors` crate after our own limits have been checked, and
//! tensors pass through a small buffer, so that a model is never in memory twice.

mod header;
mod read;
mod write;

pub use crate::wanted::Wanted;
pub use header::{MAX_HEADER, MAX_NAME, MAX_TENSORS, Row};
pub use read::{Contents, STORED_AS, Values};
pub(crate) use write::pieces;
pub use write::{Data, Fill, Named, write};

pub use ::safetensors::tensor::Dtype;
