//! The model one token at a time, with what it computed for the earlier ones kept: a KV cache.

use crate::base::memory;
use crate::base::{Error, Result, TokenId};
use crate::kernels::gemv::MOST_GROUPS;
use crate::kernels::layernorm::{self, STATS};
use crate::kernels::{elementwise, gelu, gemv, parallel, rows};
use crate::model::{Block, Config, Decode, NORM_EPS, Scratch, TinyGPT};
use crate::tensor::Tensor;
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
    /// Positions that are filled.
    len: usize,
    /// For each block `[seq_len, cache_row]`: what its attention keeps.
    cache: Vec<Vec<f32>>,
    work: Workspace,
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Decoder");
        fields.field("model", self.model).field("len", &self.len).finish_non_exhaustive()
    }
}

/// Room for [`CHUNK`] positions on their way through a block.
struct Workspace {
    /// `[n, C]`: the residual stream.
    h: Vec<f32>,
    /// `[n, C]`: its norm, then the heads' outputs.
    x: Vec<f32>,
    /// `[n, 4C]`.
    hidden: Vec<f32>,
    /// `[n, 4C]`.
    gelu: Vec<f32>,
    /// `[n, 2]`: what the norm leaves for a backward pass.
    stats: Vec<f32>,
    /// The attention's room, and that of products of a single position.
    scratch: Scratch,
    /// `[V]`.
    logits: Vec<f32>,
}

impl<'m> Decoder<'m> {
    /// One that has read nothing yet.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room for the cache: L·seq_len times what the attention keeps
    /// for a position, 2·C numbers for single-head and multi-head attention.
    pub fn new(model: &'m TinyGPT) -> Result<Decoder<'m>> {
        let config = model.config();
        let (c, t) = (config.d_model, config.seq_len);
        let n = CHUNK.min(t);
        let row = model.attention().cache_row(config);
        let n_heads = model.attention().spec().n_heads.max(1);
        memory::require(bytes_needed(config, row, n_heads))?;
        let zeros = |numbers: usize| vec![0.0; numbers];
        let cache = (0..config.n_layers).map(|_| zeros(t * row)).collect();
        let work = Workspace {
            h: zeros(n * c),
            x: zeros(n * c),
            hidden: zeros(n * 4 * c),
            gelu: zeros(n * 4 * c),
            stats: zeros(n * STATS),
            scratch: Scratch::default(),
            logits: zeros(config.vocab_size),
        };
        Ok(Decoder { model, len: 0, cache, work })
    }

    /// Number of tokens read.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Has it read nothing?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the last [`feed`](Decoder::feed) gave: `[V]`, zeros before the first.
    pub fn logits(&self) -> &[f32] {
        &self.work.logits
    }

    /// Forgets all but the first `len` tokens.
    pub fn rewind(&mut self, len: usize) {
        self.len = self.len.min(len);
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
        let (v, room) = (config.vocab_size, config.seq_len - self.len);
        if tokens.is_empty() || tokens.len() > room {
            return Err(Error::shape("decoder", format!("1 to {room} tokens"), &[tokens.len()]));
        }
        if let Some(position) = tokens.iter().position(|&token| token as usize >= v) {
            let token = tokens[position];
            return Err(Error::TokenOutOfRange { token, position, vocab_size: v });
        }
        let large = tokens.len() > 1 || config.d_model * config.d_model * 4 >= LARGE;
        if large {
            parallel::awake(|| self.read(tokens))?;
        } else {
            self.read(tokens)?;
        }
        Ok(&self.work.logits)
    }

    fn read(&mut self, tokens: &[TokenId]) -> Result<()> {
        for chunk in tokens.chunks(CHUNK) {
            self.embed(chunk);
            for (layer, block) in self.model.blocks.iter().enumerate() {
                self.attend(layer, block, chunk.len())?;
                self.mlp(block, chunk.len());
            }
            self.len += chunk.len();
        }
        self.head((tokens.len() - 1) % CHUNK);
        Ok(())
    }

    /// h ← wte[tokens] + wpe[positions].
    fn embed(&mut self, tokens: &[TokenId]) {
        let c = self.model.config().d_model;
        let (wte, wpe) = (self.model.wte.data(), self.model.wpe.data());
        for (i, (&token, h)) in tokens.iter().zip(self.work.h.chunks_exact_mut(c)).enumerate() {
            let row = |w: &'m [f32], i: usize| &w[i * c..(i + 1) * c];
            elementwise::add(h, row(wte, token as usize), row(wpe, self.len + i));
        }
    }

    /// h ← h + attention(norm(h)), for `n` new positions, which join the cache.
    fn attend(&mut self, layer: usize, block: &Block, n: usize) -> Result<()> {
        let d_model = self.model.config().d_model;
        let Workspace { h, x, stats, scratch, .. } = &mut self.work;
        let (h, x) = (&mut h[..n * d_model], &mut x[..n * d_model]);
        norm(x, &mut stats[..n * STATS], h, &block.ln1_g, &block.ln1_b, d_model);
        self.model.attention().decode(Decode {
            layer,
            before: self.len,
            x,
            p: &block.attention,
            cache: &mut self.cache[layer],
            scratch,
            stream: h,
            d_model,
        })
    }

    /// h ← h + gelu(norm(h)·W_fc + b_fc)·W_out + b_out.
    fn mlp(&mut self, block: &Block, n: usize) {
        let c = self.model.config().d_model;
        let Workspace { h, x, hidden, gelu, stats, scratch, .. } = &mut self.work;
        let partial = &mut scratch.partial;
        let (h, x) = (&mut h[..n * c], &mut x[..n * c]);
        let (hidden, gelu) = (&mut hidden[..n * 4 * c], &mut gelu[..n * 4 * c]);
        norm(x, &mut stats[..n * STATS], h, &block.ln2_g, &block.ln2_b, c);
        rows::fill(hidden, block.b_fc.data());
        rows::add_linear(hidden, x, block.w_fc.data(), n, partial);
        gelu::forward(gelu, hidden);
        rows::add_each(h, block.b_out.data());
        rows::add_linear(h, gelu, block.w_out.data(), n, partial);
    }

    /// logits ← norm(h)·W_lm + b_lm, of one of the positions in `h`.
    fn head(&mut self, i: usize) {
        let model = self.model;
        let c = model.config().d_model;
        let Workspace { h, x, stats, logits, scratch, .. } = &mut self.work;
        let (h, x) = (&h[i * c..(i + 1) * c], &mut x[..c]);
        norm(x, &mut stats[..STATS], h, &model.lnf_g, &model.lnf_b, c);
        match &model.b_lm {
            Some(bias) => logits.copy_from_slice(bias.data()),
            None => logits.fill(0.0),
        }
        match &model.w_lm {
            Some(w) => rows::add_linear(logits, x, w.data(), 1, &mut scratch.partial),
            None => gemv::add_dots(logits, x, model.wte.data()),
        }
    }
}

fn norm(
    y: &mut [f32],
    stats: &mut [f32],
    x: &[f32],
    g: &Option<Tensor>,
    b: &Option<Tensor>,
    width: usize,
) {
    let affine = g.as_ref().zip(b.as_ref()).map(|(g, b)| (g.data(), b.data()));
    layernorm::forward(y, stats, x, affine, width, NORM_EPS);
}

/// The most outputs of a product in row-major weights.
fn widest(config: &Config) -> usize {
    match config.tied_head {
        true => 4 * config.d_model,
        false => config.vocab_size.max(4 * config.d_model),
    }
}

/// Bytes of the cache, with `row` numbers for a position, and of the workspace.
fn bytes_needed(config: &Config, row: usize, n_heads: usize) -> u64 {
    let [v, t, c, l, h] =
        [config.vocab_size, config.seq_len, config.d_model, config.n_layers, n_heads]
            .map(|n| n as u64);
    let partial = (MOST_GROUPS - 1) as u64 * widest(config) as u64;
    // All other factors are within Config's limits, so nothing overflows.
    let cache = (l * t).saturating_mul(row as u64);
    let work = t.min(CHUNK as u64) * (13 * c + STATS as u64) + h.saturating_mul(t) + v + partial;
    cache.saturating_add(work).saturating_mul(4)
}
