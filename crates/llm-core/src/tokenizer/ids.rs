//! For a model that came without a tokenizer: tokens are numbers and nothing else.

use super::Tokenizer;
use crate::base::{Error, Result, TokenId};
use crate::message;

/// V numbers that stand for no text.
///
/// The blob is V, in four bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdsTokenizer {
    vocab_size: u32,
}

impl IdsTokenizer {
    /// Name in checkpoints.
    pub const NAME: &'static str = "ids";
    /// Most numbers.
    pub const MAX_VOCAB: usize = 1 << 20;

    /// The numbers 0..`vocab_size`.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when that is 0, or more than
    /// [`MAX_VOCAB`](IdsTokenizer::MAX_VOCAB).
    pub fn new(vocab_size: usize) -> Result<IdsTokenizer> {
        let (found, most) = (vocab_size, IdsTokenizer::MAX_VOCAB);
        if (1..=most).contains(&found) {
            return Ok(IdsTokenizer { vocab_size: found as u32 });
        }
        let reason = message!("{} numbers, there must be 1 to {}", found, most);
        Err(Error::tokenizer(IdsTokenizer::NAME, reason))
    }

    /// The vocabulary that [`Tokenizer::blob`] wrote.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the blob is anything else.
    pub fn from_blob(blob: &[u8]) -> Result<IdsTokenizer> {
        let bytes = blob.try_into().map_err(|_| {
            let reason = message!("{} bytes of data, it has 4", blob.len());
            Error::tokenizer(IdsTokenizer::NAME, reason)
        })?;
        IdsTokenizer::new(u32::from_le_bytes(bytes) as usize)
    }
}

impl Tokenizer for IdsTokenizer {
    fn name(&self) -> &str {
        IdsTokenizer::NAME
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size as usize
    }

    /// Only the empty text has tokens: none.
    ///
    /// # Errors
    /// [`Error::NumbersOnly`] for any other.
    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        if text.is_empty() { Ok(Vec::new()) } else { Err(Error::NumbersOnly) }
    }

    fn bytes_of(&self, _: TokenId) -> &[u8] {
        &[]
    }

    fn blob(&self) -> Vec<u8> {
        self.vocab_size.to_le_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_text() {
        let ids = IdsTokenizer::new(300).unwrap();
        assert!(ids.encode(b"").unwrap().is_empty());
        assert_eq!(ids.decode(&[0, 299]).unwrap(), b"");
        assert!(matches!(ids.decode(&[300]), Err(Error::TokenOutOfRange { .. })));
        assert!(matches!(ids.encode(b"a"), Err(Error::NumbersOnly)));
        assert_eq!(IdsTokenizer::from_blob(&ids.blob()).unwrap(), ids);
    }

    #[test]
    fn vocabularies_have_limits() {
        for (size, good) in [(0, false), (1, true), (1 << 20, true), ((1 << 20) + 1, false)] {
            assert_eq!(IdsTokenizer::new(size).is_ok(), good, "{size}");
        }
        assert!(IdsTokenizer::new(1 << 32).is_err());
        for blob in [&[][..], &[1, 0, 0], &[1, 0, 0, 0, 0], &[0; 4], &[255; 4]] {
            assert!(matches!(IdsTokenizer::from_blob(blob), Err(Error::Tokenizer { .. })));
        }
    }
}
