//! One block: attention and MLP, each behind a norm and beside a residual path.

use super::tiny_gpt::{NORM_EPS, Parameters};
use super::{Attention, Context};
use crate::error::Result;
use crate::kernels::dropout::Place;
use crate::ops::{self, AttentionParams};
use crate::tensor::Tensor;

/// The parameters of one block. Field names are checkpoint keys (`blocks.{i}.w_qkv`, ...).
#[derive(Clone, Debug)]
pub struct Block {
    /// `[C]`, only with `norm_affine`: gain of the norm before attention.
    pub ln1_g: Option<Tensor>,
    /// `[C]`, only with `norm_affine`.
    pub ln1_b: Option<Tensor>,
    /// `[C, 3C]`: to queries, keys, values.
    pub w_qkv: Tensor,
    /// `[3C]`.
    pub b_qkv: Tensor,
    /// `[C, C]`: from the heads back into the stream.
    pub w_proj: Tensor,
    /// `[C]`.
    pub b_proj: Tensor,
    /// `[C]`, only with `norm_affine`: gain of the norm before the MLP.
    pub ln2_g: Option<Tensor>,
    /// `[C]`, only with `norm_affine`.
    pub ln2_b: Option<Tensor>,
    /// `[C, 4C]`: into the MLP.
    pub w_fc: Tensor,
    /// `[4C]`.
    pub b_fc: Tensor,
    /// `[4C, C]`: out of the MLP.
    pub w_out: Tensor,
    /// `[C]`.
    pub b_out: Tensor,
}

impl Block {
    /// Takes its parameters out of a list, by name.
    pub(super) fn take(list: &mut Parameters, layer: usize) -> Result<Block> {
        let full = |name: &str| format!("blocks.{layer}.{name}");
        Ok(Block {
            w_qkv: list.needed(&full("w_qkv"))?,
            b_qkv: list.needed(&full("b_qkv"))?,
            w_proj: list.needed(&full("w_proj"))?,
            b_proj: list.needed(&full("b_proj"))?,
            w_fc: list.needed(&full("w_fc"))?,
            b_fc: list.needed(&full("b_fc"))?,
            w_out: list.needed(&full("w_out"))?,
            b_out: list.needed(&full("b_out"))?,
            ln1_g: list.optional(&full("ln1_g")),
            ln1_b: list.optional(&full("ln1_b")),
            ln2_g: list.optional(&full("ln2_g")),
            ln2_b: list.optional(&full("ln2_b")),
        })
    }

    /// x ← x + drop(attention(norm(x)));  x ← x + drop(MLP(norm(x))).  Without dropout drop(y) = y.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when x is not of that shape.
    pub fn forward(
        &self,
        x: &Tensor,
        attention: &dyn Attention,
        ctx: &Context<'_>,
    ) -> Result<Tensor> {
        let p = AttentionParams {
            w_qkv: &self.w_qkv,
            b_qkv: &self.b_qkv,
            w_proj: &self.w_proj,
            b_proj: &self.b_proj,
        };
        let masks = |place| ctx.dropout.map(|masks| masks.at(place, x.shape()[1]));
        let y = attention.forward(&norm(x, &self.ln1_g, &self.ln1_b)?, &p, ctx)?;
        let h = ops::add(x, &ops::dropout(&y, masks(Place::Projection(ctx.layer)))?)?;
        let y = self.mlp(&norm(&h, &self.ln2_g, &self.ln2_b)?)?;
        ops::add(&h, &ops::dropout(&y, masks(Place::Mlp(ctx.layer)))?)
    }

    /// gelu(x·W_fc + b_fc)·W_out + b_out.
    fn mlp(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = ops::gelu(&ops::linear_lastdim(x, &self.w_fc, Some(&self.b_fc))?)?; // [B, T, 4C]
        ops::linear_lastdim(&hidden, &self.w_out, Some(&self.b_out)) // [B, T, C]
    }
}

/// The norm with or without gain and bias, as the model has them.
pub(super) fn norm(x: &Tensor, g: &Option<Tensor>, b: &Option<Tensor>) -> Result<Tensor> {
    match (g, b) {
        (Some(g), Some(b)) => ops::layernorm_affine_lastdim(x, g, b, NORM_EPS),
        _ => ops::layernorm_lastdim(x, NORM_EPS),
    }
}
