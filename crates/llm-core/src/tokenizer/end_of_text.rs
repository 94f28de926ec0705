//! A token that ends a text: it parts the texts that a model learns from, and a model that writes
//! it has no more to say.

use super::{ByteTokenizer, CharTokenizer, Tokenizer};
use crate::base::{Error, Result, TokenId};
use crate::message;
use std::sync::Arc;

/// How the token is written, in GPT-2's vocabulary and in files that hold several texts.
pub const END_OF_TEXT: &str = "<|endoftext|>";

/// A tokenizer with one more token, the last one, which ends a text. No text is cut into it:
/// [`END_OF_TEXT`] in a text is text like any other.
#[derive(Clone, Debug)]
pub struct WithEndOfText {
    inner: Arc<dyn Tokenizer>,
}

impl WithEndOfText {
    /// `inner` with a token that ends a text; `inner` itself when it has one.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] for other kinds than byte and char, whose blob has no room for it.
    pub fn extend(inner: Arc<dyn Tokenizer>) -> Result<Arc<dyn Tokenizer>> {
        match inner.name() {
            _ if inner.end_of_text().is_some() => Ok(inner),
            ByteTokenizer::NAME | CharTokenizer::NAME => Ok(Arc::new(WithEndOfText { inner })),
            kind => Err(Error::tokenizer(kind, message!("it has no token that ends a text"))),
        }
    }
}

/// The name is that of the tokenizer inside; the blob has one more entry, in the form of char's:
/// the length in a byte, then [`END_OF_TEXT`].
impl Tokenizer for WithEndOfText {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn vocab_size(&self) -> usize {
        self.inner.vocab_size() + 1
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        self.inner.encode(text)
    }

    fn bytes_of(&self, token: TokenId) -> &[u8] {
        let ends = Some(token) == self.end_of_text();
        if ends { END_OF_TEXT.as_bytes() } else { self.inner.bytes_of(token) }
    }

    fn blob(&self) -> Vec<u8> {
        let mut blob = self.inner.blob();
        blob.extend_from_slice(&entry());
        blob
    }

    fn end_of_text(&self) -> Option<TokenId> {
        TokenId::try_from(self.inner.vocab_size()).ok()
    }

    fn last_cut(&self, text: &[u8]) -> Option<usize> {
        self.inner.last_cut(text)
    }
}

/// What is behind the blob of the tokenizer inside.
fn entry() -> Vec<u8> {
    [&[END_OF_TEXT.len() as u8], END_OF_TEXT.as_bytes()].concat()
}

/// The blob of the tokenizer inside, when there is one.
pub(super) fn inner_blob(blob: &[u8]) -> Option<&[u8]> {
    blob.strip_suffix(&entry()[..])
}

/// The parts of a text between the places where [`END_OF_TEXT`] is written: always one more than
/// there are such places.
pub fn split_at_marks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (part, after) = match first_mark(text) {
            Some(place) => (&text[..place], Some(&text[place + END_OF_TEXT.len()..])),
            None => (text, None),
        };
        rest = after;
        Some(part)
    })
}

/// The place where [`END_OF_TEXT`] is written first.
pub fn first_mark(text: &[u8]) -> Option<usize> {
    text.windows(END_OF_TEXT.len()).position(|window| window == END_OF_TEXT.as_bytes())
}

/// The tokens of a text in which [`END_OF_TEXT`] stands for the token that ends a text. For a
/// tokenizer without that token, or one that writes it in another way, it is text like any other.
///
/// ```
/// use llm_core::tokenizer::{ByteTokenizer, Tokenizer, WithEndOfText, encode_marked};
/// use std::sync::Arc;
///
/// let tokenizer = WithEndOfText::extend(Arc::new(ByteTokenizer))?;
/// assert_eq!(encode_marked(&*tokenizer, b"a<|endoftext|>b")?, [97, 256, 98]);
/// assert_eq!(tokenizer.encode(b"a<|endoftext|>b")?.len(), 15);
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// As [`Tokenizer::encode`].
pub fn encode_marked(tokenizer: &dyn Tokenizer, text: &[u8]) -> Result<Vec<TokenId>> {
    let is_written_so = |end: &TokenId| tokenizer.bytes_of(*end) == END_OF_TEXT.as_bytes();
    let Some(end) = tokenizer.end_of_text().filter(is_written_so) else {
        return tokenizer.encode(text);
    };
    let (mut tokens, mut place) = (Vec::new(), 0u64);
    for (i, part) in split_at_marks(text).enumerate() {
        tokens.extend((i > 0).then_some(end));
        tokens.extend(tokenizer.encode(part).map_err(|e| e.after(place))?);
        place += (part.len() + END_OF_TEXT.len()) as u64;
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::super::{IdsTokenizer, PaddedTokenizer, from_spec};
    use super::*;

    fn bytes() -> Arc<dyn Tokenizer> {
        WithEndOfText::extend(Arc::new(ByteTokenizer)).unwrap()
    }

    #[test]
    fn one_more_token_that_no_text_has() {
        let bytes = bytes();
        assert_eq!((bytes.name(), bytes.vocab_size()), ("byte", 257));
        assert_eq!(bytes.end_of_text(), Some(256));
        assert_eq!(bytes.bytes_of(256), END_OF_TEXT.as_bytes());
        assert_eq!((bytes.bytes_of(255), bytes.bytes_of(257)), (&[255][..], &[][..]));
        assert!(bytes.encode(END_OF_TEXT.as_bytes()).unwrap().iter().all(|&t| t < 256));
        assert_eq!(bytes.decode(&[97, 256]).unwrap(), b"a<|endoftext|>");
        let again = WithEndOfText::extend(bytes.clone()).unwrap();
        assert_eq!(again.vocab_size(), 257);
        assert_eq!(PaddedTokenizer::pad(bytes, 300).end_of_text(), Some(256));
        assert_eq!(ByteTokenizer.end_of_text(), None);
    }

    #[test]
    fn it_comes_back_from_its_blob_once() {
        let chars = CharTokenizer::from_text("naïve<|".as_bytes()).unwrap();
        for inner in [Arc::new(ByteTokenizer) as Arc<dyn Tokenizer>, Arc::new(chars)] {
            let ended = WithEndOfText::extend(inner).unwrap();
            let again = from_spec(ended.name(), &ended.blob()).unwrap();
            assert_eq!(again.end_of_text(), ended.end_of_text());
            assert_eq!(again.blob(), ended.blob());
            let twice = [ended.blob(), entry()].concat();
            assert!(matches!(from_spec(ended.name(), &twice), Err(Error::Tokenizer { .. })));
            let cut = &ended.blob()[..ended.blob().len() - 1];
            assert!(matches!(from_spec(ended.name(), cut), Err(Error::Tokenizer { .. })));
        }
        let ids = IdsTokenizer::new(9).unwrap();
        let refused = WithEndOfText::extend(Arc::new(ids)).unwrap_err().to_string();
        assert!(refused.contains("ends a text"), "{refused}");
        assert!(from_spec("ids", &[&ids.blob()[..], &entry()].concat()).is_err());
    }

    #[test]
    fn marks_are_tokens_where_that_is_asked_for() {
        let bytes = bytes();
        let marked = |text: &str| encode_marked(&*bytes, text.as_bytes()).unwrap();
        assert_eq!(marked("a<|endoftext|><|endoftext|>"), [97, 256, 256]);
        assert_eq!(marked("<|endoftext|>b"), [256, 98]);
        assert_eq!(marked("<|endoftext|"), bytes.encode(b"<|endoftext|").unwrap());
        assert_eq!(marked(""), []);
        assert_eq!(encode_marked(&ByteTokenizer, b"<|endoftext|>").unwrap().len(), 13);
        let chars: Arc<dyn Tokenizer> = Arc::new(CharTokenizer::from_text(b"ab").unwrap());
        let chars = WithEndOfText::extend(chars).unwrap();
        match encode_marked(&*chars, b"ab<|endoftext|>bc") {
            Err(Error::UnknownUnit { position: 16, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
