//! Attention over texts that grow: new positions against what earlier ones left in a cache.

use super::products::Products;
use super::{Context, Parameters};
use crate::autograd::no_grad;
use crate::base::{Error, Result};
use crate::kernels::gemm::matrix;
use crate::kernels::rows;
use crate::ops::{AttentionParams, expect_shape};
use crate::tensor::Tensor;
use ndarray::ArrayView2;
use rayon::prelude::*;

/// The next positions of one text or of several in one block, for
/// [`Attention::decode`](super::Attention::decode).
#[derive(Debug)]
pub struct Decode<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// The texts, in the order of their rows in `x`.
    pub texts: Vec<Growing<'a>>,
    /// `[n, C]`: the norm of the residual stream at the new positions of all texts.
    pub x: &'a [f32],
    /// The attention's parameters.
    pub p: &'a Parameters,
    /// Room to work in that stays from call to call.
    pub scratch: &'a mut Scratch,
    /// `[n, C]`: the residual stream, to which the sublayer's output is to be added.
    pub stream: &'a mut [f32],
    /// C.
    pub d_model: usize,
    /// ε inside the root of the model's norms, for an attention that has some of its own.
    pub norm_eps: f32,
}

/// A text of which some positions are new.
#[derive(Debug)]
pub struct Growing<'a> {
    /// Positions that were read before.
    pub before: usize,
    /// Positions that are new, at least one.
    pub new: usize,
    /// `[seq_len, cache_row]`, flat: what the attention keeps; it decides how.
    pub cache: &'a mut [f32],
}

impl Growing<'_> {
    /// Keeps a row for each new position, `rows [new, cache_row]`, and gives the rows of all
    /// positions up to the last new one: `[before + new, cache_row]`, flat.
    ///
    /// # Errors
    /// [`Error::Shape`] when the cache has not as much room.
    pub fn keep(&mut self, rows: &[f32]) -> Result<&[f32]> {
        let (n, len) = (self.new, self.cache.len());
        let row = rows.len() / n.max(1);
        let (start, end) = (self.before * row, self.before * row + rows.len());
        let expected = format_args!("rows that fit in a cache of {len} numbers");
        Error::unless_shaped(end <= len, "decode", expected, &[n, row])?;
        self.cache[start..end].copy_from_slice(rows);
        Ok(&self.cache[..end])
    }
}

/// Buffers that grow when they are first needed.
#[derive(Debug, Default)]
pub struct Scratch {
    qkv: Vec<f32>,
    heads: Vec<f32>,
    scores: Vec<f32>,
    /// Products with the model's matrices.
    pub(crate) products: Products,
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

/// M of `w [C, M]`.
fn width_of(w: &Tensor, d_model: usize) -> Result<usize> {
    match *w.shape() {
        [c, m] if c == d_model && m > 0 => Ok(m),
        _ => Err(Error::shape("decode", format!("w of shape [{d_model}, M]"), w.shape())),
    }
}

/// An attention's own `decode` is usually [`linear`](Decode::linear) for what it needs of the new
/// positions, [`keep`](Growing::keep) for what later ones of a text need, its equation for each new position,
/// and [`add_linear`](Decode::add_linear) for the output.
impl Decode<'_> {
    /// Number of new positions of all texts.
    pub fn positions(&self) -> usize {
        self.x.len() / self.d_model
    }

    /// x·W + b at the new positions: `[n, M]`, flat.
    ///
    /// # Shapes
    /// `w [C, M]`, `b [M]`.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the tensor whose shape does not fit.
    pub fn linear(&mut self, w: &Tensor, b: Option<&Tensor>) -> Result<Vec<f32>> {
        let m = width_of(w, self.d_model)?;
        let (n, mut y) = (self.positions(), vec![0.0; self.positions() * m]);
        if let Some(b) = b {
            expect_shape("decode", "b of shape", b, &[m])?;
            rows::fill(&mut y, b.data());
        }
        self.scratch.products.add_linear(&mut y, self.x, w, n);
        Ok(y)
    }

    /// Calls `f` with each text and its rows of some arrays that have a row for each new position, `[n, ..]`, flat.
    ///
    /// # Errors
    /// What `f` says.
    pub fn each<const N: usize>(
        &mut self,
        mut rows: [&mut [f32]; N],
        mut f: impl FnMut(&mut Growing<'_>, [&mut [f32]; N]) -> Result<()>,
    ) -> Result<()> {
        let n = self.positions().max(1);
        let widths = rows.each_ref().map(|rows| rows.len() / n);
        for text in &mut self.texts {
            let mut widths = widths.iter();
            let own = rows.each_mut().map(|rows| {
                let numbers = text.new * widths.next().unwrap_or(&0);
                rows.split_off_mut(..numbers).unwrap_or_default()
            });
            f(text, own)?;
        }
        Ok(())
    }

    /// stream ← stream + y·W + b: the output projection.
    ///
    /// # Shapes
    /// `y [n, K]`, flat; `w [K, C]`, `b [C]`.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the tensor whose shape does not fit.
    pub fn add_linear(&mut self, y: &[f32], w: &Tensor, b: Option<&Tensor>) -> Result<()> {
        let n = self.positions();
        expect_shape("decode", "w of shape", w, &[y.len() / n.max(1), self.d_model])?;
        if let Some(b) = b {
            expect_shape("decode", "b of shape", b, &[self.d_model])?;
            rows::add_each(self.stream, b.data());
        }
        self.scratch.products.add_linear(self.stream, y, w, n);
        Ok(())
    }

    /// Decoding with the four standard parameters and a cache of keys and values
    /// (`cache_row` is 2C): projects the new positions, keeps their keys and values, calls `attend`
    /// for each new position, and adds the output projection to the stream.
    ///
    /// # Errors
    /// [`Error::Config`] when the attention has other parameters.
    pub fn with_keys_and_values(
        self,
        n_heads: usize,
        attend: impl Fn(Position<'_>) + Sync,
    ) -> Result<()> {
        let (n, c) = (self.positions(), self.d_model);
        let Decode { texts, x, p, scratch, stream, .. } = self;
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let Scratch { qkv, heads, scores, products } = scratch;
        let (qkv, heads) = (room(qkv, n * 3 * c), room(heads, n * c));
        rows::fill(qkv, b_qkv.data());
        products.add_linear(qkv, x, w_qkv, n);

        let (mut qkv_left, mut heads_left) = (&*qkv, &mut *heads);
        for Growing { before, new, cache } in texts {
            let qkv = qkv_left.split_off(..new * 3 * c).unwrap_or_default();
            let heads = heads_left.split_off_mut(..new * c).unwrap_or_default();
            let (keys, values) = cache.split_at_mut(cache.len() / 2);
            for (i, row) in qkv.chunks_exact(3 * c).enumerate() {
                let place = (before + i) * c..(before + i + 1) * c;
                keys[place.clone()].copy_from_slice(&row[c..2 * c]);
                values[place].copy_from_slice(&row[2 * c..]);
            }
            let one = |i: usize, q: &[f32], y: &mut [f32], scores: &mut [f32]| {
                let so_far = before + i + 1;
                let [keys, values] =
                    [&*keys, &*values].map(|x| matrix(&x[..so_far * c], so_far, c));
                let scores = &mut scores[..n_heads * so_far];
                attend(Position { q, keys, values, scores, y });
            };
            if new == 1 {
                one(0, &qkv[..c], heads, room(scores, n_heads * (before + 1)));
            } else {
                // Each position is one thread's; short texts are not worth sharing.
                let rows =
                    heads.par_chunks_exact_mut(c).zip(qkv.par_chunks_exact(3 * c)).enumerate();
                let room = || vec![0.0; n_heads * (before + new)];
                rows.with_min_len(4)
                    .for_each_init(room, |scores, (i, (y, row))| one(i, &row[..c], y, scores));
            }
        }
        rows::add_each(stream, b_proj.data());
        products.add_linear(stream, heads, w_proj, n);
        Ok(())
    }

    /// Decoding without a cache of results: keeps the inputs (`cache_row` is C) and runs `forward`
    /// over all of them.
    pub(super) fn again(
        self,
        forward: impl Fn(&Tensor, &Parameters, &Context<'_>) -> Result<Tensor>,
    ) -> Result<()> {
        let Decode { layer, texts, mut x, p, mut stream, d_model: c, norm_eps, .. } = self;
        for mut text in texts {
            let new = x.split_off(..text.new * c).unwrap_or_default();
            let all = Tensor::from_vec(&[1, text.before + text.new, c], text.keep(new)?.to_vec())?;
            let y = no_grad(|| forward(&all, p, &Context::new(layer).with_norm_eps(norm_eps)))?;
            let expected = format_args!("an attention's output of shape {:?}", all.shape());
            Error::unless_shaped(y.shape() == all.shape(), "decode", expected, y.shape())?;
            let stream = stream.split_off_mut(..text.new * c).unwrap_or_default();
            let new = &y.data()[text.before * c..];
            stream.iter_mut().zip(new).for_each(|(h, y)| *h += y);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_do_not_fit_are_refused_and_change_nothing() {
        let tensor = |shape: &[usize]| {
            Tensor::from_vec(shape, (0..shape.iter().product()).map(|i| i as f32).collect())
                .unwrap()
        };
        let (p, x) = (Parameters::default(), [1.0, 2.0, 3.0, 4.0]); // two positions of C = 2
        let (mut cache, mut stream, mut scratch) = ([0.0; 9], [0.0; 4], Scratch::default());
        let mut step = Decode {
            layer: 0,
            texts: vec![Growing { before: 1, new: 2, cache: &mut cache }],
            x: &x,
            p: &p,
            scratch: &mut scratch,
            stream: &mut stream,
            d_model: 2,
            norm_eps: 1e-5,
        };
        assert_eq!(step.linear(&tensor(&[2, 1]), Some(&tensor(&[1]))).unwrap(), [2.0, 4.0]);
        assert_eq!(step.linear(&tensor(&[2, 1]), None).unwrap(), [2.0, 4.0]);
        for (w, b) in [(vec![3, 1], vec![1]), (vec![2], vec![1]), (vec![2, 0], vec![0])] {
            assert!(step.linear(&tensor(&w), Some(&tensor(&b))).is_err(), "{w:?}");
        }
        assert!(step.linear(&tensor(&[2, 1]), Some(&tensor(&[2]))).is_err());

        let text = &mut step.texts[0];
        assert_eq!(text.keep(&[5.0, 6.0]).unwrap(), [0.0, 5.0, 6.0]);
        assert_eq!(text.keep(&[1.0; 6]).unwrap(), [0.0, 5.0, 6.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(text.keep(&[1.0; 8]).is_err());

        for (w, b) in [([2, 2], [2]), ([1, 3], [2]), ([1, 2], [1])] {
            assert!(step.add_linear(&[1.0, 2.0], &tensor(&w), Some(&tensor(&b))).is_err(), "{w:?}");
        }
        assert_eq!(*step.stream, [0.0; 4]);
        step.add_linear(&[1.0, 2.0], &tensor(&[1, 2]), Some(&tensor(&[2]))).unwrap();
        assert_eq!(*step.stream, [0.0, 2.0, 0.0, 3.0]);
    }
}
