//! The model one token at a time, with what it computed for the earlier ones kept: a KV cache.

use crate::error::{Error, Result, TokenId};
use crate::kernels::gemm::{Threads, gemm, matrix, matrix_mut};
use crate::kernels::gemv::MOST_GROUPS;
use crate::kernels::layernorm::{self, STATS};
use crate::kernels::{elementwise, gelu, gemv, parallel};
use crate::model::{Block, Config, Decode, NORM_EPS, TinyGPT};
use crate::tensor::Tensor;
use crate::util::memory;
use rayon::prelude::*;

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
    /// H, for the scratch of attention.
    n_heads: usize,
    /// Positions that are filled.
    len: usize,
    /// For each block `[2, seq_len, C]`: keys, then values.
    cache: Vec<Vec<f32>>,
    work: Workspace,
}

/// Room for [`CHUNK`] positions on their way through a block.
struct Workspace {
    /// `[n, C]`: the residual stream.
    h: Vec<f32>,
    /// `[n, C]`: its norm, then the heads' outputs.
    x: Vec<f32>,
    /// `[n, 3C]`.
    qkv: Vec<f32>,
    /// `[n, 4C]`.
    hidden: Vec<f32>,
    /// `[n, 4C]`.
    gelu: Vec<f32>,
    /// `[n, 2]`: what the norm leaves for a backward pass.
    stats: Vec<f32>,
    /// `[H·seq_len]`.
    scores: Vec<f32>,
    /// Sums of groups of rows, for the widest product of a single position.
    partial: Vec<f32>,
    /// `[V]`.
    logits: Vec<f32>,
}

impl<'m> Decoder<'m> {
    /// One that has read nothing yet.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room for the cache, 2·L·seq_len·C numbers.
    pub fn new(model: &'m TinyGPT) -> Result<Decoder<'m>> {
        let config = model.config();
        let (c, t) = (config.d_model, config.seq_len);
        let n = CHUNK.min(t);
        let n_heads = model.attention().spec().n_heads.max(1);
        memory::require(bytes_needed(config, n_heads))?;
        let zeros = |numbers: usize| vec![0.0; numbers];
        let cache = (0..config.n_layers).map(|_| zeros(2 * t * c)).collect();
        let work = Workspace {
            h: zeros(n * c),
            x: zeros(n * c),
            qkv: zeros(n * 3 * c),
            hidden: zeros(n * 4 * c),
            gelu: zeros(n * 4 * c),
            stats: zeros(n * STATS),
            scores: zeros(n_heads * t),
            partial: zeros((MOST_GROUPS - 1) * widest(config)),
            logits: zeros(config.vocab_size),
        };
        Ok(Decoder { model, n_heads, len: 0, cache, work })
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
            parallel::awake(|| self.read(tokens));
        } else {
            self.read(tokens);
        }
        Ok(&self.work.logits)
    }

    fn read(&mut self, tokens: &[TokenId]) {
        for chunk in tokens.chunks(CHUNK) {
            self.embed(chunk);
            for (layer, block) in self.model.blocks.iter().enumerate() {
                self.attend(layer, block, chunk.len());
                self.mlp(block, chunk.len());
            }
            self.len += chunk.len();
        }
        self.head((tokens.len() - 1) % CHUNK);
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

    /// h ← h + attention(norm(h)), for `n` new positions; their keys and values join the cache.
    fn attend(&mut self, layer: usize, block: &Block, n: usize) {
        let (c, t) = (self.model.config().d_model, self.model.config().seq_len);
        let Workspace { h, x, qkv, stats, scores, partial, .. } = &mut self.work;
        let (h, x, qkv) = (&mut h[..n * c], &mut x[..n * c], &mut qkv[..n * 3 * c]);
        norm(x, &mut stats[..n * STATS], h, &block.ln1_g, &block.ln1_b, c);
        fill_rows(qkv, block.b_qkv.data());
        add_linear(qkv, x, &block.w_qkv, n, partial);

        let (keys, values) = self.cache[layer].split_at_mut(t * c);
        for (i, row) in qkv.chunks_exact(3 * c).enumerate() {
            let place = (self.len + i) * c..(self.len + i + 1) * c;
            keys[place.clone()].copy_from_slice(&row[c..2 * c]);
            values[place].copy_from_slice(&row[2 * c..]);
        }
        let (attention, n_heads, before) = (self.model.attention(), self.n_heads, self.len);
        let one = |i: usize, q: &[f32], y: &mut [f32], scores: &mut [f32]| {
            let so_far = before + i + 1;
            let [keys, values] = [&*keys, &*values].map(|x| matrix(&x[..so_far * c], so_far, c));
            let scores = &mut scores[..n_heads * so_far];
            attention.decode(Decode { layer, q, keys, values, scores, y });
        };
        if n == 1 {
            one(0, &qkv[..c], x, scores);
        } else {
            // Each position is one writer's; short texts are not worth sharing.
            let rows = x.par_chunks_exact_mut(c).zip(qkv.par_chunks_exact(3 * c)).enumerate();
            let room = || vec![0.0; n_heads * (before + n)];
            rows.with_min_len(4)
                .for_each_init(room, |scores, (i, (y, row))| one(i, &row[..c], y, scores));
        }
        add_rows(h, block.b_proj.data());
        add_linear(h, x, &block.w_proj, n, partial);
    }

    /// h ← h + gelu(norm(h)·W_fc + b_fc)·W_out + b_out.
    fn mlp(&mut self, block: &Block, n: usize) {
        let c = self.model.config().d_model;
        let Workspace { h, x, hidden, gelu, stats, partial, .. } = &mut self.work;
        let (h, x) = (&mut h[..n * c], &mut x[..n * c]);
        let (hidden, gelu) = (&mut hidden[..n * 4 * c], &mut gelu[..n * 4 * c]);
        norm(x, &mut stats[..n * STATS], h, &block.ln2_g, &block.ln2_b, c);
        fill_rows(hidden, block.b_fc.data());
        add_linear(hidden, x, &block.w_fc, n, partial);
        gelu::forward(gelu, hidden);
        add_rows(h, block.b_out.data());
        add_linear(h, gelu, &block.w_out, n, partial);
    }

    /// logits ← norm(h)·W_lm + b_lm, of one of the positions in `h`.
    fn head(&mut self, i: usize) {
        let model = self.model;
        let c = model.config().d_model;
        let Workspace { h, x, stats, logits, partial, .. } = &mut self.work;
        let (h, x) = (&h[i * c..(i + 1) * c], &mut x[..c]);
        norm(x, &mut stats[..STATS], h, &model.lnf_g, &model.lnf_b, c);
        match &model.b_lm {
            Some(bias) => logits.copy_from_slice(bias.data()),
            None => logits.fill(0.0),
        }
        match &model.w_lm {
            Some(w) => gemv::add_product(logits, x, w.data(), partial),
            None => gemv::add_dots(logits, x, model.wte.data()),
        }
    }
}

/// y ← y + X·W for `n` rows.
fn add_linear(y: &mut [f32], x: &[f32], w: &Tensor, n: usize, partial: &mut [f32]) {
    if n == 1 {
        return gemv::add_product(y, x, w.data(), partial);
    }
    let (k, m) = (x.len() / n, y.len() / n);
    gemm(1.0, matrix(x, n, k), matrix(w.data(), k, m), 1.0, matrix_mut(y, n, m), Threads::Pool);
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

/// Every row ← bias.
fn fill_rows(y: &mut [f32], bias: &[f32]) {
    y.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
}

/// Every row ← row + bias.
fn add_rows(y: &mut [f32], bias: &[f32]) {
    y.chunks_exact_mut(bias.len()).for_each(|row| elementwise::add_assign(row, bias));
}

/// The most outputs of a product in row-major weights.
fn widest(config: &Config) -> usize {
    match config.tied_head {
        true => 4 * config.d_model,
        false => config.vocab_size.max(4 * config.d_model),
    }
}

/// Bytes of the cache and the workspace.
fn bytes_needed(config: &Config, n_heads: usize) -> u64 {
    let [v, t, c, l, h] =
        [config.vocab_size, config.seq_len, config.d_model, config.n_layers, n_heads]
            .map(|n| n as u64);
    let partial = (MOST_GROUPS - 1) as u64 * widest(config) as u64;
    // Each factor is within Config's limits, so nothing overflows.
    4 * (2 * l * t * c + t.min(CHUNK as u64) * (13 * c + STATS as u64) + h * t + v + partial)
}
