//! What a text was taken out of, and what else there is to say about it.

use crate::data_file::Dress;
use crate::json_look::Holds;
use llm_core::base::Message;
use llm_core::message;

/// What a text was taken out of, or rid of, before training; in the order in which it is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    pub(super) fn message(&self) -> Message {
        match self {
            Wrapping::Unpacked => message!("unpacked (gzip)"),
            Wrapping::Converted => message!("converted from UTF-16"),
            Wrapping::Unmarked => message!("without the byte order mark"),
            Wrapping::Headed => message!("without the header of llm.c"),
            Wrapping::NotUtf8 => message!("not UTF-8 and learnt byte by byte (iconv converts it)"),
            Wrapping::Dressed(dress) => dressed(dress),
        }
    }
}

/// What a text is besides, and what helps.
fn dressed(dress: &Dress) -> Message {
    match dress {
        Dress::JsonLines(Holds::Texts(filter)) => message!(
            "JSON lines, learnt with their braces and keys (jq -r {} takes the texts out)",
            filter
        ),
        Dress::Json(Holds::Texts(filter)) => {
            message!("JSON, learnt with its braces and keys (jq takes texts out: jq -r {})", filter)
        }
        Dress::JsonLines(holds) => {
            aside(message!("JSON lines, learnt with their braces and keys"), holds)
        }
        Dress::Json(holds) => aside(message!("JSON, learnt with its braces and keys"), holds),
        Dress::Table => {
            message!("a table, learnt with its separators (csvcut -c text takes a column out)")
        }
        Dress::WebPage => {
            message!("a web page, learned with its tags (pandoc -f html -t plain makes text of it)")
        }
        Dress::Mails => {
            message!(
                "mails, learned with their headers (the module mailbox of Python takes the texts out)"
            )
        }
        Dress::WhatsApp => {
            message!(
                "a chat of WhatsApp, learned as a text (the verb import chats makes conversations of it)"
            )
        }
        Dress::OldMac => message!(
            "line ends of old Macs, learnt as they are (tr '\\r' '\\n' makes them line breaks)"
        ),
        Dress::Windows => {
            message!("line ends of Windows, learnt as two characters (tr -d '\\r' makes them one)")
        }
    }
}

fn aside(what: Message, holds: &Holds) -> Message {
    match holds {
        Holds::Chats => message!("{} ({data_as} chats reads the conversations in it)", what),
        Holds::Export => message!("{} (the verb import chats makes conversations of it)", what),
        Holds::Texts(_) | Holds::Other => what,
    }
}
