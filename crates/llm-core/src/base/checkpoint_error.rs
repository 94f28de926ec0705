//! Why a file is not a checkpoint that this program can use.

use super::{Filling, Message};
use crate::message;
use std::fmt;

/// What is wrong with the content of a checkpoint. Names that come from a file are escaped, so
/// that a message cannot control the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file begins with something else.
    NotACheckpoint,
    /// The file ends before the smallest checkpoint would.
    TooShort {
        /// Bytes there.
        actual: u64,
    },
    /// A version of the format from before the first release.
    OldFormat {
        /// The version in the file.
        found: u32,
    },
    /// A version of the format that this program does not know.
    Version {
        /// The version in the file.
        found: u32,
        /// The newest that is known.
        newest: u32,
    },
    /// The file needs a feature that this program does not know.
    Flags {
        /// The bits that are set.
        flags: u32,
    },
    /// Truncated, or something was appended.
    Length {
        /// Bytes there.
        actual: u64,
        /// Bytes that the header asks for.
        expected: u64,
    },
    /// A number above what any checkpoint may ask for.
    Limit {
        /// Which number.
        what: Message,
        /// Its value.
        value: u64,
        /// The largest possible one.
        limit: u64,
    },
    /// Bytes that are always 0 are not.
    Padding {
        /// What stands before them.
        after: Message,
    },
    /// The header was changed.
    HeaderChecksum,
    /// The header is none.
    HeaderEncoding(#[source] postcard::Error),
    /// More bytes than the header's content needs.
    HeaderRest {
        /// How many.
        extra: usize,
    },
    /// Another kind of model.
    Architecture {
        /// The kind in the file.
        found: String,
        /// The kind that is known.
        known: &'static str,
    },
    /// A setting outside its range, or two that contradict each other.
    Setting {
        /// The setting.
        field: &'static str,
        /// Why it cannot be.
        reason: Message,
    },
    /// There are more or fewer tensors than the model has.
    TensorCount {
        /// Tensors there.
        actual: usize,
        /// Tensors that the settings ask for.
        expected: usize,
    },
    /// A tensor is not what the settings ask for.
    Tensor {
        /// The tensor that belongs there.
        tensor: String,
        /// What differs.
        field: &'static str,
        /// What there is, escaped.
        found: String,
        /// What there should be.
        expected: String,
    },
    /// A tensor was changed.
    TensorChecksum {
        /// Which one.
        tensor: String,
    },
    /// The file was changed somewhere.
    FileChecksum,
    /// The stored tokenizer is not the one that made the tokens.
    TokenizerHash,
    /// Infinity or NaN.
    NotFinite {
        /// Where.
        tensor: String,
    },
    /// A mean of squares below 0.
    Negative {
        /// Where.
        tensor: String,
    },
    /// The attention chosen is not the one the weights were trained with.
    Attention {
        /// What the checkpoint says.
        saved: Message,
        /// What the caller chose.
        given: Message,
    },
}

impl CheckpointError {
    /// The sentence for a person, without its [source](std::error::Error::source).
    pub fn message(&self) -> Message {
        use CheckpointError as E;
        match self {
            E::NotACheckpoint => message!("not a checkpoint of this program"),
            E::TooShort { actual } => {
                message!("file is {} bytes, too short for a checkpoint", actual)
            }
            E::OldFormat { found } => message!(
                "format {}, which is no longer read; the programs of commit ba6595f read it and save \
                 it again as format 2",
                found
            ),
            E::Version { found, newest } => {
                message!("format {}, this program reads {}", found, newest)
            }
            E::Flags { flags } => message!("unknown flags {}", format_args!("{flags:#x}")),
            E::Length { actual, expected } => {
                message!("file is {} bytes, header says {}", actual, expected)
            }
            E::Limit { what, value, limit } => {
                message!("{} is {}, the limit is {}", what, value, limit)
            }
            E::Padding { after } => message!("the padding after {} is not zero", after),
            E::HeaderChecksum => message!("checksum mismatch in the header"),
            E::HeaderEncoding(_) => message!("the header cannot be decoded"),
            E::HeaderRest { extra } => message!("{} bytes left over in the header", extra),
            E::Architecture { found, known } => message!(
                "architecture '{}', this program knows '{}'",
                found.escape_default(),
                known
            ),
            E::Setting { field, reason } => {
                message!("{}: {}", Filling::Words(field.to_string()), reason)
            }
            E::TensorCount { actual, expected } => {
                message!("{} tensors, this model has {}", actual, expected)
            }
            E::Tensor { tensor, field, found, expected } => {
                message!("tensor {}: {} is {}, this model needs {}", tensor, field, found, expected)
            }
            E::TensorChecksum { tensor } => message!("checksum mismatch in tensor {}", tensor),
            E::FileChecksum => message!("checksum mismatch in the file"),
            E::TokenizerHash => {
                message!("the tokenizer's data do not have the BLAKE3 hash that the header names")
            }
            E::NotFinite { tensor } => {
                message!("tensor {} has a value that is not finite", tensor)
            }
            E::Negative { tensor } => {
                message!("tensor {} has a negative value, but it is a mean of squares", tensor)
            }
            E::Attention { saved, given } => {
                message!("made with {}, which {} would read as something else", saved, given)
            }
        }
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}
