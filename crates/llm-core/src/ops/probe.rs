//! What sees a block's numbers, and may put others in their place.

use ndarray::{Array3, ArrayView2, ArrayView3};
use std::fmt;

/// A place in a block whose numbers a [`Probe`] is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// `[B, T, C]`: the residual stream before the block.
    Before,
    /// `[B, T, H·D]`: the heads side by side, before their projection.
    Heads,
    /// `[B, T, C]`: what the attention adds to the stream.
    Attention,
    /// `[B, T, C]`: the stream between attention and MLP.
    Between,
    /// `[B, T, I]`: the MLP's numbers between its two products, behind the activation.
    Hidden,
    /// `[B, T, C]`: what the MLP adds to the stream.
    Mlp,
    /// `[B, T, C]`: the stream behind the block.
    Behind,
}

// The names are those of TransformerLens's hooks.
crate::choices!(
    Site,
    Before = "resid_pre",
    Heads = "z",
    Attention = "attn_out",
    Between = "resid_mid",
    Hidden = "mlp_post",
    Mlp = "mlp_out",
    Behind = "resid_post"
);

/// Sees what a block computes on the way, and may change it. Methods are called during a forward pass, on
/// its thread; those that a probe leaves out see nothing and change nothing.
pub trait Probe {
    /// P of one head: `probs [T, T]`, row i the weights of query i.
    fn head(&self, _layer: usize, _sequence: usize, _head: usize, _probs: ArrayView2<'_, f32>) {}

    /// Whether [`Probe::head`] is wanted: P is computed for it alone.
    fn wants_heads(&self) -> bool {
        true
    }

    /// The numbers at a site of block `layer`, `[B, T, N]`. What is given back stands in their place from
    /// there on, as a constant: no gradient goes through it. By default they stay.
    ///
    /// ```
    /// use llm_core::model::{Probe, Site};
    /// use llm_core::ndarray::{Array3, ArrayView3};
    /// use llm_core::{Config, TinyGPT};
    ///
    /// /// Takes the MLP of a block away.
    /// struct Without(usize);
    ///
    /// impl Probe for Without {
    ///     fn value(&self, layer: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
    ///         (layer == self.0 && site == Site::Mlp).then(|| Array3::zeros(x.dim()))
    ///     }
    /// }
    ///
    /// let model = TinyGPT::new(Config::new(256, 8, 16, 2), 1)?;
    /// let tokens = b"once".map(u32::from);
    /// let [plain, without] = [None, Some(&Without(1) as &dyn Probe)]
    ///     .map(|probe| model.forward(&tokens, [1, 4], probe));
    /// assert_ne!(plain?.data(), without?.data());
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    fn value(
        &self,
        _layer: usize,
        _site: Site,
        _value: ArrayView3<'_, f32>,
    ) -> Option<Array3<f32>> {
        None
    }
}

impl fmt::Debug for dyn Probe + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}
