//! What stands in for byte-level BPE in a program that was built without it.

use crate::kept::Kept;
use llm_core::base::Message;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, Result, message};
use std::sync::Arc;

/// Its name in checkpoints and flags.
pub const NAME: &str = "bpe";
/// Not in this program.
pub const AVAILABLE: bool = false;
/// Why not.
pub const UNAVAILABLE: Message =
    message!("this program was built without BPE tokenizers (cargo feature bpe)");

/// What learning reports on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// The number of bytes read so far.
    Read(usize),
    /// All have: now tokens are merged.
    Merge,
}

fn refused() -> Error {
    Error::tokenizer(NAME, UNAVAILABLE)
}

/// Refused.
///
/// # Errors
/// Always.
pub fn learn(_: &[u8], _: usize, _: impl Fn(Learning) + Sync) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn from_tokenizer_json(_: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn from_vocab_and_merges(_: &[u8], _: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn from_older_files(
    _: &[u8],
    _: &[u8],
    _: &[(String, u64)],
    _: &serde_json::Value,
    _: &Kept,
) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn gpt2_files(_: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn with_end_of_text(_: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Nothing.
pub fn memory_of(_: usize) -> u64 {
    0
}

/// Refused.
///
/// # Errors
/// Always.
pub fn with_kept(_: &[u8], _: &Kept) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn of_bytes(_: bool) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn talking(_: &[u8], _: &[&str], _: String) -> Result<Arc<dyn Tokenizer>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn special_tokens(_: &[u8]) -> Result<Vec<(llm_core::TokenId, String)>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn added_token(_: &[u8], _: u64) -> Result<Option<String>> {
    Err(refused())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn taken_apart(_: &[u8]) -> Result<(Vec<u8>, Kept, bool)> {
    Err(refused())
}
