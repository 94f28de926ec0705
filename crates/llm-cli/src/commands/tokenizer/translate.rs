//! `tokenizer encode` and `tokenizer decode`.

use super::source::open;
use crate::args::{DecodeArgs, EncodeArgs, number_words};
use crate::console::{Out, json_line};
use crate::error::{Result, RunError};
use llm_core::base::escape::safe_token;
use llm_core::base::{Message, with_causes};
use llm_core::message;
use llm_core::{Error, TokenId};
use llm_formats::files::{small_file, small_stdin};
use serde_json::json;
use std::borrow::Cow;

/// Text to numbers, separated by spaces.
pub(super) fn encode(args: &EncodeArgs) -> Result<()> {
    let tokenizer = open(&args.source)?;
    let text = match (&args.text, &args.file) {
        (Some(text), _) => Cow::Borrowed(text.as_encoded_bytes()),
        (None, Some(path)) if path.as_os_str() != "-" => Cow::Owned(small_file(path, u64::MAX)?),
        (None, _) => Cow::Owned(small_stdin(u64::MAX)?),
    };
    let tokens = tokenizer.encode(&text).map_err(unknown)?;
    let mut out = Out::default();
    if args.json || args.output.json() {
        let words = tokens.iter().map(|&id| String::from_utf8_lossy(tokenizer.bytes_of(id)));
        let line = json!({ "ids": tokens, "tokens": words.collect::<Vec<_>>() });
        out.write(json_line(&line).as_bytes());
    } else {
        for (i, some) in tokens.chunks(1 << 16).enumerate() {
            let words: Vec<String> = some.iter().map(ToString::to_string).collect();
            let gap = if i > 0 { " " } else { "" };
            out.write(format!("{gap}{}", words.join(" ")).as_bytes());
        }
        out.write(b"\n");
    }
    out.finish()
}

/// Numbers to text.
pub(super) fn decode(args: &DecodeArgs) -> Result<()> {
    let tokenizer = open(&args.source)?;
    let tokens = if args.ids.is_empty() {
        let text = small_stdin(u64::MAX)?;
        let text = String::from_utf8_lossy(&text);
        numbers(&text).map_err(|why| RunError::Data(message!("standard input: {}", why)))?
    } else {
        numbers(&args.ids.join(" ")).map_err(RunError::Usage)?
    };
    let text = tokenizer.decode(&tokens).map_err(|e| match e {
        Error::TokenOutOfRange { .. } => {
            let last = tokenizer.vocab_size().saturating_sub(1);
            let why = with_causes(&e);
            RunError::Data(message!("{}; this tokenizer's tokens are 0 to {}", why, last))
        }
        other => other.into(),
    })?;
    let mut out = Out::default();
    if args.output.json() {
        let line = json!({ "ids": tokens, "text": String::from_utf8_lossy(&text) });
        out.write(json_line(&line).as_bytes());
    } else if args.raw {
        out.write(&text);
    } else {
        out.write(safe_token(&text).as_bytes());
        out.write(b"\n");
    }
    out.finish()
}

/// Token numbers.
fn numbers(text: &str) -> std::result::Result<Vec<TokenId>, Message> {
    let number = |word: &str| {
        let short: String = word.chars().take(40).collect();
        word.parse().map_err(|_| message!("'{}' is no token number", short.escape_debug()))
    };
    number_words(text).map(number).collect()
}

/// What the vocabulary does not have.
fn unknown(e: Error) -> RunError {
    match e {
        Error::UnknownUnit { .. } => RunError::Data(with_causes(&e)),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_others_write_them() {
        for text in ["1 2 30", "[1, 2, 30]\n", "1,2,30", " 1\n2\t30 "] {
            assert_eq!(numbers(text), Ok(vec![1, 2, 30]), "{text}");
        }
        assert_eq!(numbers(" [] "), Ok(vec![]));
        for text in ["1 x", "-1", "1.5", "4294967296", "1;2"] {
            assert!(
                numbers(text).is_err_and(|why| why.to_string().ends_with("no token number")),
                "{text}"
            );
        }
    }
}
