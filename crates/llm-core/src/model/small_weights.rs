//! A model's matrices in fewer bits, beside the model or in its place.

use super::TinyGPT;
use super::products::SmallWeights;
use crate::base::{Error, Result};
use crate::kernels::finite::all_finite;
use crate::kernels::small::{Given, SmallKind, SmallMatrix, Stored};
use crate::message;
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

/// As what a matrix is kept. Where the others have 4 bits, two kinds stay in 8: the output head, as in
/// files of llama.cpp, for every token's score comes straight from it; and the way to queries, keys and
/// values. Softmax makes a small error of a score a large one of a weight: of all matrices of a block
/// it costs by far the most when rounded to 4 bits.
fn kept_as(kind: SmallKind, name: &str) -> SmallKind {
    let sensitive = ["wte", "w_lm"].contains(&name) || name.ends_with(".w_qkv");
    if kind == SmallKind::Q4 && sensitive { SmallKind::Q8 } else { kind }
}

/// K and N of a matrix.
fn inputs_and_outputs(w: &Tensor, stored: Stored) -> [usize; 2] {
    match (stored, w.shape()) {
        (Stored::ByInput, &[k, n]) | (Stored::ByOutput, &[n, k]) => [k, n],
        _ => [0, 0],
    }
}

/// The parameter as a matrix to be rounded, if it is one.
fn given<'w>(kind: SmallKind, name: &str, w: &'w Tensor, tied: bool) -> Option<Given<'w>> {
    let stored = multiplied(name, w, tied)?;
    let shape = inputs_and_outputs(w, stored);
    Some(Given { kind: kept_as(kind, name), w: w.data(), shape, stored })
}

/// `Err` naming the matrix, if it has a number that is too large for its scale.
fn checked(kind: SmallKind, name: &str, w: &[f32], made: SmallMatrix) -> Result<SmallMatrix> {
    if made.is_finite() && all_finite(w) {
        return Ok(made);
    }
    let reason =
        message!("'{}' has a number that {} cannot hold", name.escape_default(), kind.to_string());
    Err(Error::config("weights", reason))
}

impl TinyGPT {
    /// Small copies of the matrices, for as long as the model stays where it is.
    ///
    /// # Errors
    /// [`Error::Config`] naming a matrix with a number that does not fit; [`Error::Memory`].
    pub(crate) fn small_weights(&self, kind: SmallKind) -> Result<SmallWeights> {
        let tied = self.config().tied_head;
        let matrices = self.parameters().filter_map(|(name, w)| {
            let given = given(kind, &name, w, tied)?;
            Some(((name, w), given))
        });
        let (parameters, matrices): (Vec<_>, Vec<_>) = matrices.unzip();
        let mut all = SmallWeights::default();
        for ((name, w), made) in parameters.into_iter().zip(SmallMatrix::several(&matrices)?) {
            all.insert(w, checked(kept_as(kind, &name), &name, w.data(), made)?);
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
            let Some(given) = given(kind, &name, w, tied) else { continue };
            let (kind, stored) = (given.kind, given.stored);
            let made = SmallMatrix::several(&[given])?.remove(0);
            checked(kind, &name, w.data(), made)?.write_to(w.data_mut(), stored);
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
