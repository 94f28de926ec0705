//! Whole texts: as long as is asked for, up to their end, or up to a stop.

use super::{Choice, Generator, Sampling, Stops};
use crate::base::{Error, Result, TokenId};
use crate::model::TinyGPT;
use crate::tokenizer::Tokenizer;
use serde::Serialize;

/// A text that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Bytes of the text, without a stop and what comes behind it.
    pub text: Vec<u8>,
    /// What was drawn, a stop and the token that ends a text included.
    pub choices: Vec<Choice>,
    /// Why the text ended.
    pub finish: Finish,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// The text is as long as was asked for.
    Length,
    /// The text has come to its end, or to a stop.
    Stop,
    /// The caller's callback stopped it.
    Interrupted,
}

impl Generator<'_> {
    /// Writes on: `n` tokens, unless one that ends a text or one of the `stops` comes before. After
    /// each token but the last of those `go_on` hears what is certain to be in the text, and says
    /// whether to go on; what may be the beginning of a stop is in what is returned alone.
    ///
    /// # Errors
    /// As [`Generator::next_token`]; what `go_on` says.
    pub fn write<E: From<Error>>(
        &mut self,
        tokenizer: &dyn Tokenizer,
        n: usize,
        stops: &Stops,
        mut go_on: impl FnMut(&mut Self, &Written) -> Result<bool, E>,
    ) -> Result<Written, E> {
        let mut stops = stops.clone();
        let mut written = Written { text: Vec::new(), choices: Vec::new(), finish: Finish::Length };
        while written.choices.len() < n && written.finish == Finish::Length {
            let choice = self.next_token()?;
            written.choices.push(choice);
            if Some(choice.token) == tokenizer.end_of_text() {
                written.finish = Finish::Stop;
                break;
            }
            let (text, stop) = stops.push(tokenizer.bytes_of(choice.token));
            written.text.extend_from_slice(&text);
            if stop {
                written.finish = Finish::Stop;
            } else if !go_on(self, &written)? && written.choices.len() < n {
                written.finish = Finish::Interrupted;
            }
        }
        written.text.extend_from_slice(&stops.finish());
        Ok(written)
    }
}

/// Continues a text by `n` tokens, or up to the one that ends a text: what
/// [`generate`](super::generate) writes, as text. Bytes that are no UTF-8, such as a character cut in
/// two by the end, become �.
///
/// ```
/// use llm_core::generate::{Sampling, write_text};
/// use llm_core::tokenizer::ByteTokenizer;
/// use llm_core::{Config, TinyGPT};
/// let model = TinyGPT::new(Config::new(256, 64, 32, 1), 1)?;
/// let written = write_text(&model, &ByteTokenizer, "once", 8, Sampling::default())?;
/// assert!(!written.is_empty()); // nonsense, as long as the model is not trained
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// As [`generate`](super::generate); what the tokenizer says about a text or a token that it does not
/// have.
pub fn write_text(
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    prompt: &str,
    n: usize,
    sampling: Sampling,
) -> Result<String> {
    let prompt = tokenizer.encode(prompt.as_bytes())?;
    let mut generator = Generator::new(model, &prompt, sampling, 1)?;
    let written = generator.write(tokenizer, n, &Stops::default(), |_, _| Ok::<_, Error>(true))?;
    Ok(String::from_utf8_lossy(&written.text).into_owned())
}

/// The tokens that may be drawn, `[V]`, or nothing where all may: with `ascii` those that are printable
/// ASCII, tab, line feed and carriage return; with `endless` all but the end of a text.
pub fn allowed(tokenizer: &dyn Tokenizer, ascii: bool, endless: bool) -> Vec<bool> {
    let end = tokenizer.end_of_text().filter(|_| endless);
    if !ascii && end.is_none() {
        return Vec::new();
    }
    let plain = |b: &u8| !ascii || matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let all = 0..tokenizer.vocab_size() as TokenId;
    all.map(|token| Some(token) != end && tokenizer.bytes_of(token).iter().all(plain)).collect()
}
