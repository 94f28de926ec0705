//! Settings as TOML: read from `--config FILE`, written by `--print-config`; those of a run into its
//! folder, see [`llm_run::config`].
//!
//! A key is the name of a flag. So a file is turned into flags, and everything that is known about
//! flags, their types, limits and messages, holds for files without being said again.

mod effective;
mod file;

#[cfg(test)]
mod tests;

pub(crate) use effective::typed;
pub use effective::{beside, head, printable_config};
#[cfg(any(test, fuzzing))]
pub(crate) use file::text_of;
pub(crate) use file::{merge, read};
