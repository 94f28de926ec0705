//! What a text was taken out of, and what else there is to say about it.

use crate::data_file::Dress;
use llm_core::base::Message;
use llm_core::message;

/// What a text was taken out of, or rid of, before training; in the order in which it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrapping {
    Unpacked,
    Converted,
    Unmarked,
    /// The numbers of llm.c before its tokens.
    Headed,
    /// Nothing was done to it: it is in another encoding, or in none.
    NotUtf8,
    /// Nothing was done to it: it is more than text.
    Dressed(Dress),
}

impl Wrapping {
    pub(super) fn message(self) -> Message {
        match self {
            Wrapping::Unpacked => message!("unpacked (gzip)"),
            Wrapping::Converted => message!("converted from UTF-16"),
            Wrapping::Unmarked => message!("without the byte order mark"),
            Wrapping::Headed => message!("without the header of llm.c"),
            Wrapping::NotUtf8 => message!("not UTF-8 and learnt byte by byte (iconv converts it)"),
            Wrapping::Dressed(Dress::JsonLines) => message!(
                "JSON lines, learnt with their braces and keys (jq -r .text takes the texts out)"
            ),
            Wrapping::Dressed(Dress::Json) => message!(
                "JSON, learnt with its braces and keys (jq takes texts out: jq -r '.[].text')"
            ),
            Wrapping::Dressed(Dress::Table) => {
                message!("a table, learnt with its separators (csvcut -c text takes a column out)")
            }
            Wrapping::Dressed(Dress::OldMac) => {
                message!("line ends of old Macs, learnt as they are (tr '\\r' '\\n' makes them line breaks)")
            }
            Wrapping::Dressed(Dress::Windows) => message!(
                "line ends of Windows, learnt as two characters (tr -d '\\r' makes them one)"
            ),
        }
    }
}
