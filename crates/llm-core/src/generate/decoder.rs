//! The model one token at a time, with what it computed for the earlier ones kept: a KV cache.

use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId, memory};
use crate::kernels::parallel;
use crate::kernels::small::SmallKind;
use crate::model::{Probe, TinyGPT, Workspace};
use std::fmt;

/// Tokens that are read together.
const CHUNK: usize = 128;
/// A layer of this many weights is shared between threads, so that they had better be awake.
const LARGE: usize = 1 << 18;

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
    model: &'m TinyGPT,
    /// The tokens of the positions that are filled.
    read: Vec<TokenId>,
    /// For each block `[seq_len, cache_row]`: what its attention keeps.
    cache: Vec<Vec<f32>>,
    work: Workspace,
    /// Shown every position at each token, and may change it; with one, nothing is cached.
    probe: Option<&'m (dyn Probe + Sync)>,
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Decoder");
        fields.field("model", self.model).field("len", &self.read.len()).finish_non_exhaustive()
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
        let config = model.config();
        let (n, t) = (CHUNK.min(config.seq_len), config.seq_len);
        let row = model.attention().cache_row(config);
        let n_heads = model.attention().spec().n_heads.max(1);
        let kept = ((config.n_layers * t) as u64).saturating_mul(row as u64);
        let numbers = kept.saturating_add(Workspace::numbers(config, n, n_heads));
        let small = kind.map_or(0, |kind| model.small_bytes(kind));
        memory::require(numbers.saturating_mul(4).saturating_add(small))?;
        let cache = (0..config.n_layers).map(|_| vec![0.0; t * row]).collect();
        let mut work = Workspace::new(config, n);
        if let Some(kind) = kind {
            work.scratch.products.small = model.small_weights(kind)?;
        }
        Ok(Decoder { model, read: Vec::with_capacity(t), cache, work, probe: None })
    }

    /// This decoder, with a probe that is shown what is computed and may change it. All that was read is then
    /// computed anew for each [`feed`](Decoder::feed), by [`TinyGPT::forward`] and the model's own weights.
    pub fn with_probe(self, probe: &'m (dyn Probe + Sync)) -> Decoder<'m> {
        Decoder { probe: Some(probe), ..self }
    }

    /// Number of tokens read.
    pub fn len(&self) -> usize {
        self.read.len()
    }

    /// Whether it has read nothing yet.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// What the last [`feed`](Decoder::feed) gave: `[V]`, zeros before the first.
    pub fn logits(&self) -> &[f32] {
        &self.work.logits
    }

    /// Forgets all but the first `len` tokens.
    pub fn rewind(&mut self, len: usize) {
        self.read.truncate(len);
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
        let config = self.model.config();
        let (v, room) = (config.vocab_size, config.seq_len - self.read.len());
        let (n, expected) = (tokens.len(), format_args!("1 to {room} tokens"));
        Error::unless_shaped((1..=room).contains(&n), "decoder", expected, &[n])?;
        Error::unless_within(tokens, v)?;
        let large = n > 1 || config.d_model * config.d_model * 4 >= LARGE;
        match self.probe {
            Some(probe) => self.read_again(tokens, probe)?,
            None if large => parallel::awake(|| self.read(tokens))?,
            None => self.read(tokens)?,
        }
        Ok(&self.work.logits)
    }

    fn read(&mut self, tokens: &[TokenId]) -> Result<()> {
        for chunk in tokens.chunks(CHUNK) {
            let before = self.read.len();
            self.read.extend_from_slice(chunk);
            let run = self.model.run_rows(&self.read, before, &mut self.cache, &mut self.work);
            run.inspect_err(|_| self.read.truncate(before))?;
        }
        self.model.head_row((tokens.len() - 1) % CHUNK, &mut self.work);
        Ok(())
    }

    /// [`Decoder::read`] before a probe.
    fn read_again(&mut self, tokens: &[TokenId], probe: &dyn Probe) -> Result<()> {
        let before = self.read.len();
        self.read.extend_from_slice(tokens);
        let all = no_grad(|| self.model.forward(&self.read, [1, self.read.len()], Some(probe)));
        let all = all.inspect_err(|_| self.read.truncate(before))?;
        let first = all.numel() - self.work.logits.len();
        self.work.logits.copy_from_slice(&all.data()[first..]);
        Ok(())
    }
}
