//! A model's table may have more rows than its tokenizer has tokens, for a rounder number.

use super::Tokenizer;
use crate::base::{Result, TokenId};
use std::sync::Arc;

/// A tokenizer with further token numbers that no text has and that stand for nothing.
#[derive(Clone, Debug)]
pub struct PaddedTokenizer {
    inner: Arc<dyn Tokenizer>,
    vocab_size: usize,
}

impl PaddedTokenizer {
    /// `inner` with `vocab_size` numbers in all; `inner` itself when it has as many or more.
    pub fn pad(inner: Arc<dyn Tokenizer>, vocab_size: usize) -> Arc<dyn Tokenizer> {
        if inner.vocab_size() >= vocab_size {
            return inner;
        }
        Arc::new(PaddedTokenizer { inner, vocab_size })
    }
}

/// Name and blob are those of the tokenizer inside: the padding follows from the model's table.
impl Tokenizer for PaddedTokenizer {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        self.inner.encode(text)
    }

    fn bytes_of(&self, token: TokenId) -> &[u8] {
        self.inner.bytes_of(token)
    }

    fn blob(&self) -> Vec<u8> {
        self.inner.blob()
    }

    fn end_of_text(&self) -> Option<TokenId> {
        self.inner.end_of_text()
    }

    fn last_cut(&self, text: &[u8]) -> Option<usize> {
        self.inner.last_cut(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ByteTokenizer;
    use super::*;
    use crate::base::Error;

    #[test]
    fn numbers_beyond_the_tokens_stand_for_nothing() {
        let bytes: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
        let padded = PaddedTokenizer::pad(bytes.clone(), 260);
        assert_eq!((padded.name(), padded.vocab_size()), ("byte", 260));
        assert_eq!(padded.encode(b"ab").unwrap(), [97, 98]);
        assert_eq!(padded.decode(&[97, 259, 98]).unwrap(), b"ab");
        assert!(matches!(padded.decode(&[260]), Err(Error::TokenOutOfRange { .. })));
        assert_eq!(PaddedTokenizer::pad(bytes, 256).vocab_size(), 256);
    }
}
