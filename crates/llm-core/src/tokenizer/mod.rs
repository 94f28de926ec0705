//! From bytes to token numbers and back.

mod byte;

pub use byte::ByteTokenizer;
