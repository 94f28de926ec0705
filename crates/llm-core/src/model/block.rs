//! One block: attention and MLP, each behind a norm and beside a residual path. Once as ops, which
//! remember how to go back, and beside each part the same on the plain rows of a text that grows.

use super::parameters::{Field, Given, Param, ParamList, Parameters, Plan, Structure, parameters};
use super::{Activation, Attention, Context, Decode, NORM_EPS, Place, Workspace};
use crate::base::{Error, Result};
use crate::kernels::layernorm::{self, STATS};
use crate::kernels::{gelu, gelu_exact, rows};
use crate::ops;
use crate::profile::enter;
use crate::tensor::Tensor;

parameters! {
    /// The parameters of one block. Field names are checkpoint keys (`blocks.{i}.w_fc`, ...); those
    /// of the attention stand beside them under their own names (`blocks.{i}.w_qkv`, ...).
    pub struct Block(plan) {
        /// `[C]`, only with `norm_affine`: gain of the norm before attention.
        ln1_g: Option<Tensor> = plan.config.norm_affine.then(|| Param::gain(plan.config.d_model)),
        /// `[C]`, only with `norm_affine`.
        ln1_b: Option<Tensor> = plan.config.norm_affine.then(|| Param::bias(plan.config.d_model)),
        /// What the attention owns, see [`Attention::parameters`].
        attention: Parameters = plan.attention.clone(),
        /// `[C]`, only with `norm_affine`: gain of the norm before the MLP.
        ln2_g: Option<Tensor> = plan.config.norm_affine.then(|| Param::gain(plan.config.d_model)),
        /// `[C]`, only with `norm_affine`.
        ln2_b: Option<Tensor> = plan.config.norm_affine.then(|| Param::bias(plan.config.d_model)),
        /// `[C, I]`, I = 4C unless the settings say otherwise: into the MLP.
        w_fc: Tensor = Param::weight([plan.config.d_model, plan.config.inner()]),
        /// `[I]`.
        b_fc: Tensor = Param::bias(plan.config.inner()),
        /// `[I, C]`: out of the MLP.
        w_out: Tensor = Param::into_stream([plan.config.inner(), plan.config.d_model]),
        /// `[C]`.
        b_out: Tensor = Param::bias(plan.config.d_model),
    }
}

impl Block {
    /// x ← x + drop(attention(norm(x)));  x ← x + drop(MLP(norm(x))).  Without dropout drop(y) = y.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when x, or what the attention made of it, is not of that shape.
    pub fn forward(
        &self,
        x: &Tensor,
        attention: &dyn Attention,
        activation: Activation,
        ctx: &Context<'_>,
    ) -> Result<Tensor> {
        let _span = enter("block");
        let masks = |place| ctx.dropout.map(|masks| masks.at(place, x.shape()[1]));
        let y = attention.forward(&norm(x, &self.ln1_g, &self.ln1_b)?, &self.attention, ctx)?;
        if y.shape() != x.shape() {
            // A sum would repeat a smaller result in silence.
            return Err(Error::shape(
                "attention",
                format!("a result of shape {:?}", x.shape()),
                y.shape(),
            ));
        }
        let h = ops::add(x, &ops::dropout(&y, masks(Place::Projection(ctx.layer)))?)?;
        let y = self.mlp(&norm(&h, &self.ln2_g, &self.ln2_b)?, activation)?;
        ops::add(&h, &ops::dropout(&y, masks(Place::Mlp(ctx.layer)))?)
    }

    /// [`Block::forward`] for the next `n` positions of a text: x, the stream in `work`, becomes what
    /// leaves the block, and the new positions join the cache of the `before` that were read.
    ///
    /// # Errors
    /// Those of [`Attention::decode`].
    pub(crate) fn forward_rows(
        &self,
        attention: &dyn Attention,
        [layer, before, n]: [usize; 3],
        cache: &mut [f32],
        work: &mut Workspace,
    ) -> Result<()> {
        let d_model = work.d_model;
        let Workspace { stream, x, stats, scratch, .. } = work;
        let (stream, x) = (&mut stream[..n * d_model], &mut x[..n * d_model]);
        norm_rows(x, &mut stats[..n * STATS], stream, &self.ln1_g, &self.ln1_b);
        let p = &self.attention;
        attention.decode(Decode { layer, before, x, p, cache, scratch, stream, d_model })?;
        self.mlp_rows(n, work);
        Ok(())
    }

    /// gelu(x·W_fc + b_fc)·W_out + b_out.
    fn mlp(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        let gelu = match activation {
            Activation::GeluTanh => ops::gelu,
            Activation::Gelu => ops::gelu_exact,
        };
        let hidden = gelu(&ops::linear_lastdim(x, &self.w_fc, Some(&self.b_fc))?)?; // [B, T, I]
        ops::linear_lastdim(&hidden, &self.w_out, Some(&self.b_out)) // [B, T, C]
    }

    /// x ← x + MLP(norm(x)).
    fn mlp_rows(&self, n: usize, work: &mut Workspace) {
        let (c, inner) = (work.d_model, work.inner);
        let activate = match work.activation {
            Activation::GeluTanh => gelu::forward,
            Activation::Gelu => gelu_exact::forward,
        };
        let Workspace { stream, x, hidden, gelu, stats, scratch, .. } = work;
        let partial = &mut scratch.partial;
        let (stream, x) = (&mut stream[..n * c], &mut x[..n * c]);
        let (hidden, gelu) = (&mut hidden[..n * inner], &mut gelu[..n * inner]);
        norm_rows(x, &mut stats[..n * STATS], stream, &self.ln2_g, &self.ln2_b);
        rows::fill(hidden, self.b_fc.data());
        rows::add_linear(hidden, x, self.w_fc.data(), n, partial);
        activate(gelu, hidden);
        rows::add_each(stream, self.b_out.data());
        rows::add_linear(stream, gelu, self.w_out.data(), n, partial);
    }
}

/// The norm with or without gain and bias, as the model has them.
pub(super) fn norm(x: &Tensor, g: &Option<Tensor>, b: &Option<Tensor>) -> Result<Tensor> {
    match (g, b) {
        (Some(g), Some(b)) => ops::layernorm_affine_lastdim(x, g, b, NORM_EPS),
        _ => ops::layernorm_lastdim(x, NORM_EPS),
    }
}

/// [`norm`] of rows: y ← norm(x).
pub(super) fn norm_rows(
    y: &mut [f32],
    stats: &mut [f32],
    x: &[f32],
    g: &Option<Tensor>,
    b: &Option<Tensor>,
) {
    let affine = g.as_ref().zip(b.as_ref()).map(|(g, b)| (g.data(), b.data()));
    let width = x.len() / (stats.len() / STATS);
    layernorm::forward(y, stats, x, affine, width, NORM_EPS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttentionSpec, Config, TinyGPT};
    use std::sync::Arc;

    /// Forgets all positions but the first.
    struct Narrow;

    impl Attention for Narrow {
        fn spec(&self) -> AttentionSpec {
            AttentionSpec::new("narrow", 1)
        }
        fn check(&self, _: &Config) -> Result<()> {
            Ok(())
        }
        fn forward(&self, x: &Tensor, _: &Parameters, _: &Context<'_>) -> Result<Tensor> {
            ops::slice(x, 1, 0, 1)
        }
    }

    #[test]
    fn a_smaller_result_of_an_attention_is_not_repeated() {
        let config = Config::new(7, 5, 4, 1);
        let model = TinyGPT::with_attention(config, Arc::new(Narrow), 1).unwrap();
        assert!(model.logits(&[1], [1, 1]).is_ok());
        let error = model.logits(&[1, 2, 3], [1, 3]).unwrap_err().to_string();
        assert_eq!(error, "attention: expected a result of shape [1, 3, 4], got [1, 1, 4]");
    }
}
