//! What is said about files of text.

use clap::ValueEnum;
use llm_core::recipe::{DataForm, EndOfText};

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

impl From<TextEnds> for EndOfText {
    fn from(ends: TextEnds) -> EndOfText {
        match ends {
            TextEnds::None => EndOfText::None,
            TextEnds::Files => EndOfText::Files,
            TextEnds::Marked => EndOfText::Marked,
        }
    }
}

impl From<DataAs> for DataForm {
    fn from(data_as: DataAs) -> DataForm {
        match data_as {
            DataAs::Text => DataForm::Text,
            DataAs::Bytes => DataForm::Bytes,
            DataAs::U16 => DataForm::U16,
        }
    }
}
