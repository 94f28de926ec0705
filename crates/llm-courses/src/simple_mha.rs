//! SimpleMultiHeadAttention: separate query, key and value, no biases.

use crate::heads::{MultiHeadOutput, attend, expect_square, expect_width, unpacked};
use crate::layout::head_dim;
use crate::linear::linear;
use crate::mask::AdditiveMask;
use llm_core::{Result, Tensor};

const OP: &str = "SimpleMultiHeadAttention";

/// Multi-head attention with four weights and no bias:
///
/// ```text
/// q, k, v = query·Wqᵀ, key·Wkᵀ, value·Wvᵀ             read as H heads of D = C/H channels
/// P_h     = softmax(q_h·k_hᵀ/√D + mask)
/// A       = concat_h(P_h·v_h)
/// out     = A·Woᵀ
/// ```
///
/// Every position sees every other unless the mask hides it. With [`AdditiveMask::causal`] and one
/// x for all three inputs this is `self_attention_mha` without its
/// biases; see [`SimpleMultiHeadAttention::from_packed`].
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.2.
#[derive(Clone, Debug)]
pub struct SimpleMultiHeadAttention {
    /// C, the width of the inputs and of the output.
    pub d_model: usize,
    /// H.
    pub n_heads: usize,
    /// Makes the queries, `[C, C]`, stored `[out, in]` like all four: rows h·D..(h+1)·D are head h.
    pub wq: Tensor,
    /// Makes the keys.
    pub wk: Tensor,
    /// Makes the values.
    pub wv: Tensor,
    /// Mixes the heads.
    pub wo: Tensor,
}

impl SimpleMultiHeadAttention {
    /// Takes weights that exist.
    ///
    /// # Errors
    /// [`Error::Config`](llm_core::Error::Config) when H does not divide C (the message lists what
    /// does), [`Error::Shape`](llm_core::Error::Shape) naming a weight that is not `[C, C]`.
    pub fn new(
        d_model: usize,
        n_heads: usize,
        wq: Tensor,
        wk: Tensor,
        wv: Tensor,
        wo: Tensor,
    ) -> Result<Self> {
        head_dim(d_model, n_heads)?;
        for (name, w) in [("wq", &wq), ("wk", &wk), ("wv", &wv), ("wo", &wo)] {
            expect_square(OP, name, w, d_model)?;
        }
        Ok(SimpleMultiHeadAttention { d_model, n_heads, wq, wk, wv, wo })
    }

    /// From the weights of `self_attention_mha`, stored `[in, out]`:
    /// `w_qkv [C, 3C]` and `w_proj [C, C]`. Gradients reach these two; what is made here is for one
    /// backward.
    ///
    /// # Errors
    /// As [`SimpleMultiHeadAttention::new`].
    pub fn from_packed(w_qkv: &Tensor, w_proj: &Tensor, n_heads: usize) -> Result<Self> {
        let [wq, wk, wv, wo] = unpacked(OP, w_qkv, w_proj)?;
        SimpleMultiHeadAttention::new(w_qkv.shape()[0], n_heads, wq, wk, wv, wo)
    }

    /// The attention of every query over all keys.
    ///
    /// # Shapes
    /// `query [.., L, C]`, `key` and `value` `[.., S, C]` to `[.., L, C]`; the batch axes `..` are
    /// any number, none included. The mask broadcasts to `[.., H, L, S]`.
    ///
    /// # Gradient
    /// Into the three inputs and the four weights.
    ///
    /// # Errors
    /// [`Error::Shape`](llm_core::Error::Shape) naming the argument that does not fit.
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: Option<&AdditiveMask>,
    ) -> Result<Tensor> {
        Ok(self.attend(query, key, value, mask)?.output)
    }

    /// [`SimpleMultiHeadAttention::forward`] with the weights P and the heads before `wo`.
    ///
    /// # Errors
    /// As [`SimpleMultiHeadAttention::forward`].
    pub fn attend(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: Option<&AdditiveMask>,
    ) -> Result<MultiHeadOutput> {
        for (name, x) in [("query", query), ("key", key), ("value", value)] {
            expect_width(OP, name, x, self.d_model)?;
        }
        let q = linear(query, &self.wq, None)?; // [.., L, C]
        let k = linear(key, &self.wk, None)?; // [.., S, C]
        let v = linear(value, &self.wv, None)?; // [.., S, C]
        attend(OP, [&q, &k, &v], self.n_heads, mask, &self.wo, None)
    }

    /// The four weights by name.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let SimpleMultiHeadAttention { d_model: _, n_heads: _, wq, wk, wv, wo } = self;
        let all = [("wq", wq), ("wk", wk), ("wv", wv), ("wo", wo)];
        all.into_iter().map(|(name, w)| (name.to_string(), w))
    }

    /// [`SimpleMultiHeadAttention::parameters`], for an optimizer.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = (String, &mut Tensor)> {
        let SimpleMultiHeadAttention { d_model: _, n_heads: _, wq, wk, wv, wo } = self;
        let all = [("wq", wq), ("wk", wk), ("wv", wv), ("wo", wo)];
        all.into_iter().map(|(name, w)| (name.to_string(), w))
    }

    /// How many numbers the four weights have: 4·C². There are no biases.
    pub fn n_parameters(&self) -> usize {
        self.parameters().map(|(_, p)| p.numel()).sum()
    }
}
