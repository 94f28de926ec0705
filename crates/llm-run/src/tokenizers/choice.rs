//! The tokenizer that the flags ask for.

use crate::error::{Result, RunError, foreign, usage};
use llm_core::base::{Message, with_causes};
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer, Tokenizer};
use llm_core::{Config, Error, message};
use llm_formats::bpe;
use llm_formats::files::{small_regular_file, unmarked};
use llm_formats::first_look::Look;
use llm_formats::hugging_face::tokenizer::TOKENIZER;
use llm_formats::kept::MARKS;
use llm_formats::tokenizers::{self, kept, kind, with_end_of_text};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a run is given about its tokenizer.
#[derive(Clone, Debug, Default)]
pub struct TokenizerOptions {
    /// Which one.
    pub kind: Option<TokenizerKind>,
    /// Vocabulary size of a trained one; of token numbers V.
    pub vocab_size: Option<usize>,
    /// The vocabulary of a BPE, with its merges.
    pub bpe_vocab: Option<PathBuf>,
    /// GPT-2's merges.txt.
    pub bpe_merges: Option<PathBuf>,
}

/// A tokenizer by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Every byte is a token.
    Byte,
    /// The characters of the text.
    Char,
    /// BPE, trained on the text unless its files are given.
    Bpe,
    /// A tokenizer.json.
    File(PathBuf),
}

/// A way to a tokenizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every byte is a token.
    Byte,
    /// The characters of the text.
    Char,
    /// BPE, trained on the text.
    Learn {
        /// Number of tokens, if it was said.
        vocab_size: Option<usize>,
    },
    /// The token numbers that the data are.
    Numbers {
        /// V, if it was said; else the largest and one more.
        vocab_size: Option<usize>,
    },
    /// A tokenizer.json.
    File(PathBuf),
    /// A BPE vocabulary and its merges.
    Pair {
        /// The vocabulary.
        vocab: PathBuf,
        /// The merges.
        merges: PathBuf,
    },
}

/// Said where a vocabulary cannot be made of token numbers.
pub(super) fn no_text() -> Message {
    message!(
        "{data} holds token numbers: there is no text to make a vocabulary of; leave {tokenizer} out, \
         or give the file of the tokenizer that made them"
    )
}

impl Choice {
    /// What the flags say, if anything, about data that are said to be token numbers.
    ///
    /// # Errors
    /// As [`Choice::of`], and [`RunError::Usage`] for a tokenizer that only text can give.
    pub fn of_numbers(options: &TokenizerOptions) -> Result<Option<Choice>> {
        let TokenizerOptions { kind, vocab_size, bpe_vocab, bpe_merges: _ } = options;
        match (kind, bpe_vocab) {
            (None, None) => Ok(Some(Choice::Numbers { vocab_size: *vocab_size })),
            // Those of a meta.pkl, if there is one.
            (Some(TokenizerKind::Char), None) => Ok(Some(Choice::Char)),
            (Some(TokenizerKind::Byte | TokenizerKind::Bpe), None) => usage(no_text()),
            _ => Choice::of(options),
        }
    }

    /// What the flags say, if anything.
    ///
    /// # Errors
    /// [`RunError::Usage`] for flags that contradict or lack one another, and for what this program
    /// was built without.
    pub fn of(options: &TokenizerOptions) -> Result<Option<Choice>> {
        let TokenizerOptions { kind, vocab_size, bpe_vocab, bpe_merges } = options;
        let pair = match (bpe_vocab, bpe_merges) {
            (None, None) => None,
            (Some(vocab), Some(merges)) => Some((vocab.clone(), merges.clone())),
            (Some(_), None) => {
                return usage(message!("{bpe_vocab} needs its merges: add {bpe_merges}"));
            }
            (None, Some(_)) => {
                return usage(message!("{bpe_merges} needs its vocabulary: add {bpe_vocab}"));
            }
        };
        let choice = match (kind, pair) {
            (None, None) => None,
            (Some(TokenizerKind::Byte), None) => Some(Choice::Byte),
            (Some(TokenizerKind::Char), None) => Some(Choice::Char),
            (Some(TokenizerKind::Bpe), None) => Some(Choice::Learn { vocab_size: *vocab_size }),
            (Some(TokenizerKind::File(path)), None) => Some(Choice::File(path.clone())),
            (None | Some(TokenizerKind::Bpe), Some((vocab, merges))) => {
                Some(Choice::Pair { vocab, merges })
            }
            (Some(_), Some(_)) => {
                return usage(message!(
                    "{bpe_vocab} and {bpe_merges} are a tokenizer, {tokenizer} names another; \
                     give one of them"
                ));
            }
        };
        if let (Some(size), false) = (vocab_size, matches!(choice, Some(Choice::Learn { .. }))) {
            return usage(message!(
                "{vocab_size} {} is for a vocabulary that is learned: it needs {tokenizer} bpe",
                size
            ));
        }
        if let Some(size) = vocab_size.filter(|size| !(256..=Config::MAX_VOCAB).contains(size)) {
            let most = Config::MAX_VOCAB;
            return usage(message!(
                "{vocab_size} {} is outside 256..={}: every byte is a token",
                size,
                most
            ));
        }
        if !(bpe::AVAILABLE || matches!(choice, None | Some(Choice::Byte | Choice::Char))) {
            return usage(bpe::UNAVAILABLE);
        }
        Ok(choice)
    }

    /// The kind, as checkpoints name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Choice::Byte => ByteTokenizer::NAME,
            Choice::Char => CharTokenizer::NAME,
            Choice::Numbers { .. } => IdsTokenizer::NAME,
            Choice::Learn { .. } | Choice::File(_) | Choice::Pair { .. } => bpe::NAME,
        }
    }

    /// The one in the files that it names, or the one that needs nothing.
    ///
    /// # Errors
    /// [`RunError::Input`] for a file that cannot be read, [`RunError::Data`] naming one that is no
    /// tokenizer.
    pub fn load(&self) -> Result<Option<Arc<dyn Tokenizer>>> {
        let read = |path: &Path| match foreign(path, &[Look::Json]) {
            Some(other) => Err(other),
            None => Ok(unmarked(small_regular_file(path, MAX_BLOB)?)),
        };
        let (made, files) = match self {
            Choice::Byte => return Ok(Some(Arc::new(ByteTokenizer))),
            Choice::Char | Choice::Learn { .. } | Choice::Numbers { .. } => return Ok(None),
            Choice::File(path) => {
                // That of a folder, for example of a model of Hugging Face's.
                let path =
                    &Some(path.join(TOKENIZER)).filter(|p| p.is_file()).unwrap_or(path.clone());
                (bpe::from_tokenizer_json(&read(path)?), message!("'{}'", path.display()))
            }
            Choice::Pair { vocab, merges } => {
                let files = message!("'{}' and '{}'", vocab.display(), merges.display());
                (bpe::from_vocab_and_merges(&read(vocab)?, &read(merges)?), files)
            }
        };
        made.map(Some).map_err(|e| match e {
            e @ Error::Memory { .. } => RunError::Memory(e, message!("the size of the tokenizer")),
            other => RunError::Data(message!("{}: {}", files, with_causes(&other))),
        })
    }

    /// The tokenizer of this choice for a model that learns conversations: a vocabulary of the run's own has
    /// the marks of turns.
    ///
    /// # Errors
    /// As [`tokenizers::talking`].
    pub fn talking(&self, tokenizer: Arc<dyn Tokenizer>) -> llm_core::Result<Arc<dyn Tokenizer>> {
        let is_new = matches!(self, Choice::Byte | Choice::Learn { .. });
        tokenizers::talking(tokenizer, None, is_new)
    }

    /// How this differs from a run's tokenizer, if it does: the two names.
    ///
    /// # Errors
    /// As [`Choice::load`].
    pub fn differs(&self, stored: &dyn Tokenizer) -> Result<Option<(Message, Message)>> {
        let name = |kind: &str, size: usize| message!("{} with {} tokens", kind, size);
        let talks = kept(stored)?.chat_template.is_some();
        let (kind, size) = (kind(stored), stored.vocab_size());
        if kind != self.kind() && stored.name() != self.kind() {
            return Ok(Some((kind.to_string().into(), self.kind().to_string().into())));
        }
        if let Choice::Learn { vocab_size: Some(wanted) } = self {
            // Fewer than were asked for is what little text gives.
            let marks = if talks { MARKS.len() } else { 0 };
            let least = 256 + usize::from(stored.end_of_text().is_some()) + marks;
            let differs = size > least.max(*wanted);
            return Ok(differs.then(|| (name(kind, size), name(kind, *wanted))));
        }
        let ends = stored.end_of_text().is_some();
        let given = self.load()?.map(|of| if ends { with_end_of_text(of) } else { Ok(of) });
        let given = given.map(|of| if talks { self.talking(of?) } else { of }).transpose()?;
        let given = given.filter(|given| given.blob() != stored.blob());
        Ok(given.map(|given| {
            let other = match given.vocab_size() {
                same if same == size => message!("{}, but others", name(kind, same)),
                other => name(kind, other),
            };
            (name(kind, size), other)
        }))
    }
}
