//! A run in one file: weights, moments, step and settings, and nothing else, so that two ways to
//! the same step give the same bytes.
//!
//! ```text
//! 40 bytes   magic, version, lengths, CRC32 of itself and the header     fixed.rs
//! header     settings by key and the tensor table, written by postcard   header.rs, table.rs
//! tensors    f32 little-endian, sorted by name, each 64-aligned          save.rs, load.rs, reader.rs
//! 32 bytes   BLAKE3 of everything before
//! ```
//!
//! The checksums find accidents. They do not stop an attacker who computes them anew, so nothing in
//! the file is believed: settings have limits (`limits.rs`, `check.rs`), and the tensor table must
//! be the one that follows from the settings. Saving never changes the old file in place
//! ([`replace_file`](crate::base::replace_file)).

mod adapter;
mod check;
mod contents;
mod fixed;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod header;
#[doc(hidden)]
pub mod limits;
mod load;
mod meta;
mod opened;
mod reader;
mod save;
mod state;
mod table;

#[cfg(test)]
mod tests;

pub use crate::base::CheckpointError;
pub use fixed::{FORMAT_VERSION, looks_like_checkpoint};
pub use meta::{Meta, TokenizerSpec};
pub use opened::Checkpoint;
pub use save::{check_savable, save, to_bytes, weights_checksum};
pub use state::{Snapshot, State};
