//! Why a model or a tokenizer of another program cannot be read or written, as one enum.

use llm_core::base::escape::one_line;
use llm_core::base::{Fill, Message, system_reason, with_causes};
use llm_core::{AttentionSpec, Error, message, says};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// `Result` with [`FormatError`].
pub type Result<T, E = FormatError> = std::result::Result<T, E>;

/// Everything that llm-formats refuses. Messages are lower-case, without a full stop; words out of
/// a file are cut short in them, and their control characters escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// This file, or what is at this path, cannot be used.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        error: Box<FormatError>,
    },
    /// The file cannot be read.
    Io(io::Error),
    /// A folder or a file that has to be there is not, with what to do instead.
    Missing {
        /// Sentence on what is there, and what would be needed.
        advice: Message,
    },
    /// The contents of the file cannot be used.
    Content(Message),
    /// llm-core refuses what the file asks for: a setting outside its range, an attention that does not fit,
    /// a damaged tokenizer.
    Refused(Error),
    /// The tokenizer's files are invalid.
    Tokenizer(Error),
    /// The number of heads is neither in the file nor given.
    HeadsUnknown,
    /// The number of heads in the file is not the given one.
    HeadsDiffer {
        /// Heads in the file.
        found: usize,
        /// Heads that the caller gave.
        given: usize,
    },
    /// The caller's way to make attention does not know this one.
    Attention {
        /// Description in the file.
        spec: Box<AttentionSpec>,
        /// Error of the caller's function.
        source: Error,
    },
    /// The vocabulary is not the model's.
    Vocabulary {
        /// Name of the tokenizer.
        kind: String,
        /// Tokens of the tokenizer.
        tokens: usize,
        /// Rows of the model's table.
        rows: usize,
    },
    /// The output head adds something, which theirs cannot.
    HeadBias,
    /// A piece of the model is not one of theirs.
    Piece {
        /// The piece in words, with its key.
        piece: Message,
        /// The kind of models that has no place for it: GPT-2 or Llama.
        holder: &'static str,
    },
    /// Another program would compute something else with these weights.
    AttentionKind {
        /// Name of the attention, escaped.
        name: String,
    },
    /// There are no files for a tokenizer of this kind.
    TokenizerKind {
        /// Name of the tokenizer, escaped.
        kind: String,
    },
    /// llama.cpp has no place for a piece of the model.
    NotInGguf {
        /// The piece of the model in words, with its key.
        piece: Message,
        /// llama.cpp's name of the nearest kind of model.
        family: &'static str,
    },
    /// llama.cpp has no tokenizer like this one.
    NoGgufTokens {
        /// Name of the tokenizer, escaped.
        kind: String,
        /// Why.
        why: Message,
    },
    /// A stretch of text without white space is cut as a whole, and is too long for that.
    LongRun(Error),
    /// llm-core refuses, for want of memory for example.
    Core(Error),
}

// Messages with all their causes.
says! { FormatError {
    File { path, error } => message!("'{}': {}", path.display(), error.message()),
    Io(e) => message!("cannot be read: {}", system_reason(e)),
    Missing { advice } => advice.clone(),
    Content(why) => why.clone(),
    Refused(e) => with_causes(e),
    Core(e) => with_causes(e),
    Tokenizer(e) => message!(
        "{}; take the tokenizer's files away to import the model without",
        with_causes(e)
    ),
    HeadsUnknown = "it does not say how many attention heads it has",
    HeadsDiffer { found, given } = "it has {} heads, not the {} that were given",
    Attention { spec, source } => message!(
        "it has {} attention with heads: {}, which cannot be made here: {}",
        spec.name.escape_default(),
        spec.n_heads,
        with_causes(source)
    ),
    Vocabulary { kind, tokens, rows } = "{} tokenizer with {} tokens, the model has {}",
    HeadBias = "its output head has a bias (b_lm), which Hugging Face's models cannot hold",
    Piece { piece, holder } = "it has {}, which {} cannot hold",
    AttentionKind { name } = "it has '{}' attention, which Hugging Face's models cannot hold",
    TokenizerKind { kind } = "a {} tokenizer cannot be written as Hugging Face's files",
    NotInGguf { piece, family } = "it has {}, which a GGUF file for {} cannot hold",
    NoGgufTokens { kind, why } = "a {} tokenizer cannot be written as GGUF: {}",
    LongRun(e) => message!("a stretch of text without white space is too long: {}", with_causes(e)),
} }

impl FormatError {
    /// An error about contents that cannot be used.
    pub(crate) fn content(why: impl Into<Message>) -> FormatError {
        FormatError::Content(why.into())
    }

    /// The error about the file at `path`, unless it names one already.
    pub(crate) fn at(self, path: &Path) -> FormatError {
        match self {
            named @ FormatError::File { .. } => named,
            error => FormatError::File { path: path.into(), error: Box::new(error) },
        }
    }
}

/// Refuses contents that cannot be used.
pub(crate) fn refuse<T>(why: Message) -> Result<T> {
    Err(FormatError::Content(why))
}

/// The error about a file that is shorter than its contents say.
pub(crate) fn too_short() -> FormatError {
    FormatError::content(message!("the file ends too early"))
}

impl From<Error> for FormatError {
    fn from(e: Error) -> FormatError {
        FormatError::Core(e)
    }
}

impl From<io::Error> for FormatError {
    fn from(e: io::Error) -> FormatError {
        match e.kind() {
            // The length was asked for before: the file was cut meanwhile.
            ErrorKind::UnexpectedEof => too_short(),
            _ => FormatError::Io(e),
        }
    }
}

/// What a reader of JSON says, as words of a message.
pub(crate) fn said(e: &dyn fmt::Display) -> Message {
    Message::words(shown(&e.to_string()))
}

/// The error about a setting of this name whose value is another than is `supported`.
pub(crate) fn unsupported(name: &str, found: impl Fill, supported: impl Fill) -> FormatError {
    FormatError::content(message!("{} is {}, supported: {}", name, found, supported))
}

/// A name or message from a file, short and without control characters.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => one_line(&text[..end]) + "..",
        None => one_line(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_files_are_short_and_harmless() {
        assert_eq!(shown("a\nb\x1b[31m\u{202e}x"), "a b\\x1B[31m\\xE2\\x80\\xAEx");
        assert_eq!(shown(&"猫".repeat(121)), "猫".repeat(120) + "..");
    }

    #[test]
    fn a_path_is_named_once() {
        let error = FormatError::content("odd").at(Path::new("inner")).at(Path::new("outer"));
        assert_eq!(error.to_string(), "'inner': odd");
        let cut = io::Error::from(ErrorKind::UnexpectedEof);
        assert_eq!(FormatError::from(cut).to_string(), "the file ends too early");
        let memory = Error::Memory { needed: 2, available: 1 };
        assert!(FormatError::from(memory).to_string().starts_with("needs about 2 B"));
    }
}
