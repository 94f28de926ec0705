//! The model one token at a time, with what it computed for the earlier ones kept: a KV cache.

use super::reader::{Read, Reader};
use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::kernels::small::SmallKind;
use crate::model::{Probe, TinyGPT};
use std::fmt;

/// A model that reads tokens and says what may follow them.
///
/// For each block it keeps the keys and values of every position so far, so that a token more costs
/// one pass over the weights, not one over the text. All storage is taken at the start.
///
/// ```
/// use llm_core::{Config, TinyGPT, generate::Decoder};
/// let model = TinyGPT::new(Config::new(256, 64, 32, 2), 1)?;
/// let mut decoder = Decoder::new(&model)?;
/// decoder.feed(b"on".map(u32::from).as_slice())?;
/// let after_one = decoder.feed(&[b'e'.into()])?.to_vec();
///
/// let whole = model.logits(&b"one".map(u32::from), [1, 3])?;
/// assert!(after_one.iter().zip(&whole.data()[2 * 256..]).all(|(a, b)| (a - b).abs() < 1e-5));
/// # Ok::<(), llm_core::Error>(())
/// ```
pub struct Decoder<'m> {
    reader: Reader<'m>,
    text: Read,
    /// Shown every position at each token, and may change it; with one, nothing is cached.
    probe: Option<&'m (dyn Probe + Sync)>,
    elsewhere: Option<Elsewhere<'m>>,
}

/// Reads a text, of which it knows the first n tokens, and gives the scores of what follows.
pub(super) type Elsewhere<'m> = Box<dyn FnMut(&[TokenId], usize) -> Result<Vec<f32>> + Send + 'm>;

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Decoder");
        fields.field("model", self.reader.model).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'m> Decoder<'m> {
    /// One that has read nothing yet.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room for the cache: L·seq_len times what the attention keeps
    /// for a position, 2·C numbers for single-head and multi-head attention.
    pub fn new(model: &'m TinyGPT) -> Result<Decoder<'m>> {
        Decoder::with_weights(model, None)
    }

    /// One that multiplies single tokens with small copies of the model's matrices. Several at once,
    /// as those of a prompt, share what is read, and are multiplied with the model's own: so that both
    /// write the same text (but for near ties), give it a model that is [`rounded`](TinyGPT::rounded) alike. Q8
    /// and Q4 round a single token's inputs too, to 16 bits, and scores are off by some 10⁻⁴ of the largest.
    ///
    /// ```
    /// use llm_core::kernels::small::SmallKind;
    /// use llm_core::{Config, TinyGPT, generate::Decoder};
    /// let model = TinyGPT::new(Config::new(256, 64, 32, 2), 1)?.rounded(SmallKind::Q8)?;
    /// let [mut wide, mut small] =
    ///     [Decoder::new(&model)?, Decoder::with_weights(&model, Some(SmallKind::Q8))?];
    /// let [wide, small] = [wide.feed(&[111])?, small.feed(&[111])?];
    /// assert!(wide.iter().zip(small).all(|(a, b)| (a - b).abs() < 1e-3));
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Decoder::new`], with the small weights counted; [`Error::Config`] naming a matrix with a
    /// number that does not fit.
    pub fn with_weights(model: &'m TinyGPT, kind: Option<SmallKind>) -> Result<Decoder<'m>> {
        let reader = Reader::new(model, kind, 1)?;
        let text = Read::new(model);
        Ok(Decoder { reader, text, probe: None, elsewhere: None })
    }

    /// This decoder, with a probe that is shown what is computed and may change it. All that was read is then
    /// computed anew for each [`feed`](Decoder::feed), by [`TinyGPT::forward`] and the model's own weights.
    pub fn with_probe(self, probe: &'m (dyn Probe + Sync)) -> Decoder<'m> {
        Decoder { probe: Some(probe), ..self }
    }

    /// This decoder, whose texts something else reads, a device for example: it gets a text and how many of its first tokens it
    /// has read already, and gives the scores of the token that follows.
    pub fn elsewhere(
        self,
        read: impl FnMut(&[TokenId], usize) -> Result<Vec<f32>> + Send + 'm,
    ) -> Decoder<'m> {
        Decoder { elsewhere: Some(Box::new(read)), ..self }
    }

    /// Number of tokens read.
    pub fn len(&self) -> usize {
        self.text.tokens.len()
    }

    /// Whether it has read nothing yet.
    pub fn is_empty(&self) -> bool {
        self.text.tokens.is_empty()
    }

    /// What the last [`feed`](Decoder::feed) gave: `[V]`, zeros before the first.
    pub fn logits(&self) -> &[f32] {
        self.reader.logits()
    }

    /// Forgets all but the first `len` tokens.
    pub fn rewind(&mut self, len: usize) {
        self.text.tokens.truncate(len);
    }

    /// Reads on, and gives the scores of the token that follows.
    ///
    /// # Shapes
    /// Result `[V]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for no token, or for more than the context has room for;
    /// [`Error::TokenOutOfRange`]. What was read before then still holds.
    pub fn feed(&mut self, tokens: &[TokenId]) -> Result<&[f32]> {
        let config = self.reader.model.config();
        let (v, room) = (config.vocab_size, config.seq_len - self.len());
        let (n, expected) = (tokens.len(), format_args!("1 to {room} tokens"));
        Error::unless_shaped((1..=room).contains(&n), "decoder", expected, &[n])?;
        Error::unless_within(tokens, v)?;
        match (self.probe, &mut self.elsewhere) {
            (Some(probe), _) => self.read_again(tokens, probe)?,
            (None, Some(read)) => {
                let before = self.text.tokens.len();
                self.text.tokens.extend_from_slice(tokens);
                let scores = read(&self.text.tokens, before);
                let scores = scores.inspect_err(|_| self.text.tokens.truncate(before))?;
                self.reader.work.logits[..v].copy_from_slice(&scores);
            }
            (None, None) => {
                self.reader.awake(n > 1, |reader| reader.read(&mut self.text, tokens))?
            }
        }
        Ok(self.logits())
    }

    /// Reads on before a probe.
    fn read_again(&mut self, tokens: &[TokenId], probe: &dyn Probe) -> Result<()> {
        let (before, model) = (self.len(), self.reader.model);
        let read = &mut self.text.tokens;
        read.extend_from_slice(tokens);
        let all = no_grad(|| model.forward(read, [1, read.len()], Some(probe)));
        let all = all.inspect_err(|_| read.truncate(before))?;
        let logits = &mut self.reader.work.logits;
        let first = all.numel() - logits.len();
        logits.copy_from_slice(&all.data()[first..]);
        Ok(())
    }
}
