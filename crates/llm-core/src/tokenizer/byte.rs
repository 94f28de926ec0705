//! The default: every byte is a token. No vocabulary file, any input, exact round trip.

use super::Tokenizer;
use crate::base::{Result, TokenId};

/// 256 tokens, one per byte value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteTokenizer;

/// Every byte at its own place, for [`Tokenizer::bytes_of`].
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

impl ByteTokenizer {
    /// Name in checkpoints and flags.
    pub const NAME: &'static str = "byte";
    /// V.
    pub const VOCAB_SIZE: usize = 256;
}

impl Tokenizer for ByteTokenizer {
    fn name(&self) -> &str {
        ByteTokenizer::NAME
    }

    fn vocab_size(&self) -> usize {
        ByteTokenizer::VOCAB_SIZE
    }

    /// One token per byte; never an error.
    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        Ok(text.iter().map(|&b| TokenId::from(b)).collect())
    }

    fn bytes_of(&self, token: TokenId) -> &[u8] {
        let place = token as usize;
        BYTES.get(place..=place).unwrap_or_default()
    }

    fn blob(&self) -> Vec<u8> {
        Vec::new()
    }

    fn last_cut(&self, text: &[u8]) -> Option<usize> {
        (!text.is_empty()).then_some(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Error;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_comes_back(text: Vec<u8>) {
            let tokens = ByteTokenizer.encode(&text).unwrap();
            prop_assert_eq!(tokens.len(), text.len());
            prop_assert_eq!(ByteTokenizer.decode(&tokens).unwrap(), text);
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for text in [&b""[..], b"plain", "naïve 猫 🐈".as_bytes(), &all, b"\xff\xfe\x00"] {
            let tokens = ByteTokenizer.encode(text).unwrap();
            assert_eq!(tokens.len(), text.len());
            assert_eq!(ByteTokenizer.decode(&tokens).unwrap(), text);
        }
        assert!(matches!(
            ByteTokenizer.decode(&[1, 256]),
            Err(Error::TokenOutOfRange { token: 256, position: 1, .. })
        ));
        assert_eq!(ByteTokenizer.bytes_of(256), b"");
        assert_eq!(ByteTokenizer.bytes_of(TokenId::MAX), b"");
    }
}
