//! From bytes to token numbers and back.
//!
//! A tokenizer is an object behind [`Tokenizer`]. Those of this crate are made again from a
//! checkpoint by [`from_spec`]; a crate with more kinds asks its own first.

mod byte;
mod char;
mod ids;
mod padded;

pub use self::char::CharTokenizer;
pub use byte::ByteTokenizer;
pub use ids::IdsTokenizer;
pub use padded::PaddedTokenizer;

use crate::error::{Error, Result, TokenId};
use std::sync::Arc;

/// A way to cut bytes into tokens, so that the tokens' bytes, one after the other, are the text
/// again. Decoding never passes through a string: what is no valid UTF-8 comes back as it was.
pub trait Tokenizer: Send + Sync {
    /// Its kind, in checkpoints and flags.
    fn name(&self) -> &str;

    /// V: tokens are 0..V.
    fn vocab_size(&self) -> usize;

    /// The tokens of a text.
    ///
    /// # Errors
    /// [`Error::UnknownUnit`] for a part of the text that no token stands for.
    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>>;

    /// What a token stands for; nothing for numbers outside 0..V.
    fn bytes_of(&self, token: TokenId) -> &[u8];

    /// What makes it again, together with its name.
    fn blob(&self) -> Vec<u8>;

    /// The text of tokens.
    ///
    /// # Errors
    /// [`Error::TokenOutOfRange`] for a number outside 0..V.
    fn decode(&self, tokens: &[TokenId]) -> Result<Vec<u8>> {
        let mut text = Vec::with_capacity(tokens.len());
        for (position, &token) in tokens.iter().enumerate() {
            let vocab_size = self.vocab_size();
            if token as usize >= vocab_size {
                return Err(Error::TokenOutOfRange { token, position, vocab_size });
            }
            text.extend_from_slice(self.bytes_of(token));
        }
        Ok(text)
    }
}

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
/// [`Error::Tokenizer`] for a kind that this crate does not have, or a blob that is none of its
/// kind.
pub fn from_spec(kind: &str, blob: &[u8]) -> Result<Arc<dyn Tokenizer>> {
    match kind {
        ByteTokenizer::NAME if blob.is_empty() => Ok(Arc::new(ByteTokenizer)),
        ByteTokenizer::NAME => {
            let reason = format!("{} bytes of data, it has none", blob.len());
            Err(Error::tokenizer(kind, reason))
        }
        CharTokenizer::NAME => Ok(Arc::new(CharTokenizer::from_blob(blob)?)),
        IdsTokenizer::NAME => Ok(Arc::new(IdsTokenizer::from_blob(blob)?)),
        _ => Err(Error::tokenizer(kind, "this program does not have it")),
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
