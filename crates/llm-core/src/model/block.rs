//! One block: attention and MLP, each behind a norm and with a residual path. Once as ops, which
//! record the backward pass, and next to each part the same on the plain rows of a text that grows.

use super::parameters::{Field, Given, Param, ParamList, Parameters, Plan, Structure, parameters};
use super::{Attention, Config, Context, Decode, Growing, Place, Site, Workspace};
use crate::base::{Error, Result};
use crate::kernels::rows;
use crate::ops;
use crate::profile::enter;
use crate::tensor::Tensor;

parameters! {
    /// The parameters of one block. Field names are checkpoint keys (`blocks.{i}.w_fc`, ...); those
    /// of the attention come with them under their own names (`blocks.{i}.w_qkv`, ...).
    pub struct Block(plan) {
        /// `[C]`, only with `norm_affine`: gain of the norm before attention.
        ln1_g: Option<Tensor> = plan.config.norm_affine.then(|| Param::gain(plan.config.d_model)),
        /// `[C]`, only with `norm_affine` where the norm has a bias.
        ln1_b: Option<Tensor> = plan.config.norm_bias().then(|| Param::bias(plan.config.d_model)),
        /// What the attention owns, see [`Attention::parameters`].
        attention: Parameters = plan.attention.clone(),
        /// `[C]`, only with `norm_affine`: gain of the norm before the MLP.
        ln2_g: Option<Tensor> = plan.config.norm_affine.then(|| Param::gain(plan.config.d_model)),
        /// `[C]`, only with `norm_affine` where the norm has a bias.
        ln2_b: Option<Tensor> = plan.config.norm_bias().then(|| Param::bias(plan.config.d_model)),
        /// `[C, I]`, I = 4C unless the settings say otherwise: into the MLP. `[C, 2I]` for a gated
        /// one: columns 0..I make what opens the gate, I..2I what goes through it.
        w_fc: Tensor = Param::side_by_side(plan.config.d_model, plan.config.hidden_columns()),
        /// `[I]`, or `[2I]`; absent without `mlp_bias`.
        b_fc: Option<Tensor> = plan.config.mlp_bias.then(|| Param::bias(plan.config.hidden())),
        /// `[I, C]`: out of the MLP.
        w_out: Tensor = Param::into_stream([plan.config.inner(), plan.config.d_model]),
        /// `[C]`, absent without `mlp_bias`.
        b_out: Option<Tensor> = plan.config.mlp_bias.then(|| Param::bias(plan.config.d_model)),
    }
}

impl Block {
    /// x ← x + drop(attention(norm(x)));  x ← x + drop(MLP(norm(x))).  Without dropout drop(y) = y.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when x, what the attention made of it, or what a probe put in a value's place is not
    /// of that shape.
    pub fn forward(
        &self,
        x: &Tensor,
        attention: &dyn Attention,
        config: &Config,
        ctx: &Context<'_>,
    ) -> Result<Tensor> {
        let _span = enter("block");
        let masks = |place| ctx.dropout.map(|masks| masks.at(place, x.shape()[1]));
        let x = &ctx.pass(Site::Before, x.clone())?;
        let affine = [&self.ln1_g, &self.ln1_b];
        let y = attention.forward(&norm(x, config, affine)?, &self.attention, ctx)?;
        // A sum would repeat a smaller result in silence.
        let expected = format_args!("a result of shape {:?}", x.shape());
        Error::unless_shaped(y.shape() == x.shape(), "attention", expected, y.shape())?;
        let added = ops::dropout(&y, masks(Place::Projection(ctx.layer)))?;
        let h = ops::add(x, &ctx.pass(Site::Attention, added)?)?;
        let h = ctx.pass(Site::Between, h)?;
        let y = self.mlp(&norm(&h, config, [&self.ln2_g, &self.ln2_b])?, config, ctx)?;
        let added = ops::dropout(&y, masks(Place::Mlp(ctx.layer)))?;
        ctx.pass(Site::Behind, ops::add(&h, &ctx.pass(Site::Mlp, added)?)?)
    }

    /// [`Block::forward`] for the next positions of texts: x, the stream in `work`, becomes what
    /// leaves the block, and the new positions join the caches.
    ///
    /// # Errors
    /// As [`Attention::decode`].
    pub(crate) fn forward_rows(
        &self,
        attention: &dyn Attention,
        config: &Config,
        layer: usize,
        texts: Vec<Growing<'_>>,
        work: &mut Workspace,
    ) -> Result<()> {
        let (d_model, n) = (work.d_model, texts.iter().map(|text| text.new).sum());
        let Workspace { stream, x, stats, scratch, .. } = work;
        let (stream, x) = (&mut stream[..n * d_model], &mut x[..n * d_model]);
        norm_rows(x, stats, stream, d_model, config, [&self.ln1_g, &self.ln1_b]);
        let (p, norm_eps) = (&self.attention, config.norm_eps);
        let step = Decode { layer, texts, x, p, scratch, stream, d_model, norm_eps };
        attention.decode(step)?;
        self.mlp_rows(config, n, work);
        Ok(())
    }

    /// act(x·W_fc + b_fc)·W_out + b_out.
    fn mlp(&self, x: &Tensor, config: &Config, ctx: &Context<'_>) -> Result<Tensor> {
        let (act, form) = (config.mlp.row().op, config.activation);
        let hidden = act(&ops::linear_lastdim(x, &self.w_fc, self.b_fc.as_ref())?, form)?; // [B, T, I]
        let hidden = ctx.pass(Site::Hidden, hidden)?;
        ops::linear_lastdim(&hidden, &self.w_out, self.b_out.as_ref()) // [B, T, C]
    }

    /// x ← x + MLP(norm(x)).
    fn mlp_rows(&self, config: &Config, n: usize, work: &mut Workspace) {
        let (c, inner, width) = (work.d_model, config.inner(), config.hidden());
        let Workspace { stream, x, hidden, act, stats, scratch, .. } = work;
        let products = &mut scratch.products;
        let (stream, x) = (&mut stream[..n * c], &mut x[..n * c]);
        let (hidden, act) = (&mut hidden[..n * width], &mut act[..n * inner]);
        norm_rows(x, stats, stream, c, config, [&self.ln2_g, &self.ln2_b]);
        match &self.b_fc {
            Some(b) => rows::fill(hidden, b.data()),
            None => hidden.fill(0.0),
        }
        products.add_linear(hidden, x, &self.w_fc, n);
        (config.mlp.row().rows)(act, hidden, inner, config.activation);
        if let Some(b) = &self.b_out {
            rows::add_each(stream, b.data());
        }
        products.add_linear(stream, act, &self.w_out, n);
    }
}

/// The norm with or without gain and bias, in this order, as the model has them.
pub(super) fn norm(x: &Tensor, config: &Config, affine: [&Option<Tensor>; 2]) -> Result<Tensor> {
    (config.norm.row().op)(x, affine.map(Option::as_ref), config.norm_eps)
}

/// [`norm`] of rows of `width`: y ← norm(x); `stats` is the room that a [`Workspace`] has for them.
pub(super) fn norm_rows(
    y: &mut [f32],
    stats: &mut [f32],
    x: &[f32],
    width: usize,
    config: &Config,
    affine: [&Option<Tensor>; 2],
) {
    let row = config.norm.row();
    let stats = &mut stats[..x.len() / width * row.stats];
    (row.rows)(y, stats, x, affine.map(Option::as_ref), width, config.norm_eps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttentionSpec, TinyGPT};
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
