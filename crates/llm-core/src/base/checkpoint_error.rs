//! Why a file is not a checkpoint that this program can use.

use super::Message;

/// What is wrong with the content of a checkpoint. Names that come from a file are escaped, so
/// that a message cannot control the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file begins with something else.
    #[error("not a checkpoint of this program")]
    NotACheckpoint,
    /// The file ends before the smallest checkpoint would.
    #[error("file is {actual} bytes, too short for a checkpoint")]
    TooShort {
        /// Bytes there.
        actual: u64,
    },
    /// A version of the format from before the first release.
    #[error(
        "format {found}, which is no longer read; the programs of commit ba6595f read it and save \
         it again as format 2"
    )]
    OldFormat {
        /// The version in the file.
        found: u32,
    },
    /// A version of the format that this program does not know.
    #[error("format {found}, this program reads {newest}")]
    Version {
        /// The version in the file.
        found: u32,
        /// The newest that is known.
        newest: u32,
    },
    /// The file needs a feature that this program does not know.
    #[error("unknown flags {flags:#x}")]
    Flags {
        /// The bits that are set.
        flags: u32,
    },
    /// Truncated, or something was appended.
    #[error("file is {actual} bytes, header says {expected}")]
    Length {
        /// Bytes there.
        actual: u64,
        /// Bytes that the header asks for.
        expected: u64,
    },
    /// A number above what any checkpoint may ask for.
    #[error("{what} is {value}, the limit is {limit}")]
    Limit {
        /// Which number.
        what: Message,
        /// Its value.
        value: u64,
        /// The largest possible one.
        limit: u64,
    },
    /// Bytes that are always 0 are not.
    #[error("the padding after {after} is not zero")]
    Padding {
        /// What stands before them.
        after: Message,
    },
    /// The header was changed.
    #[error("checksum mismatch in the header")]
    HeaderChecksum,
    /// The header is none.
    #[error("the header cannot be decoded")]
    HeaderEncoding(#[source] postcard::Error),
    /// More bytes than the header's content needs.
    #[error("{extra} bytes left over in the header")]
    HeaderRest {
        /// How many.
        extra: usize,
    },
    /// Another kind of model.
    #[error("architecture '{}', this program knows '{known}'", .found.escape_default())]
    Architecture {
        /// The kind in the file.
        found: String,
        /// The kind that is known.
        known: &'static str,
    },
    /// A setting outside its range, or two that contradict each other.
    #[error("{field}: {reason}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Why it cannot be.
        reason: Message,
    },
    /// There are more or fewer tensors than the model has.
    #[error("{actual} tensors, this model has {expected}")]
    TensorCount {
        /// Tensors there.
        actual: usize,
        /// Tensors that the settings ask for.
        expected: usize,
    },
    /// A tensor is not what the settings ask for.
    #[error("tensor {tensor}: {field} is {found}, this model needs {expected}")]
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
    #[error("checksum mismatch in tensor {tensor}")]
    TensorChecksum {
        /// Which one.
        tensor: String,
    },
    /// The file was changed somewhere.
    #[error("checksum mismatch in the file")]
    FileChecksum,
    /// The stored tokenizer is not the one that made the tokens.
    #[error("the tokenizer's data do not have the BLAKE3 hash that the header names")]
    TokenizerHash,
    /// Infinity or NaN.
    #[error("tensor {tensor} has a value that is not finite")]
    NotFinite {
        /// Where.
        tensor: String,
    },
    /// A mean of squares below 0.
    #[error("tensor {tensor} has a negative value, but it is a mean of squares")]
    Negative {
        /// Where.
        tensor: String,
    },
    /// The attention chosen is not the one the weights were trained with.
    #[error("made with {saved}, which {given} would read as something else")]
    Attention {
        /// What the checkpoint says.
        saved: Message,
        /// What the caller chose.
        given: Message,
    },
}
