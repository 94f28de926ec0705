//! What is known of BPE without a vocabulary: its name, whether this program has it, what it takes.

use llm_core::base::Message;
use llm_core::message;

/// The name of BPE in checkpoints and flags.
pub const NAME: &str = "bpe";

/// Whether this program has BPE: the cargo feature `bpe`, without which no library is built that
/// merges, and no vocabulary or chat template of another program is read.
pub const AVAILABLE: bool = cfg!(feature = "bpe");
/// The refusal of a program without BPE.
pub const UNAVAILABLE: Message =
    message!("this program was built without BPE tokenizers (cargo feature bpe)");

/// The progress of learning a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// The number of bytes read so far.
    Read(usize),
    /// All are read: now tokens are merged.
    Merge,
}

/// Callback for the progress of learning.
pub type Report<'a> = dyn Fn(Learning) + Sync + 'a;

/// What a byte of a text takes while it is cut: a token at most, twice, in a list that doubles ..
const TEXT_MEMORY: u64 = 12;
/// Bytes that cutting takes in any case: the words that each thread remembers.
const AT_LEAST: u64 = 16 << 20;

/// The memory that cutting a text of n bytes takes, at most.
pub fn memory_of(len: usize) -> u64 {
    (len as u64).saturating_mul(TEXT_MEMORY).saturating_add(AT_LEAST)
}
