//! Why a file is not a checkpoint that this program can use.

use super::{Filling, Message};
use crate::{message, says};
use std::path::PathBuf;

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
        /// The name of the number.
        what: Message,
        /// The value in the file.
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
    /// The header cannot be decoded.
    HeaderEncoding(#[source] postcard::Error),
    /// More bytes than the header's content needs.
    HeaderRest {
        /// Bytes left over.
        extra: usize,
    },
    /// The kind of model is unknown.
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
        /// The tensor's name.
        tensor: String,
    },
    /// The file was changed somewhere.
    FileChecksum,
    /// The stored tokenizer is not the one that made the tokens.
    TokenizerHash,
    /// Infinity or NaN.
    NotFinite {
        /// The tensor with that value.
        tensor: String,
    },
    /// A mean of squares below 0.
    Negative {
        /// The tensor with that value.
        tensor: String,
    },
    /// The weights under an adapter are not there.
    Base {
        /// The beginning of their BLAKE3.
        blake3: String,
        /// Where they were looked for.
        file: PathBuf,
        /// Why they are not those.
        why: Message,
    },
    /// The attention chosen is not the one the weights were trained with.
    Attention {
        /// What the checkpoint says.
        saved: Message,
        /// What the caller chose.
        given: Message,
    },
}

// Without the [source](std::error::Error::source).
says! { CheckpointError {
    NotACheckpoint = "not a checkpoint of this program",
    TooShort { actual } = "file is {} bytes, too short for a checkpoint",
    OldFormat { found } =
        "format {}, which is no longer read; the programs of commit ba6595f read it and save \
         it again as format 2",
    Version { found, newest } = "format {}, this program reads {}",
    Flags { flags } => message!("unknown flags {}", format_args!("{flags:#x}")),
    Length { actual, expected } = "file is {} bytes, header says {}",
    Limit { what, value, limit } = "{} is {}, the limit is {}",
    Padding { after } = "the padding after {} is not zero",
    HeaderChecksum = "checksum mismatch in the header",
    HeaderEncoding = "the header cannot be decoded",
    HeaderRest { extra } = "{} bytes left over in the header",
    Architecture { found, known } =>
        message!("architecture '{}', this program knows '{}'", found.escape_default(), known),
    Setting { field, reason } => message!("{}: {}", Filling::Words(field.to_string()), reason),
    TensorCount { actual, expected } = "{} tensors, this model has {}",
    Tensor { tensor, field, found, expected } = "tensor {}: {} is {}, this model needs {}",
    TensorChecksum { tensor } = "checksum mismatch in tensor {}",
    FileChecksum = "checksum mismatch in the file",
    TokenizerHash = "the tokenizer's data do not have the BLAKE3 hash that the header names",
    NotFinite { tensor } = "tensor {} has a value that is not finite",
    Negative { tensor } = "tensor {} has a negative value, but it is a mean of squares",
    Base { blake3, file, why } => message!(
        "an adapter of the weights with BLAKE3 {}..; '{}': {}", blake3, file.display(), why
    ),
    Attention { saved, given } = "made with {}, which {} would read as something else",
} }
