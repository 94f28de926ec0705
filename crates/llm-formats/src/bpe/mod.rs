//! Byte-level BPE, GPT-2's way of cutting text: words (`split`), written byte for byte in an
//! alphabet of 256 characters (`crate::alphabet`), in which pairs of tokens are merged in a trained
//! order. Of other models it reads those whose words are of a kind that is known (`kind`).
//!
//! Merging and learning are the `tokenizers` library's. What is ours stands around it: files are
//! checked before it sees them (`parts`, `load`), and bytes that are no text, which it cannot
//! take, become their single-byte tokens. So every sequence of bytes comes back as it was; one with a
//! byte that a foreign vocabulary lacks is refused, where the library would leave the byte out.
//!
//! The text of special tokens such as `<|endoftext|>` is text like any other, as in tiktoken's
//! `encode_ordinary`; where it shall be the token, that is done around the tokenizer
//! ([`encode_marked`](llm_core::tokenizer::encode_marked)). This is so for GPT-2's own kind, with its one
//! mark. The tokens that others add to their vocabulary are found wherever they are written (`wholes`),
//! as `transformers` finds them, and a text in Unicode's form NFC is what comes back where the tokenizer asks for that.

mod about;
mod kind;
mod load;
mod parts;
#[cfg(feature = "bpe")]
mod split;
#[cfg(feature = "bpe")]
mod tokenizer;
#[cfg(feature = "bpe")]
mod train;
#[cfg(feature = "bpe")]
mod wholes;

#[cfg(feature = "bpe")]
#[cfg(test)]
mod kinds_tests;
#[cfg(feature = "bpe")]
#[cfg(test)]
mod tests;

pub(crate) use kind::{Words, byte_level};

pub use about::{AVAILABLE, Learning, NAME, Report, UNAVAILABLE, memory_of};
#[cfg(feature = "bpe")]
pub use train::learn;

use crate::alphabet;
use crate::kept::Kept;
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Result, TokenId};
use parts::{Added, Parts};
use std::sync::Arc;

/// The tokenizer of a vocabulary, once it is checked.
#[cfg(feature = "bpe")]
fn build(parts: Parts) -> Result<Arc<dyn Tokenizer>> {
    Ok(Arc::new(tokenizer::Bpe::new(parts)?))
}

#[cfg(not(feature = "bpe"))]
fn build(_: Parts) -> Result<Arc<dyn Tokenizer>> {
    Err(kind::refuse(UNAVAILABLE))
}

/// Refused: this program is built without BPE.
///
/// # Errors
/// Always.
#[cfg(not(feature = "bpe"))]
pub fn learn(_: &[u8], _: usize, _: &Report<'_>) -> Result<Arc<dyn Tokenizer>> {
    Err(kind::refuse(UNAVAILABLE))
}

/// The tokenizer of a tokenizer.json, which is also what a checkpoint holds.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for what is no byte-level BPE of GPT-2's kind, and for a
/// vocabulary that lacks a byte or a merge's parts, has numbers twice or left out, or is too large.
pub fn from_tokenizer_json(bytes: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    build(load::tokenizer_json(bytes)?)
}

/// The tokenizer of a vocabulary (GPT-2's vocab.json, or one token a line) and its merges (one pair
/// a line, in order, below a line that begins with `#version`).
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn from_vocab_and_merges(vocab: &[u8], merges: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    build(load::vocab_and_merges(vocab, merges)?)
}

/// The tokenizer of a vocabulary with tokens that were added to it, as older programs write them: a map of texts to
/// numbers, what tokenizer_config.json says of them, and what is next to it.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn from_older_files(
    vocab: &[u8],
    merges: &[u8],
    added: &[(String, u64)],
    settings: &serde_json::Value,
    kept: &Kept,
) -> Result<Arc<dyn Tokenizer>> {
    let mut parts = load::vocab_and_merges(vocab, merges)?;
    load::add(&mut parts, added, settings)?;
    parts.kept = kept.clone();
    build(parts)
}

/// The tokenizer that [`Tokenizer::blob`] wrote, with one more token, which ends a text; as it was
/// when there is one.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn with_end_of_text(blob: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    let mut parts = load::tokenizer_json(blob)?;
    let next = parts.next();
    if parts.end().is_none() {
        parts.added.push(Added::special(END_OF_TEXT, next));
    }
    build(parts)
}

/// The tokenizer of a tokenizer.json with what is next to it.
///
/// # Errors
/// As [`from_tokenizer_json`]; when a token that is named there is not in the file.
pub fn with_kept(file: &[u8], kept: &Kept) -> Result<Arc<dyn Tokenizer>> {
    build(load::with_kept(file, kept)?)
}

/// Bytes as a vocabulary without merges: token b stands for byte b, and the one after them ends a text if
/// `ended`.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn of_bytes(ended: bool) -> Result<Arc<dyn Tokenizer>> {
    let vocab = (0..=255).map(|b| (alphabet::symbol(b).to_string(), u64::from(b))).collect();
    let added = if ended { vec![Added::special(END_OF_TEXT, 256)] } else { Vec::new() };
    build(Parts { vocab, added, ..Parts::default() })
}

/// The tokenizer that [`Tokenizer::blob`] wrote, with `marks` as tokens and a chat template kept with it.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn talking(blob: &[u8], marks: &[&str], template: String) -> Result<Arc<dyn Tokenizer>> {
    let mut parts = load::tokenizer_json(blob)?;
    for mark in marks {
        let next = parts.next();
        if parts.added.iter().all(|token| token.content != *mark) {
            parts.added.push(Added::special(mark, next));
        }
    }
    parts.kept.chat_template = Some(template);
    build(parts)
}

/// What is kept with a vocabulary, and the tokens that were added to it and of which no text is made,
/// with their numbers.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn besides(blob: &[u8]) -> Result<(Kept, Vec<(TokenId, String)>)> {
    let Parts { kept, added, .. } = load::tokenizer_json(blob)?;
    let special = added.into_iter().filter(|token| token.special);
    Ok((kept, special.map(|token| (token.id as TokenId, token.content)).collect()))
}

/// The special tokens that a tokenizer.json has its template put before a text.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn before_every_text(blob: &[u8]) -> Result<Vec<TokenId>> {
    let post = load::tokenizer_json(blob)?.post_processor;
    let one = std::slice::from_ref(&post);
    let steps = post["processors"].as_array().map_or(one, |steps| steps);
    let mut before = Vec::new();
    for step in steps.iter().filter(|step| step["type"] == "TemplateProcessing") {
        let pieces = step["single"].as_array().into_iter().flatten();
        for piece in pieces.take_while(|piece| piece.get("Sequence").is_none()) {
            let name = piece["SpecialToken"]["id"].as_str().unwrap_or_default();
            let ids = step["special_tokens"][name]["ids"].as_array().into_iter().flatten();
            before.extend(ids.filter_map(|id| TokenId::try_from(id.as_u64()?).ok()));
        }
    }
    Ok(before)
}

/// How the added token of this number is written in a tokenizer.json; none where there is no such.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn added_token(file: &[u8], id: u64) -> Result<Option<String>> {
    let parts = load::tokenizer_json(file)?;
    Ok(parts.added.into_iter().find(|token| token.id == id).map(|token| token.content))
}

/// What a checkpoint holds, as a tokenizer.json and what is next to it; and whether the file is of
/// GPT-2's own kind, which vocab.json and merges.txt would describe as well.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn taken_apart(blob: &[u8]) -> Result<(Vec<u8>, Kept, bool)> {
    let mut parts = load::tokenizer_json(blob)?;
    if !parts.finds_wholes() {
        return Ok((blob.to_vec(), Kept::default(), true));
    }
    let kept = std::mem::take(&mut parts.kept);
    Ok((parts.to_json()?, kept, false))
}

/// GPT-2's two files, vocab.json and merges.txt, of what a checkpoint holds.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn gpt2_files(blob: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let parts = load::tokenizer_json(blob)?;
    parts.check()?;
    Ok(parts.to_gpt2())
}
