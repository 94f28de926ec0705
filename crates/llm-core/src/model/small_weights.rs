//! A model's matrices in fewer bits, in addition to the model or in its place.

use super::products::SmallWeights;
use super::{TinyGPT, parameter_list};
use crate::base::{Error, Result};
use crate::kernels::finite::all_finite;
use crate::kernels::small::{Given, SmallKind, SmallMatrix, Stored};
use crate::message;
use crate::tensor::Tensor;
use std::collections::HashSet;

/// How the parameter lies, if a token is multiplied with it: all matrices but the tables, of which a
/// row is taken, unless that of tokens is the head too.
fn multiplied(name: &str, w: &Tensor, tied: bool) -> Option<Stored> {
    match (name, w.rank()) {
        ("wte", 2) => tied.then_some(Stored::ByOutput),
        ("wpe" | "ngrams", _) => None,
        (_, 2) => Some(Stored::ByInput),
        _ => None,
    }
}

/// K and N of a matrix.
fn inputs_and_outputs(w: &Tensor, stored: Stored) -> [usize; 2] {
    match (stored, w.shape()) {
        (Stored::ByInput, &[k, n]) | (Stored::ByOutput, &[n, k]) => [k, n],
        _ => [0, 0],
    }
}

/// `Err` naming the matrix, if it has a number that is too large for its scale.
fn checked(kind: SmallKind, name: &str, w: &[f32], made: SmallMatrix) -> Result<SmallMatrix> {
    let reason =
        message!("'{}' has a number that {} cannot hold", name.escape_default(), kind.to_string());
    Error::unless(made.is_finite() && all_finite(w), "weights", reason).map(|()| made)
}

/// What becomes of each parameter when the matrices are kept as `kind`.
struct Rounding {
    kind: SmallKind,
    tied: bool,
    /// Names of those that have 8 bits where the others have 4.
    sensitive: HashSet<String>,
}

impl Rounding {
    fn new(model: &TinyGPT, kind: SmallKind) -> Rounding {
        let own = model.attention().parameters(model.config());
        let sensitive = parameter_list(model.config(), &own).into_iter();
        let sensitive = sensitive.filter_map(|(name, p)| p.sensitive.then_some(name)).collect();
        Rounding { kind, tied: model.config().tied_head, sensitive }
    }

    fn kind_of(&self, name: &str) -> SmallKind {
        let eight_bits = self.kind == SmallKind::Q4 && self.sensitive.contains(name);
        if eight_bits { SmallKind::Q8 } else { self.kind }
    }

    /// The parameter as a matrix to be rounded, if it is one.
    fn given<'w>(&self, name: &str, w: &'w Tensor) -> Option<Given<'w>> {
        let stored = multiplied(name, w, self.tied)?;
        let shape = inputs_and_outputs(w, stored);
        Some(Given { kind: self.kind_of(name), w: w.data(), shape, stored })
    }
}

impl TinyGPT {
    /// Small copies of the matrices, for as long as the model stays where it is.
    ///
    /// # Errors
    /// [`Error::Config`] naming a matrix with a number that does not fit; [`Error::Memory`].
    pub(crate) fn small_weights(&self, kind: SmallKind) -> Result<SmallWeights> {
        let rounding = Rounding::new(self, kind);
        let matrices = self.parameters().filter_map(|(name, w)| {
            let given = rounding.given(&name, w)?;
            Some(((name, w), given))
        });
        let (parameters, matrices): (Vec<_>, Vec<_>) = matrices.unzip();
        let mut all = SmallWeights::default();
        for ((name, w), made) in parameters.into_iter().zip(SmallMatrix::several(&matrices)?) {
            all.insert(w, checked(rounding.kind_of(&name), &name, w.data(), made)?);
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
        let rounding = Rounding::new(&self, kind);
        for (name, w) in self.parameters_mut() {
            let Some(given) = rounding.given(&name, w) else { continue };
            let (kind, stored) = (given.kind, given.stored);
            let made = SmallMatrix::several(&[given])?.remove(0);
            checked(kind, &name, w.data(), made)?.write_to(w.data_mut(), stored);
        }
        Ok(self)
    }

    /// Bytes that the matrices take in fewer bits.
    pub fn small_bytes(&self, kind: SmallKind) -> u64 {
        let rounding = Rounding::new(self, kind);
        let bytes = self.parameters().filter_map(|(name, w)| {
            let Given { kind, shape, .. } = rounding.given(&name, w)?;
            Some(SmallMatrix::bytes(kind, shape))
        });
        bytes.sum()
    }
}
