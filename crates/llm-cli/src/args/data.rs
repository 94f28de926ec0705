//! What is said about files of text.

use clap::ValueEnum;

/// What files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataAs {
    /// Text; what is none is refused
    Text,
    /// Any bytes, learnt as if they were text
    Bytes,
    /// Token numbers of 16 bits, little-endian, as in nanoGPT's train.bin
    U16,
}

/// Where texts end in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextEnds {
    /// Nowhere: all files are one text
    None,
    /// After each file, when there are several
    Files,
    /// There, and where <|endoftext|> is written
    Marked,
}
