//! MultiHeadAttention: one x, four projections with biases, a mask that keeps or hides.

use crate::heads::{MultiHeadOutput, attend, expect_square, expect_width, unpacked, unpacked_bias};
use crate::layout::head_dim;
use crate::linear::Linear;
use crate::mask::{AdditiveMask, KeepMask};
use llm_core::{Error, Result, Tensor};

const OP: &str = "MultiHeadAttention";

/// Multi-head self-attention with four linear maps:
///
/// ```text
/// q, k, v = x·Wqᵀ + b_q, x·Wkᵀ + b_k, x·Wvᵀ + b_v     read as H heads of D = C/H channels
/// S_h     = q_h·k_hᵀ/√D                               −∞ where the mask is 0
/// A       = concat_h(softmax(S_h)·v_h)
/// out     = A·Woᵀ + b_o
/// ```
///
/// Every position sees every other unless the mask hides it. With [`KeepMask::causal`] this is
/// `self_attention_mha`; see [`MultiHeadAttention::from_packed`].
///
/// ```
/// use llm_core::{Tensor, ndarray::ArrayD};
/// use llm_courses::{KeepMask, MultiHeadAttention};
///
/// let attention = MultiHeadAttention::new(8, 2, 1)?; // C = 8, H = 2, seed 1
/// let x = Tensor::new(ArrayD::ones(vec![4, 5, 8])); // [B, T, C]
/// let all = attention.attend(&x, Some(&KeepMask::causal(5, 5)?))?;
/// assert_eq!(all.weights.shape(), [4, 2, 5, 5]); // [B, H, T, T]
/// assert_eq!(all.concat.shape(), [4, 5, 8]); // before W_o
/// assert_eq!(all.output.shape(), [4, 5, 8]);
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.2.
#[derive(Clone, Debug)]
pub struct MultiHeadAttention {
    /// C, the width of x and of the output.
    pub d_model: usize,
    /// H.
    pub n_heads: usize,
    /// Makes the queries: rows h·D..(h+1)·D of its weight, stored `[out, in]`, are head h.
    pub wq: Linear,
    /// Makes the keys.
    pub wk: Linear,
    /// Makes the values.
    pub wv: Linear,
    /// Mixes the heads.
    pub wo: Linear,
}

impl MultiHeadAttention {
    /// New parameters, weights and biases uniform in ±1/√C, as PyTorch's `nn.Linear` starts. The
    /// same seed gives the same numbers everywhere.
    ///
    /// # Errors
    /// [`Error::Config`] when C is 0 or beyond this machine, or H does not divide it (the message
    /// lists what does).
    pub fn new(d_model: usize, n_heads: usize, seed: u64) -> Result<MultiHeadAttention> {
        if d_model == 0 || d_model.checked_mul(d_model).is_none_or(|n| n > isize::MAX as usize) {
            return Err(Error::config("d_model", format!("{d_model} is no width for a layer")));
        }
        head_dim(d_model, n_heads)?;
        let [wq, wk, wv, wo] = [0, 1, 2, 3].map(|i| Linear::random([d_model, d_model], seed, i));
        MultiHeadAttention::from_linears(n_heads, wq, wk, wv, wo)
    }

    /// Takes linear maps that exist, with biases or without.
    ///
    /// # Errors
    /// [`Error::Config`] when H does not divide C, [`Error::Shape`] naming a weight that is not
    /// `[C, C]` with the C of `wq`.
    pub fn from_linears(
        n_heads: usize,
        wq: Linear,
        wk: Linear,
        wv: Linear,
        wo: Linear,
    ) -> Result<MultiHeadAttention> {
        let [_, d_model] = wq.weight.dims(OP, "wq of shape [C, C]")?;
        head_dim(d_model, n_heads)?;
        for (name, linear) in [("wq", &wq), ("wk", &wk), ("wv", &wv), ("wo", &wo)] {
            expect_square(OP, name, &linear.weight, d_model)?;
        }
        Ok(MultiHeadAttention { d_model, n_heads, wq, wk, wv, wo })
    }

    /// From the parameters of `self_attention_mha`, its weights stored
    /// `[in, out]`. Gradients reach these four; what is made here is for one backward.
    ///
    /// # Shapes
    /// `w_qkv [C, 3C]`, `b_qkv [3C]`, `w_proj [C, C]`, `b_proj [C]`.
    ///
    /// # Errors
    /// [`Error::Config`] when H does not divide C, [`Error::Shape`] naming what does not fit.
    pub fn from_packed(
        w_qkv: &Tensor,
        b_qkv: &Tensor,
        w_proj: &Tensor,
        b_proj: &Tensor,
        n_heads: usize,
    ) -> Result<MultiHeadAttention> {
        let [wq, wk, wv, wo] = unpacked(OP, w_qkv, w_proj)?;
        let [bq, bk, bv] = unpacked_bias(OP, b_qkv, w_qkv.shape()[0])?;
        let wq = Linear::new(wq, Some(bq))?;
        let wk = Linear::new(wk, Some(bk))?;
        let wv = Linear::new(wv, Some(bv))?;
        let wo = Linear::new(wo, Some(b_proj.clone()))?;
        MultiHeadAttention::from_linears(n_heads, wq, wk, wv, wo)
    }

    /// The attention of every position of x over x.
    ///
    /// # Shapes
    /// `x [.., T, C]` to the same; the batch axes `..` are any number, none included. The mask
    /// broadcasts to `[.., H, T, T]`.
    ///
    /// # Gradient
    /// Into x, the four weights and the four biases.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the argument that does not fit.
    pub fn forward(&self, x: &Tensor, mask: Option<&KeepMask>) -> Result<Tensor> {
        Ok(self.attend(x, mask)?.output)
    }

    /// [`MultiHeadAttention::forward`] with the weights P and the heads before W_o.
    ///
    /// # Errors
    /// As [`MultiHeadAttention::forward`].
    pub fn attend(&self, x: &Tensor, mask: Option<&KeepMask>) -> Result<MultiHeadOutput> {
        let MultiHeadAttention { d_model, n_heads, wq, wk, wv, wo } = self;
        expect_width(OP, "x", x, *d_model)?;
        let [q, k, v] = [wq.forward(x)?, wk.forward(x)?, wv.forward(x)?]; // [.., T, C] each
        let mask = mask.map(AdditiveMask::from);
        attend(OP, [&q, &k, &v], *n_heads, mask.as_ref(), &wo.weight, wo.bias.as_ref())
    }

    /// Weights and biases by name: `wq.weight`, `wq.bias` and so on.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let MultiHeadAttention { d_model: _, n_heads: _, wq, wk, wv, wo } = self;
        let all = [("wq", wq), ("wk", wk), ("wv", wv), ("wo", wo)];
        all.into_iter().flat_map(|(name, linear)| linear.named(name))
    }

    /// [`MultiHeadAttention::parameters`], for an optimizer.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = (String, &mut Tensor)> {
        let MultiHeadAttention { d_model: _, n_heads: _, wq, wk, wv, wo } = self;
        let all = [("wq", wq), ("wk", wk), ("wv", wv), ("wo", wo)];
        all.into_iter().flat_map(|(name, linear)| linear.named_mut(name))
    }

    /// How many numbers weights and biases have: 4·C² + 4·C.
    pub fn n_parameters(&self) -> usize {
        self.parameters().map(|(_, p)| p.numel()).sum()
    }

    /// How many numbers the four weights have, without the biases: 4·C².
    pub fn n_weights(&self) -> usize {
        [&self.wq, &self.wk, &self.wv, &self.wo].map(|linear| linear.weight.numel()).iter().sum()
    }
}
