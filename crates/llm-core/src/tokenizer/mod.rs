//! From bytes to token numbers and back.
//!
//! A tokenizer is an object behind [`Tokenizer`]. Those of this crate are made again from a
//! checkpoint by [`from_spec`]; a crate with more kinds asks its own first.

mod byte;
mod char;
mod end_of_text;
mod ids;
mod interface;
mod padded;

pub use self::char::CharTokenizer;
pub use byte::ByteTokenizer;
pub use end_of_text::{END_OF_TEXT, WithEndOfText, encode_marked, first_mark, split_at_marks};
pub use ids::IdsTokenizer;
pub use interface::Tokenizer;
pub use padded::PaddedTokenizer;

use crate::base::{Error, Result};
use crate::message;
use std::sync::Arc;

/// The tokenizer that a name and a blob stand for.
///
/// ```
/// use llm_core::tokenizer::{CharTokenizer, Tokenizer, from_spec};
///
/// let chars = CharTokenizer::from_text("naïve".as_bytes())?;
/// let again = from_spec(chars.name(), &chars.blob())?;
/// assert_eq!(again.decode(&chars.encode("vïan".as_bytes())?)?, "vïan".as_bytes());
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Tokenizer`] for a kind that this crate does not have, or a blob that is not one of its
/// kind.
pub fn from_spec(kind: &str, blob: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    match end_of_text::inner_blob(blob) {
        Some(inner) => WithEndOfText::extend(plain(kind, inner)?),
        None => plain(kind, blob),
    }
}

/// One without a token of its own that ends a text.
fn plain(kind: &str, blob: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    match kind {
        ByteTokenizer::NAME if blob.is_empty() => Ok(Arc::new(ByteTokenizer)),
        ByteTokenizer::NAME => {
            let reason = message!("{} bytes of data, it has none", blob.len());
            Err(Error::tokenizer(kind, reason))
        }
        CharTokenizer::NAME => Ok(Arc::new(CharTokenizer::from_blob(blob)?)),
        IdsTokenizer::NAME => Ok(Arc::new(IdsTokenizer::from_blob(blob)?)),
        _ => Err(Error::tokenizer(kind, message!("this program does not have it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_back_by_name() {
        let chars = CharTokenizer::from_text(b"abc").unwrap();
        let ids = IdsTokenizer::new(7).unwrap();
        for tokenizer in [&ByteTokenizer as &dyn Tokenizer, &chars, &ids] {
            let again = from_spec(tokenizer.name(), &tokenizer.blob()).unwrap();
            assert_eq!(again.name(), tokenizer.name());
            assert_eq!(again.vocab_size(), tokenizer.vocab_size());
            assert_eq!(again.blob(), tokenizer.blob());
        }
        for (kind, blob) in
            [("byte", &b"x"[..]), ("words", b""), ("", b""), ("char", b""), ("ids", b"")]
        {
            let refused = from_spec(kind, blob);
            assert!(matches!(refused, Err(Error::Tokenizer { .. })), "{kind}");
        }
    }
}
