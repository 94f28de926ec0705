//! One block: attention and MLP, each behind a norm and beside a residual path.

use super::tiny_gpt::NORM_EPS;
use super::{Attention, Config, Context, Init};
use crate::error::Result;
use crate::ops::{self, AttentionParams};
use crate::tensor::Tensor;
use crate::util::rng::stream;
use ndarray::ArrayD;
use ndarray_rand::RandomExt;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};

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
    pub(super) fn new(config: &Config, seed: u64, layer: usize) -> Block {
        let c = config.d_model;
        let draw = Draw { config, seed, layer: layer as u64 + 1 };
        Block {
            ln1_g: draw.gain(),
            ln1_b: draw.norm_bias(),
            w_qkv: draw.weight(0, &[c, 3 * c], c),
            b_qkv: zeros(3 * c),
            w_proj: draw.residual(1, &[c, c], c),
            b_proj: zeros(c),
            ln2_g: draw.gain(),
            ln2_b: draw.norm_bias(),
            w_fc: draw.weight(2, &[c, 4 * c], c),
            b_fc: zeros(4 * c),
            w_out: draw.residual(3, &[4 * c, c], 4 * c),
            b_out: zeros(c),
        }
    }

    /// x ← x + attention(norm(x));  x ← x + MLP(norm(x)).
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
        let x = ops::add(x, &attention.forward(&norm(x, &self.ln1_g, &self.ln1_b)?, &p, ctx)?)?;
        ops::add(&x, &self.mlp(&norm(&x, &self.ln2_g, &self.ln2_b)?)?)
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

/// Initial values of one layer (0: embeddings and head; i + 1: block i). Every tensor has a random
/// stream of its own, so it does not depend on what else the model has.
pub(super) struct Draw<'a> {
    pub(super) config: &'a Config,
    pub(super) seed: u64,
    pub(super) layer: u64,
}

impl Draw<'_> {
    /// A weight matrix: 1/√fan_in, or GPT-2's 0.02.
    pub(super) fn weight(&self, slot: u64, shape: &[usize], fan_in: usize) -> Tensor {
        let std = match self.config.init {
            Init::FanIn => 1.0 / (fan_in as f32).sqrt(),
            Init::Gpt2 => 0.02,
        };
        self.normal(slot, shape, std)
    }

    /// A weight whose output is added to the stream: GPT-2 divides it by √(2L), so that the sum
    /// over 2L such outputs keeps its size.
    fn residual(&self, slot: u64, shape: &[usize], fan_in: usize) -> Tensor {
        match self.config.init {
            Init::FanIn => self.weight(slot, shape, fan_in),
            Init::Gpt2 => {
                self.normal(slot, shape, 0.02 / (2.0 * self.config.n_layers as f32).sqrt())
            }
        }
    }

    fn normal(&self, slot: u64, shape: &[usize], std: f32) -> Tensor {
        struct Scaled(f32);
        impl Distribution<f32> for Scaled {
            fn sample<R: rand::Rng + ?Sized>(&self, rng: &mut R) -> f32 {
                let x: f32 = StandardNormal.sample(rng);
                self.0 * x
            }
        }
        let mut rng = stream(self.seed, b"init\0\0\0\0", self.layer, slot);
        Tensor::parameter(ArrayD::random_using(shape, Scaled(std), &mut rng))
    }

    pub(super) fn gain(&self) -> Option<Tensor> {
        self.config.norm_affine.then(|| Tensor::parameter(ArrayD::ones(vec![self.config.d_model])))
    }

    pub(super) fn norm_bias(&self) -> Option<Tensor> {
        self.config.norm_affine.then(|| zeros(self.config.d_model))
    }
}

pub(super) fn zeros(n: usize) -> Tensor {
    Tensor::parameter(ArrayD::zeros(vec![n]))
}
