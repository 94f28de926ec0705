//! Attention over a text that grows: new positions against what earlier ones left in a cache.

use super::{Context, Parameters};
use crate::autograd::no_grad;
use crate::base::Result;
use crate::kernels::gemm::matrix;
use crate::kernels::rows;
use crate::ops::AttentionParams;
use crate::tensor::Tensor;
use ndarray::ArrayView2;
use rayon::prelude::*;

/// The next positions of a text in one block, for [`Attention::decode`](super::Attention::decode).
#[derive(Debug)]
pub struct Decode<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Positions that were read before these.
    pub before: usize,
    /// `[n, C]`: the norm of the residual stream at the new positions.
    pub x: &'a [f32],
    /// The attention's parameters.
    pub p: &'a Parameters,
    /// `[seq_len, cache_row]`, flat: what the attention keeps; it decides how.
    pub cache: &'a mut [f32],
    /// Room to work in that stays from call to call.
    pub scratch: &'a mut Scratch,
    /// `[n, C]`: the residual stream, to which the sublayer's output is to be added.
    pub stream: &'a mut [f32],
    /// C.
    pub d_model: usize,
}

/// Buffers that grow when they are first needed.
#[derive(Debug, Default)]
pub struct Scratch {
    qkv: Vec<f32>,
    heads: Vec<f32>,
    scores: Vec<f32>,
    /// Sums of groups of rows, for products of a single position.
    pub(crate) partial: Vec<f32>,
}

/// The first `len` numbers of a buffer, whatever they are.
fn room(buffer: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

/// One new position against all positions up to it.
#[derive(Debug)]
pub struct Position<'a> {
    /// `[C]`: its query.
    pub q: &'a [f32],
    /// `[n, C]`: keys of all positions, its own last.
    pub keys: ArrayView2<'a, f32>,
    /// `[n, C]`: values of all positions, its own last.
    pub values: ArrayView2<'a, f32>,
    /// `[H·n]`: space to work in.
    pub scores: &'a mut [f32],
    /// `[C]`: the heads' outputs side by side, before the output projection.
    pub y: &'a mut [f32],
}

impl Decode<'_> {
    /// Number of new positions.
    pub fn positions(&self) -> usize {
        self.x.len() / self.d_model
    }

    /// Decoding with the four standard parameters and a cache of keys and values
    /// (`cache_row` is 2C): projects the new positions, keeps their keys and values, calls `attend`
    /// for each new position, and adds the output projection to the stream.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when the attention has other parameters.
    pub fn with_keys_and_values(
        self,
        n_heads: usize,
        attend: impl Fn(Position<'_>) + Sync,
    ) -> Result<()> {
        let (n, c) = (self.positions(), self.d_model);
        let Decode { before, x, p, cache, scratch, stream, .. } = self;
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let Scratch { qkv, heads, scores, partial } = scratch;
        let (qkv, heads) = (room(qkv, n * 3 * c), room(heads, n * c));
        rows::fill(qkv, b_qkv.data());
        rows::add_linear(qkv, x, w_qkv.data(), n, partial);

        let (keys, values) = cache.split_at_mut(cache.len() / 2);
        for (i, row) in qkv.chunks_exact(3 * c).enumerate() {
            let place = (before + i) * c..(before + i + 1) * c;
            keys[place.clone()].copy_from_slice(&row[c..2 * c]);
            values[place].copy_from_slice(&row[2 * c..]);
        }
        let one = |i: usize, q: &[f32], y: &mut [f32], scores: &mut [f32]| {
            let so_far = before + i + 1;
            let [keys, values] = [&*keys, &*values].map(|x| matrix(&x[..so_far * c], so_far, c));
            let scores = &mut scores[..n_heads * so_far];
            attend(Position { q, keys, values, scores, y });
        };
        if n == 1 {
            one(0, &qkv[..c], heads, room(scores, n_heads * (before + 1)));
        } else {
            // Each position is one writer's; short texts are not worth sharing.
            let rows = heads.par_chunks_exact_mut(c).zip(qkv.par_chunks_exact(3 * c)).enumerate();
            let room = || vec![0.0; n_heads * (before + n)];
            rows.with_min_len(4)
                .for_each_init(room, |scores, (i, (y, row))| one(i, &row[..c], y, scores));
        }
        rows::add_each(stream, b_proj.data());
        rows::add_linear(stream, heads, w_proj.data(), n, partial);
        Ok(())
    }

    /// Decoding without a cache of results: keeps the inputs (`cache_row` is C) and runs `forward`
    /// over all of them.
    pub(super) fn again(
        self,
        forward: impl FnOnce(&Tensor, &Parameters, &Context<'_>) -> Result<Tensor>,
    ) -> Result<()> {
        let (n, c) = (self.positions(), self.d_model);
        let Decode { layer, before, x, p, cache, stream, .. } = self;
        cache[before * c..(before + n) * c].copy_from_slice(x);
        let all = before + n;
        let x = Tensor::from_vec(&[1, all, c], cache[..all * c].to_vec())?;
        let y = no_grad(|| forward(&x, p, &Context::new(layer)))?;
        let [_, t, width] = y.dims("decode", "an attention's output of shape [1, T, C]")?;
        if (t, width) != (all, c) {
            let expected = format!("an attention's output of shape {:?}", x.shape());
            return Err(crate::Error::shape("decode", expected, y.shape()));
        }
        let new = &y.data()[before * c..];
        stream.iter_mut().zip(new).for_each(|(h, y)| *h += y);
        Ok(())
    }
}
