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

mod kind;
#[cfg(test)]
mod kinds_tests;
mod load;
mod parts;
mod split;
#[cfg(test)]
mod tests;
mod train;
mod wholes;

pub use train::{Learning, learn};

use crate::alphabet;
use crate::kept::Kept;
use kind::Words;
use llm_core::base::{Message, memory};
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Error, Result, TokenId, message};
use parts::{Added, Checked, Parts, refuse};
use rayon::prelude::*;
use split::Splitter;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};
use wholes::{Part, Wholes};

/// Its name in checkpoints and flags.
pub const NAME: &str = "bpe";

/// Whether it is in this program.
pub const AVAILABLE: bool = true;
/// Why not.
pub const UNAVAILABLE: Message = Message::new("", Vec::new());

/// Words longer than this are not merged before there is memory for it.
const LONG_WORD: usize = 1 << 20;
/// What the library takes for each byte of a word, about.
const WORD_MEMORY: u64 = 200;
/// Texts longer than this are not cut before there is memory for it.
const LONG_TEXT: usize = 1 << 16;
/// What a byte of a text takes while it is cut: a token at most, twice, in a list that doubles ..
const TEXT_MEMORY: u64 = 12;
/// .. and what cutting takes in any case: the words that each thread remembers.
const AT_LEAST: u64 = 16 << 20;

/// The memory that cutting a text of n bytes takes, at most.
pub fn memory_of(len: usize) -> u64 {
    (len as u64).saturating_mul(TEXT_MEMORY).saturating_add(AT_LEAST)
}

/// Different words of a piece that are remembered.
const MOST_WORDS: usize = 1 << 16;

/// The tokenizer of a tokenizer.json, which is also what a checkpoint holds.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for what is no byte-level BPE of GPT-2's kind, and for a
/// vocabulary that lacks a byte or a merge's parts, has numbers twice or left out, or is too large.
pub fn from_tokenizer_json(bytes: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    Ok(Arc::new(Bpe::new(load::tokenizer_json(bytes)?)?))
}

/// The tokenizer of a vocabulary (GPT-2's vocab.json, or one token a line) and its merges (one pair
/// a line, in order, below a line that begins with `#version`).
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn from_vocab_and_merges(vocab: &[u8], merges: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    Ok(Arc::new(Bpe::new(load::vocab_and_merges(vocab, merges)?)?))
}

/// The same with tokens that were added to it, as older programs write them: a map of texts to
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
    Ok(Arc::new(Bpe::new(parts)?))
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
    Ok(Arc::new(Bpe::new(parts)?))
}

/// The tokenizer of a tokenizer.json with what is next to it.
///
/// # Errors
/// As [`from_tokenizer_json`]; when a token that is named there is not in the file.
pub fn with_kept(file: &[u8], kept: &Kept) -> Result<Arc<dyn Tokenizer>> {
    // Whether added tokens are found in texts depends on both, so the file is read with it.
    let mut whole: serde_json::Value =
        serde_json::from_slice(file).map_err(|e| refuse(format!("not a tokenizer.json: {e}")))?;
    if let (false, Some(map)) = (kept.is_empty(), whole.as_object_mut()) {
        let kept = serde_json::to_value(kept).map_err(|e| refuse(e.to_string()))?;
        map.insert("kept".into(), kept);
        let file = serde_json::to_vec(&whole).map_err(|e| refuse(e.to_string()))?;
        return from_tokenizer_json(&file);
    }
    from_tokenizer_json(file)
}

/// Bytes as a vocabulary without merges: token b stands for byte b, and the one after them ends a text if
/// `ended`.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn of_bytes(ended: bool) -> Result<Arc<dyn Tokenizer>> {
    let vocab = (0..=255).map(|b| (alphabet::symbol(b).to_string(), u64::from(b))).collect();
    let added = if ended { vec![Added::special(END_OF_TEXT, 256)] } else { Vec::new() };
    Ok(Arc::new(Bpe::new(Parts { vocab, added, ..Parts::default() })?))
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
    Ok(Arc::new(Bpe::new(parts)?))
}

/// The tokens that were added to a vocabulary and of which no text is made, with their numbers.
///
/// # Errors
/// As [`from_tokenizer_json`].
pub fn special_tokens(blob: &[u8]) -> Result<Vec<(TokenId, String)>> {
    let added = load::tokenizer_json(blob)?.added.into_iter().filter(|token| token.special);
    Ok(added.map(|token| (token.id as TokenId, token.content)).collect())
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
    parts.to_gpt2()
}

/// Byte-level BPE.
pub struct Bpe {
    model: BPE,
    splitter: &'static Splitter,
    words: Words,
    /// Tokens that are found in texts; none are by GPT-2's own kind.
    wholes: Option<Wholes>,
    /// The bytes of all tokens.
    bytes: Vec<u8>,
    /// Token i is `bytes[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    /// The token of each byte; none for some that hardly any text has.
    singles: [Option<TokenId>; 256],
    /// Its tokenizer.json.
    blob: Vec<u8>,
    end_of_text: Option<TokenId>,
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self as &dyn Tokenizer).fmt(f)
    }
}

impl Bpe {
    fn new(parts: Parts) -> Result<Bpe> {
        let Checked { bytes: tokens, singles, ordinary } = parts.check()?;
        let end_of_text = parts.end().map(|id| id as TokenId); // one of those numbered
        let wholes = parts.finds_wholes().then(|| Wholes::new(&parts.added, parts.nfc));
        let (wholes, words) = (wholes.transpose()?, parts.words);
        let blob = parts.to_json()?;
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        for token in tokens {
            bytes.extend(token);
            starts.push(bytes.len() as u32); // less than the blob, at most 64 MiB
        }
        let merges = parts.merges.into_iter().map(|merge| merge.parts).collect();
        // Words are remembered here, for as long as a piece takes; the library's memory would stay.
        let model = BPE::builder()
            .vocab_and_merges(ordinary.into_iter().collect::<Vocab>(), merges)
            .ignore_merges(parts.ignore_merges)
            .cache_capacity(0)
            .build()
            .map_err(|e| refuse(e.to_string()))?;
        let splitter = Splitter::get(words)?;
        Ok(Bpe { model, splitter, words, wholes, bytes, starts, singles, blob, end_of_text })
    }

    /// Refuses a text with a byte that no token has.
    fn check(&self, text: &[u8]) -> Result<()> {
        let lacks = |b: u8| self.singles[usize::from(b)].is_none();
        if !(0..=255).any(lacks) {
            return Ok(());
        }
        match text.iter().position(|&b| lacks(b)) {
            None => Ok(()),
            Some(at) => {
                let unit = message!("the byte {}", format_args!("\\x{:02X}", text[at]));
                Err(Error::UnknownUnit { unit, position: at as u64 })
            }
        }
    }

    /// The tokens of a piece of text.
    fn encode_piece(&self, splitter: &Splitter, piece: &[u8]) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::with_capacity(piece.len() / 3);
        let mut known = HashMap::new();
        for chunk in piece.utf8_chunks() {
            match &self.wholes {
                None => self.encode_words(splitter, chunk.valid(), &mut known, &mut tokens)?,
                Some(wholes) => wholes.parts(chunk.valid(), &mut |part| match part {
                    Part::Whole(token) => {
                        tokens.push(token);
                        Ok(())
                    }
                    Part::Text(Cow::Borrowed(text)) => {
                        self.encode_words(splitter, text, &mut known, &mut tokens)
                    }
                    Part::Text(Cow::Owned(text)) => {
                        // Its words do not live on.
                        self.encode_words(splitter, &text, &mut HashMap::new(), &mut tokens)
                    }
                })?,
            }
            tokens.extend(chunk.invalid().iter().filter_map(|&b| self.singles[usize::from(b)]));
        }
        Ok(tokens)
    }

    /// The tokens of a text's words; those of words that are `known` are copied.
    fn encode_words<'t>(
        &self,
        splitter: &Splitter,
        text: &'t str,
        known: &mut HashMap<&'t str, Range<usize>>,
        tokens: &mut Vec<TokenId>,
    ) -> Result<()> {
        for word in splitter.words(text) {
            if let Some(before) = known.get(word) {
                tokens.extend_from_within(before.clone());
                continue;
            }
            let start = tokens.len();
            self.encode_word(word, tokens)?;
            if known.len() < MOST_WORDS {
                known.insert(word, start..tokens.len());
            }
        }
        Ok(())
    }

    fn encode_word(&self, word: &str, tokens: &mut Vec<TokenId>) -> Result<()> {
        if word.len() > LONG_WORD {
            memory::require((word.len() as u64).saturating_mul(WORD_MEMORY))?;
        }
        let merged = self.model.tokenize(&alphabet::symbols(word.as_bytes()));
        tokens.extend(merged.map_err(|e| refuse(e.to_string()))?.iter().map(|token| token.id));
        Ok(())
    }
}

impl Tokenizer for Bpe {
    fn name(&self) -> &str {
        NAME
    }

    fn vocab_size(&self) -> usize {
        self.starts.len() - 1
    }

    /// The merged tokens of all words, and a token for each byte that is no text.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room for the tokens of a long text, or for a word of many
    /// megabytes; [`Error::UnknownUnit`] for a byte that the vocabulary lacks.
    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        self.check(text)?;
        if text.len() > LONG_TEXT {
            memory::require(memory_of(text.len()))?;
        }
        let pieces: Vec<&[u8]> = split::pieces(text, self.words).collect();
        match pieces[..] {
            [] => Ok(Vec::new()),
            [one] => self.encode_piece(self.splitter, one),
            _ => {
                let own = || self.splitter.clone();
                let pieces = pieces.into_par_iter();
                let tokens =
                    pieces.map_init(own, |splitter, piece| self.encode_piece(splitter, piece));
                Ok(tokens.collect::<Result<Vec<_>>>()?.concat())
            }
        }
    }

    fn bytes_of(&self, token: TokenId) -> &[u8] {
        match self.starts.get(token as usize..).unwrap_or_default() {
            [start, end, ..] => &self.bytes[*start as usize..*end as usize],
            _ => &[],
        }
    }

    fn blob(&self) -> Vec<u8> {
        self.blob.clone()
    }

    fn end_of_text(&self) -> Option<TokenId> {
        self.end_of_text
    }

    fn last_cut(&self, text: &[u8]) -> Option<usize> {
        split::last_cut(text, self.words)
    }
}
