//! The default: every byte is a token. No vocabulary file, any input, exact round trip.

use crate::error::{Error, Result, TokenId};

/// 256 tokens, one per byte value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteTokenizer;

impl ByteTokenizer {
    /// Name in checkpoints and flags.
    pub const NAME: &'static str = "byte";
    /// V.
    pub const VOCAB_SIZE: usize = 256;

    /// One token per byte.
    pub fn encode(&self, bytes: &[u8]) -> Vec<TokenId> {
        bytes.iter().map(|&b| TokenId::from(b)).collect()
    }

    /// One byte per token.
    ///
    /// # Errors
    /// [`Error::TokenOutOfRange`] for a number above 255.
    pub fn decode(&self, tokens: &[TokenId]) -> Result<Vec<u8>> {
        let byte = |(position, &token): (usize, &TokenId)| {
            u8::try_from(token).map_err(|_| Error::TokenOutOfRange {
                token,
                position,
                vocab_size: ByteTokenizer::VOCAB_SIZE,
            })
        };
        tokens.iter().enumerate().map(byte).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for text in [&b""[..], b"plain", "naïve 猫 🐈".as_bytes(), &all, b"\xff\xfe\x00"] {
            let tokens = ByteTokenizer.encode(text);
            assert_eq!(tokens.len(), text.len());
            assert_eq!(ByteTokenizer.decode(&tokens).unwrap(), text);
        }
        assert!(matches!(
            ByteTokenizer.decode(&[1, 256]),
            Err(Error::TokenOutOfRange { token: 256, position: 1, .. })
        ));
    }
}
