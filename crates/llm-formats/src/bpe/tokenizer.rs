//! Byte-level BPE as a [`Tokenizer`]: words, merged by the library, and bytes that are no text.

use super::about::{NAME, memory_of};
use super::kind::{Words, refuse};
use super::parts::{Checked, Parts};
use super::split::{self, Splitter};
use super::wholes::{Part, Wholes};
use crate::alphabet;
use llm_core::base::memory;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, Result, TokenId, message};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

/// Words longer than this are not merged before there is memory for it.
const LONG_WORD: usize = 1 << 20;
/// Bytes that the library takes for each byte of a word, about.
const WORD_MEMORY: u64 = 200;
/// Texts longer than this are not cut before there is memory for it.
const LONG_TEXT: usize = 1 << 16;
/// Different words of a piece that are remembered.
const MOST_WORDS: usize = 1 << 16;

/// Byte-level BPE.
pub(super) struct Bpe {
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
    /// The tokenizer.json that says the same.
    blob: Vec<u8>,
    end_of_text: Option<TokenId>,
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self as &dyn Tokenizer).fmt(f)
    }
}

impl Bpe {
    pub(super) fn new(parts: Parts) -> Result<Bpe> {
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
