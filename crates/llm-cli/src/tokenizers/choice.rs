//! The tokenizer that the flags ask for.

use crate::args::{SourceArgs, TokenizerArg, TokenizerArgs};
use crate::data::small_regular_file;
use crate::error::{CliError, Result};
use crate::looks;
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer, Tokenizer};
use llm_core::{Config, Error};
use llm_formats::bpe;
use llm_formats::data_file::unmarked;
use llm_formats::first_look::Look;
use llm_formats::hugging_face::tokenizer::TOKENIZER;
use llm_formats::tokenizers::with_end_of_text;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A way to a tokenizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every byte is a token.
    Byte,
    /// The characters of the text.
    Char,
    /// BPE, learnt from the text.
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
pub(super) const NO_TEXT: &str = "--data holds token numbers: there is no text to make a vocabulary of; leave --tokenizer out, \
     or give the file of the tokenizer that made them";

impl Choice {
    /// What the flags say, if anything, about data that are said to be token numbers.
    ///
    /// # Errors
    /// As [`Choice::of`], and [`CliError::Usage`] for a tokenizer that only text can give.
    pub fn of_numbers(args: &TokenizerArgs) -> Result<Option<Choice>> {
        let TokenizerArgs { kind, vocab_size, bpe_vocab, bpe_merges: _ } = args;
        match (kind, bpe_vocab) {
            (None, None) => Ok(Some(Choice::Numbers { vocab_size: *vocab_size })),
            // Those of a meta.pkl, if there is one.
            (Some(TokenizerArg::Char), None) => Ok(Some(Choice::Char)),
            (Some(TokenizerArg::Byte | TokenizerArg::Bpe), None) => {
                Err(CliError::Usage(NO_TEXT.into()))
            }
            _ => Choice::of(args),
        }
    }

    /// What the flags say, if anything.
    ///
    /// # Errors
    /// [`CliError::Usage`] for flags that contradict or lack one another, and for what this program
    /// was built without.
    pub fn of(args: &TokenizerArgs) -> Result<Option<Choice>> {
        let TokenizerArgs { kind, vocab_size, bpe_vocab, bpe_merges } = args;
        let usage = |text: String| Err(CliError::Usage(text));
        let pair = match (bpe_vocab, bpe_merges) {
            (None, None) => None,
            (Some(vocab), Some(merges)) => Some((vocab.clone(), merges.clone())),
            (Some(_), None) => {
                return usage("--bpe-vocab needs its merges: add --bpe-merges".into());
            }
            (None, Some(_)) => {
                return usage("--bpe-merges needs its vocabulary: add --bpe-vocab".into());
            }
        };
        let choice = match (kind, pair) {
            (None, None) => None,
            (Some(TokenizerArg::Byte), None) => Some(Choice::Byte),
            (Some(TokenizerArg::Char), None) => Some(Choice::Char),
            (Some(TokenizerArg::Bpe), None) => Some(Choice::Learn { vocab_size: *vocab_size }),
            (Some(TokenizerArg::File(path)), None) => Some(Choice::File(path.clone())),
            (None | Some(TokenizerArg::Bpe), Some((vocab, merges))) => {
                Some(Choice::Pair { vocab, merges })
            }
            (Some(_), Some(_)) => {
                return usage(
                    "--bpe-vocab and --bpe-merges are a tokenizer, --tokenizer names another; \
                     give one of them"
                        .into(),
                );
            }
        };
        if let (Some(size), false) = (vocab_size, matches!(choice, Some(Choice::Learn { .. }))) {
            return usage(format!(
                "--vocab-size {size} is for a vocabulary that is learnt: it needs --tokenizer bpe"
            ));
        }
        if let Some(size) = vocab_size.filter(|size| !(256..=Config::MAX_VOCAB).contains(size)) {
            let most = Config::MAX_VOCAB;
            return usage(format!(
                "--vocab-size {size} is outside 256..={most}: every byte is a token"
            ));
        }
        if !(bpe::AVAILABLE || matches!(choice, None | Some(Choice::Byte | Choice::Char))) {
            return usage(bpe::UNAVAILABLE.to_string());
        }
        Ok(choice)
    }

    /// Which tokenizer a verb is about, unless it is a checkpoint's.
    ///
    /// # Errors
    /// As [`Choice::of`], and [`CliError::Usage`] for one that only a text could give.
    pub fn of_source(args: &SourceArgs) -> Result<Choice> {
        let SourceArgs { load: _, kind, bpe_vocab, bpe_merges } = args;
        let [bpe_vocab, bpe_merges] = [bpe_vocab.clone(), bpe_merges.clone()];
        let flags = TokenizerArgs { kind: kind.clone(), vocab_size: None, bpe_vocab, bpe_merges };
        let which =
            "give --load CHECKPOINT, --tokenizer FILE.json, or --bpe-vocab and --bpe-merges";
        match Choice::of(&flags)? {
            Some(Choice::Char | Choice::Learn { .. } | Choice::Numbers { .. }) => {
                Err(CliError::Usage(format!(
                    "this kind of tokenizer is made of a text, by training; {which}"
                )))
            }
            Some(choice) => Ok(choice),
            None => Err(CliError::Usage(format!("which tokenizer? {which}"))),
        }
    }

    /// Its kind, as checkpoints name it.
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
    /// [`CliError::Input`] for a file that cannot be read, [`CliError::Data`] naming one that is no
    /// tokenizer.
    pub fn load(&self) -> Result<Option<Arc<dyn Tokenizer>>> {
        let read = |path: &Path| match looks::refused(path, &[Look::Json]) {
            Some(other) => Err(other),
            None => small_regular_file(path, MAX_BLOB).map(unmarked),
        };
        let (made, files) = match self {
            Choice::Byte => return Ok(Some(Arc::new(ByteTokenizer))),
            Choice::Char | Choice::Learn { .. } | Choice::Numbers { .. } => return Ok(None),
            Choice::File(path) => {
                // That of a folder, for example of a model of Hugging Face's.
                let path =
                    &Some(path.join(TOKENIZER)).filter(|p| p.is_file()).unwrap_or(path.clone());
                (bpe::from_tokenizer_json(&read(path)?), format!("'{}'", path.display()))
            }
            Choice::Pair { vocab, merges } => {
                let files = format!("'{}' and '{}'", vocab.display(), merges.display());
                (bpe::from_vocab_and_merges(&read(vocab)?, &read(merges)?), files)
            }
        };
        made.map(Some).map_err(|e| match e {
            e @ Error::Memory { .. } => CliError::Memory(e, "the size of the tokenizer"),
            other => CliError::Data(format!("{files}: {other}")),
        })
    }

    /// How this differs from a run's tokenizer, if it does: the two names.
    ///
    /// # Errors
    /// As [`Choice::load`].
    pub fn differs(&self, stored: &dyn Tokenizer) -> Result<Option<(String, String)>> {
        let name = |kind: &str, size: usize| format!("{kind} with {size} tokens");
        let (kind, size) = (stored.name(), stored.vocab_size());
        if kind != self.kind() {
            return Ok(Some((kind.into(), self.kind().into())));
        }
        if let Choice::Learn { vocab_size: Some(wanted) } = self {
            // Fewer than were asked for is what little text gives.
            let least = 256 + usize::from(stored.end_of_text().is_some());
            let differs = size > least.max(*wanted);
            return Ok(differs.then(|| (name(kind, size), name(kind, *wanted))));
        }
        let given = match (self.load()?, stored.end_of_text()) {
            (Some(given), Some(_)) => Some(with_end_of_text(given)?),
            (given, _) => given,
        };
        let given = given.filter(|given| given.blob() != stored.blob());
        Ok(given.map(|given| {
            let other = if given.vocab_size() == size { ", but others" } else { "" };
            (name(kind, size), name(kind, given.vocab_size()) + other)
        }))
    }
}
