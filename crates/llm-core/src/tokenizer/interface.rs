//! What every tokenizer can do.

use crate::base::{Error, Result, TokenId};
use std::fmt;

/// A way to cut bytes into tokens, so that the tokens' bytes, one after the other, are the text
/// again. Decoding never passes through a string: invalid UTF-8 comes back as it was.
pub trait Tokenizer: Send + Sync {
    /// The name of the kind, in checkpoints and flags.
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

    /// Data from which the tokenizer is made again, together with its name.
    fn blob(&self) -> Vec<u8>;

    /// The token that ends a text, if there is one: what writes it has no more to say. No text is cut
    /// into it, but by a tokenizer that finds such tokens in texts as they are written.
    fn end_of_text(&self) -> Option<TokenId> {
        None
    }

    /// The last place inside `text` where tokens end whatever comes after `text`: its tokens are those
    /// of the two parts, so a long text need not be in memory as a whole. `None` where there is
    /// none, or no such place is known.
    fn last_cut(&self, _text: &[u8]) -> Option<usize> {
        None
    }

    /// The text of tokens.
    ///
    /// # Errors
    /// [`Error::TokenOutOfRange`] for a number outside 0..V.
    fn decode(&self, tokens: &[TokenId]) -> Result<Vec<u8>> {
        Error::unless_within(tokens, self.vocab_size())?;
        let mut text = Vec::with_capacity(tokens.len());
        tokens.iter().for_each(|&token| text.extend_from_slice(self.bytes_of(token)));
        Ok(text)
    }
}

impl fmt::Debug for dyn Tokenizer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokenizer, {} tokens", self.name(), self.vocab_size())
    }
}
