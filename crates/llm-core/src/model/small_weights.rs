//! A model's matrices in fewer bits, beside the model or in its place.

use super::TinyGPT;
use super::products::SmallWeights;
use crate::base::{Error, Result};
use crate::kernels::finite::all_finite;
use crate::kernels::small::{SmallKind, SmallMatrix, Stored};
use crate::tensor::Tensor;

/// How the parameter lies, if a token is multiplied with it: all matrices but the table of
/// positions and, unless it is the head too, that of tokens, of which a row is taken.
fn multiplied(name: &str, w: &Tensor, tied: bool) -> Option<Stored> {
    match (name, w.rank()) {
        ("wte", 2) => tied.then_some(Stored::ByOutput),
        ("wpe", _) => None,
        (_, 2) => Some(Stored::ByInput),
        _ => None,
    }
}

/// As what a matrix is kept. The output head stays in 8 bits where the others have 4, as in files of
/// llama.cpp: every token's score comes straight from it.
fn kept_as(kind: SmallKind, name: &str) -> SmallKind {
    match (kind, name) {
        (SmallKind::Q4, "wte" | "w_lm") => SmallKind::Q8,
        _ => kind,
    }
}

/// K and N of a matrix.
fn inputs_and_outputs(w: &Tensor, stored: Stored) -> [usize; 2] {
    match (stored, w.shape()) {
        (Stored::ByInput, &[k, n]) | (Stored::ByOutput, &[n, k]) => [k, n],
        _ => [0, 0],
    }
}

fn small(kind: SmallKind, name: &str, w: &Tensor, stored: Stored) -> Result<SmallMatrix> {
    let made = SmallMatrix::new(kind, w.data(), inputs_and_outputs(w, stored), stored)?;
    if made.is_finite() && all_finite(w.data()) {
        return Ok(made);
    }
    let reason = format!("'{}' has a number that {kind} cannot hold", name.escape_default());
    Err(Error::config("weights", reason))
}

impl TinyGPT {
    /// Small copies of the matrices, for as long as the model stays where it is.
    ///
    /// # Errors
    /// [`Error::Config`] naming a matrix with a number that does not fit; [`Error::Memory`].
    pub(crate) fn small_weights(&self, kind: SmallKind) -> Result<SmallWeights> {
        let mut all = SmallWeights::default();
        for (name, w) in self.parameters() {
            if let Some(stored) = multiplied(&name, w, self.config().tied_head) {
                all.insert(w, small(kept_as(kind, &name), &name, w, stored)?);
            }
        }
        Ok(all)
    }

    /// The model with every number of its matrices rounded as `kind` keeps it: what a
    /// [`Decoder`](crate::generate::Decoder) with such weights computes with. Biases, gains and the
    /// tables that only rows are taken of stay.
    ///
    /// ```
    /// use llm_core::kernels::small::SmallKind;
    /// use llm_core::{Config, TinyGPT};
    /// let model = TinyGPT::new(Config::new(256, 64, 32, 1), 1)?;
    /// let w = model.blocks[0].w_fc.data()[0];
    /// let rounded = model.rounded(SmallKind::Q8)?;
    /// let off = (rounded.blocks[0].w_fc.data()[0] - w).abs();
    /// assert!(0.0 < off && off < 0.001);
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Config`] naming a matrix with a number that does not fit; [`Error::Memory`].
    pub fn rounded(mut self, kind: SmallKind) -> Result<TinyGPT> {
        let tied = self.config().tied_head;
        for (name, w) in self.parameters_mut() {
            if let Some(stored) = multiplied(&name, w, tied) {
                small(kept_as(kind, &name), &name, w, stored)?.write_to(w.data_mut(), stored);
            }
        }
        Ok(self)
    }

    /// Bytes that the matrices take in fewer bits.
    pub fn small_bytes(&self, kind: SmallKind) -> u64 {
        let tied = self.config().tied_head;
        let bytes = self.parameters().filter_map(|(name, w)| {
            let shape = inputs_and_outputs(w, multiplied(&name, w, tied)?);
            Some(SmallMatrix::bytes(kept_as(kind, &name), shape))
        });
        bytes.sum()
    }
}
