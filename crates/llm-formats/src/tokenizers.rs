//! Which tokenizers there are: llm-core's and ours, by the kind that a checkpoint stores.

use crate::bpe;
use crate::error::{FormatError, Result};
use crate::kept::{Kept, MARKS, chatml};
use llm_core::checkpoint::TokenizerSpec;
use llm_core::tokenizer::{
    self, ByteTokenizer, CharTokenizer, END_OF_TEXT, PaddedTokenizer, Tokenizer, WithEndOfText,
};
use llm_core::{TokenId, message};
use std::sync::Arc;

/// The tokenizer that a checkpoint names.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for an unknown kind, or one that is damaged.
pub fn from_spec(spec: &TokenizerSpec) -> llm_core::Result<Arc<dyn Tokenizer>> {
    match &*spec.kind {
        bpe::NAME => bpe::from_tokenizer_json(&spec.blob),
        kind => tokenizer::from_spec(kind, &spec.blob),
    }
}

/// The tokenizer whose tokens are these characters and bytes, if it can be.
pub(crate) fn characters(units: impl Iterator<Item = Vec<u8>>) -> Option<CharTokenizer> {
    let mut blob = Vec::new();
    for unit in units {
        blob.push(u8::try_from(unit.len()).ok()?);
        blob.extend(unit);
    }
    CharTokenizer::from_blob(&blob).ok()
}

/// The tokenizer for a model with `rows` tokens. A table may have more rows than
/// BPE or bytes have tokens, for a rounder number; characters are counted exactly.
///
/// # Errors
/// [`FormatError::Vocabulary`] with both numbers.
pub fn fit(tokenizer: Arc<dyn Tokenizer>, rows: usize) -> Result<Arc<dyn Tokenizer>> {
    let (name, tokens) = (tokenizer.name(), tokenizer.vocab_size());
    let padded = tokens < rows && matches!(name, ByteTokenizer::NAME | bpe::NAME);
    if tokens == rows || padded {
        return Ok(PaddedTokenizer::pad(tokenizer, rows));
    }
    Err(FormatError::Vocabulary { kind: name.into(), tokens, rows })
}

/// The tokenizer with one more token, which ends a text; itself when it has one. A padded one
/// loses its padding.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for numbers, which stand for no text.
pub fn with_end_of_text(tokenizer: Arc<dyn Tokenizer>) -> llm_core::Result<Arc<dyn Tokenizer>> {
    match tokenizer.name() {
        _ if tokenizer.end_of_text().is_some() => Ok(tokenizer),
        bpe::NAME => bpe::with_end_of_text(&tokenizer.blob()),
        kind => WithEndOfText::extend(tokenizer::from_spec(kind, &tokenizer.blob())?),
    }
}

/// The tokenizer for a model that learns conversations: how they are written down is kept with them, as
/// `template` or, where the model has none, as ChatML. Bytes become a BPE without merges, which has the same
/// numbers. With `marked` the marks of turns are tokens too, as a new vocabulary has room for.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for characters and numbers, which can hold no template.
pub fn talking(
    tokenizer: Arc<dyn Tokenizer>,
    template: Option<String>,
    marked: bool,
) -> llm_core::Result<Arc<dyn Tokenizer>> {
    let besides = Besides::of(&*tokenizer)?;
    if template.is_none() && besides.kept.chat_template.is_some() {
        return Ok(tokenizer);
    }
    let blob = match tokenizer.name() {
        ByteTokenizer::NAME => bpe::of_bytes(tokenizer.end_of_text().is_some())?.blob(),
        bpe::NAME => tokenizer.blob(),
        kind => {
            let why = message!(
                "it has no room for a chat template, the way in which conversations are written \
                 down; byte and bpe have"
            );
            return Err(llm_core::Error::tokenizer(kind, why));
        }
    };
    let usual =
        || chatml(marked || besides.has_mark(), tokenizer.end_of_text().is_some()).to_string();
    let marks: &[&str] = if marked { &MARKS } else { &[] };
    let made = bpe::talking(&blob, marks, template.unwrap_or_else(usual))?;
    let rows = tokenizer.vocab_size().max(made.vocab_size());
    Ok(PaddedTokenizer::pad(made, rows))
}

/// What a tokenizer has besides its vocabulary.
#[derive(Debug, Default)]
pub struct Besides {
    /// The first and last token and a chat template, where they are not the usual ones.
    pub kept: Kept,
    /// The special tokens with their texts: the one that ends a text, marks of turns and others of which no
    /// text is made.
    pub special: Vec<(TokenId, String)>,
}

impl Besides {
    /// What this tokenizer has.
    ///
    /// # Errors
    /// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
    pub fn of(tokenizer: &dyn Tokenizer) -> llm_core::Result<Besides> {
        if tokenizer.name() == bpe::NAME {
            let (kept, special) = bpe::besides(&tokenizer.blob())?;
            return Ok(Besides { kept, special });
        }
        let special = tokenizer.end_of_text().map(|end| (end, END_OF_TEXT.into()));
        Ok(Besides { special: special.into_iter().collect(), ..Besides::default() })
    }

    /// Whether the mark that ends a turn of ChatML is a token.
    pub(crate) fn has_mark(&self) -> bool {
        self.special.iter().any(|(_, text)| text == MARKS[1])
    }
}

/// The kind that was asked for: bytes stay bytes where conversations made a BPE without merges of them.
pub fn kind(tokenizer: &dyn Tokenizer) -> &str {
    let is_unit = |byte: u8| tokenizer.bytes_of(byte.into()) == [byte];
    let special = || Besides::of(tokenizer).map_or(0, |besides| besides.special.len());
    let all = 256 + special();
    let is_bytes = tokenizer.name() == bpe::NAME
        && (0..=255).all(is_unit)
        && (all..tokenizer.vocab_size()).all(|id| tokenizer.bytes_of(id as TokenId).is_empty());
    if is_bytes { ByteTokenizer::NAME } else { tokenizer.name() }
}

/// The first and last token and the chat template that belong to a tokenizer; none of one that comes from
/// nowhere else.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
pub fn kept(tokenizer: &dyn Tokenizer) -> llm_core::Result<Kept> {
    Ok(Besides::of(tokenizer)?.kept)
}

/// The token that begins a text: the one that ends one, unless another is kept.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
pub fn begin_of_text(tokenizer: &dyn Tokenizer) -> llm_core::Result<Option<TokenId>> {
    let Some(bos) = kept(tokenizer)?.bos else {
        return Ok(tokenizer.end_of_text());
    };
    let all = 0..tokenizer.vocab_size() as TokenId;
    Ok(all.into_iter().find(|&id| tokenizer.bytes_of(id) == bos.as_bytes()))
}

/// A control character of which neither texts nor its letter in GPT-2's alphabet make use.
pub(crate) const BEGINNING: u8 = 0x14;

/// Whether [`BEGINNING`] begins a text in an export: of bytes, where no token ends a text.
pub(crate) fn begins_with_byte(tokenizer: &dyn Tokenizer) -> bool {
    let has_bytes = [ByteTokenizer::NAME, bpe::NAME].contains(&tokenizer.name());
    tokenizer.end_of_text().is_none() && has_bytes
}

/// The token that programs which judge an export put before a text that nothing stands before: its
/// `bos_token`. Characters without a token that ends a text have none.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
pub fn before_first_text(tokenizer: &dyn Tokenizer) -> llm_core::Result<Option<TokenId>> {
    if begins_with_byte(tokenizer) {
        return Ok(tokenizer.encode(&[BEGINNING])?.first().copied());
    }
    begin_of_text(tokenizer)
}

/// The tokens that transformers puts before every text, as the tokenizer's own file says: one in Llama 3's.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
pub fn before_every_text(tokenizer: &dyn Tokenizer) -> llm_core::Result<Vec<TokenId>> {
    match tokenizer.name() {
        bpe::NAME => bpe::before_every_text(&tokenizer.blob()),
        _ => Ok(Vec::new()),
    }
}

/// What a token is called: `byte` where it is one.
pub fn unit(tokenizer: &dyn Tokenizer) -> &'static str {
    if is_bytes(tokenizer) { "byte" } else { "token" }
}

/// Whether every byte is a token.
pub fn is_bytes(tokenizer: &dyn Tokenizer) -> bool {
    tokenizer.name() == ByteTokenizer::NAME
}

/// Whether a tokenizer of this kind can read a text part by part, so that it need not fit into
/// memory.
pub fn reads_in_parts(kind: &str) -> bool {
    [ByteTokenizer::NAME, CharTokenizer::NAME, bpe::NAME].contains(&kind)
}
