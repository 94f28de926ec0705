//! What an attention is given about one call, and what it shows of itself.

use super::{Place, Probe, Site};
use crate::base::{Error, Result};
use crate::kernels::attention as kernel;
use crate::kernels::dropout::Dropout;
use crate::kernels::gemm::matrix;
use crate::message;
use crate::tensor::Tensor;
use ndarray::{ArrayView2, ArrayView3};

/// ε inside the root of a norm, unless a model says otherwise.
pub const NORM_EPS: f32 = 1e-5;

/// What an attention is given about one call, besides its input and parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// For each head whether it is used; empty: all are.
    pub heads: &'a [bool],
    /// Shown what is computed on the way, and may change it.
    pub probe: Option<&'a dyn Probe>,
    /// In training with dropout: the batch's masks. The weights P are dropped by the attention
    /// itself, at [`Place::Attention`]; what it returns, by the block.
    pub dropout: Option<Dropout>,
    /// ε inside the root of the model's norms, for an attention that has some of its own.
    pub norm_eps: f32,
}

impl<'a> Context<'a> {
    /// The context of block `layer`: all heads, no probe, no dropout, the usual ε.
    pub fn new(layer: usize) -> Context<'a> {
        Context { layer, heads: &[], probe: None, dropout: None, norm_eps: NORM_EPS }
    }

    /// This context, shown to `probe`.
    pub fn with_probe(self, probe: Option<&'a dyn Probe>) -> Context<'a> {
        Context { probe, ..self }
    }

    /// This context with only some heads.
    pub fn with_heads(self, heads: &'a [bool]) -> Context<'a> {
        Context { heads, ..self }
    }

    /// This context in a model whose norms have this ε.
    pub fn with_norm_eps(self, norm_eps: f32) -> Context<'a> {
        Context { norm_eps, ..self }
    }

    /// The masks of the weights P, each sequence with `rows_per_sequence` rows of them; `None`
    /// without dropout.
    pub fn weight_masks(&self, rows_per_sequence: usize) -> Option<Dropout> {
        self.dropout.map(|masks| masks.at(Place::Attention(self.layer), rows_per_sequence))
    }

    /// Shows the probe, if there is one, what softmax attention with the scale 1/√D did: `qkv
    /// [B, T, 3C]` read as H heads each of q, k, v, and `y [B, T, C]`, what the heads gave. Gives back what
    /// is to be projected: `y`, or what the probe put in its place. The fast kernel never writes P out, so
    /// P is computed once more, and held against `y`. An attention with other weights hands them to
    /// [`Context::show_weights`].
    ///
    /// # Errors
    /// [`Error::Shape`] when `y` has not three axes, the last divisible by H, or `qkv` is not of its
    /// shape with 3C in place of C; as [`Context::show_heads`].
    pub fn show(&self, qkv: &Tensor, y: Tensor, n_heads: usize) -> Result<Tensor> {
        if self.probe.is_none() {
            return Ok(y);
        }
        let [b, t, c] = y.dims("probe", "y of shape [B, T, C]")?;
        let d = c.checked_div(n_heads).unwrap_or(0);
        let (wanted, got) = ([b, t, 3 * c], qkv.shape());
        let expected = format_args!("qkv of shape {wanted:?} for {n_heads} heads");
        Error::unless_shaped(d * n_heads == c && got == wanted, "probe", expected, got)?;
        let parts = kernel::head_views(qkv.data(), [b, t, 3 * n_heads, d]);
        self.show_heads(y, n_heads, |sequence, head| {
            let [q, k, v] =
                [0, 1, 2].map(|part| kernel::head_view(&parts, sequence, part * n_heads + head));
            (kernel::probs(q, k, kernel::Scoring::new(d)), v)
        })
    }

    /// Shows the probe, if there is one, the weights of every head: `head(sequence, h)` gives P
    /// `[T, T]`, flat, and the values V `[T, D]` that it weighs. `y [B, T, H·D]` is what the heads
    /// gave; what is to be projected comes back, as from [`Context::show`].
    ///
    /// # Errors
    /// [`Error::Config`] when P·V is not `y`, for a head that is used: a map of weights that were not
    /// used would be wrong unseen. [`Error::Shape`] when `y` or P has another shape.
    pub fn show_heads<'v>(
        &self,
        y: Tensor,
        n_heads: usize,
        head: impl Fn(usize, usize) -> (Vec<f32>, ArrayView2<'v, f32>),
    ) -> Result<Tensor> {
        let Some(probe) = self.probe.filter(|probe| probe.wants_heads()) else {
            return self.pass(Site::Heads, y);
        };
        let [b, t, width] = y.dims("probe", "y of shape [B, T, H·D]")?;
        let parts = kernel::head_views(y.data(), [b, t, n_heads, width / n_heads.max(1)]);
        for (sequence, h) in (0..b).flat_map(|b| (0..n_heads).map(move |h| (b, h))) {
            let (p, v) = head(sequence, h);
            let expected = format_args!("P of {t} × {t} numbers");
            Error::unless_shaped(p.len() == t * t, "probe", expected, &[p.len()])?;
            let p = matrix(&p, t, t);
            // Dropped weights are not those of P, and a head that is switched off gives zeros.
            if self.heads.get(h) != Some(&false) && self.dropout.is_none() {
                check_weights([p, v, kernel::head_view(&parts, sequence, h)], h)?;
            }
            probe.head(self.layer, sequence, h, p);
        }
        self.pass(Site::Heads, y)
    }

    /// Shows the probe, if there is one, the weights that forward itself used: `p [B, H, T, T]`,
    /// before dropout, and `y [B, T, H·D]`, what the heads gave; what is to be projected comes back, as
    /// from [`Context::show`].
    ///
    /// # Errors
    /// [`Error::Shape`] when the two do not fit each other.
    pub fn show_weights(&self, p: &Tensor, y: Tensor) -> Result<Tensor> {
        let Some(probe) = self.probe else { return Ok(y) };
        let [b, t, _] = y.dims("probe", "y of shape [B, T, H·D]")?;
        let [sequences, n_heads, rows, columns] = p.dims("probe", "p of shape [B, H, T, T]")?;
        let fits = [sequences, rows, columns] == [b, t, t] && n_heads > 0;
        let expected = format_args!("p of shape [{b}, H, {t}, {t}]");
        Error::unless_shaped(fits, "probe", expected, p.shape())?;
        for (i, p) in p.data().chunks_exact(t * t).enumerate() {
            probe.head(self.layer, i / n_heads, i % n_heads, matrix(p, t, t));
        }
        self.pass(Site::Heads, y)
    }

    /// The numbers at a site of the block, `[B, T, N]`, after the probe, if there is one, has seen them: they
    /// themselves, or what the probe put in their place. For those who write a block or an attention.
    ///
    /// # Errors
    /// [`Error::Shape`] when they have not three axes, or what stands in their place has another shape.
    pub fn pass(&self, site: Site, value: Tensor) -> Result<Tensor> {
        let Some(probe) = self.probe else { return Ok(value) };
        let shape: [usize; 3] = value.dims("probe", "values of shape [B, T, N]")?;
        let view = ArrayView3::from_shape(shape, value.data());
        let view = view.map_err(|_| Error::shape("probe", format!("{shape:?}"), value.shape()))?;
        let Some(other) = probe.value(self.layer, site, view) else { return Ok(value) };
        let expected = format_args!("values of shape {shape:?} in place of those shown");
        Error::unless_shaped(other.shape() == shape, "probe", expected, other.shape())?;
        Ok(Tensor::new(other.into_dyn()))
    }

    /// This context with these masks.
    pub fn with_dropout(self, dropout: Option<Dropout>) -> Context<'a> {
        Context { dropout, ..self }
    }
}

/// `Err` unless some rows of P·V, the last among them, are those of y, up to rounding.
fn check_weights([p, v, y]: [ArrayView2<'_, f32>; 3], head: usize) -> Result<()> {
    const ROWS: usize = 8;
    const TOLERANCE: f32 = 1e-4;
    let size = v.iter().fold(1.0, |size: f32, v| size.max(v.abs()));
    for i in (0..p.nrows()).rev().step_by(p.nrows().div_ceil(ROWS)) {
        for (d, y) in y.row(i).iter().enumerate() {
            let sum: f32 = p.row(i).iter().zip(v.column(d)).map(|(p, v)| p * v).sum();
            if (sum - y).abs() > TOLERANCE * size {
                let reason = message!(
                    "the weights shown are not those used: in row {} of head {} they give {}, the \
                     attention gave {}; hand over its own (show_weights)",
                    i,
                    head,
                    sum,
                    *y
                );
                return Err(Error::config("attention", reason));
            }
        }
    }
    Ok(())
}
