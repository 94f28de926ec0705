//! The numbers of an update, under the names that the field has for them.

use crate::base::{Error, Result};
use crate::message;
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The optimizer's settings, apart from the learning rate, which a schedule may change.
///
/// The defaults are those of the original trainer; both command-line trainers use others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// β₁, 0 to below 1: decay of the running mean.
    pub beta1: f32,
    /// β₂, 0 to below 1: decay of the running mean of squares.
    pub beta2: f32,
    /// ε, above 0: added to the root of the mean of squares.
    pub eps: f32,
    /// λ, 0 or more: weight decay, per unit of the learning rate.
    pub weight_decay: f32,
    /// Decay every tensor (default), or only those with two axes and more.
    pub decay_all: bool,
}

impl Default for Hyperparameters {
    fn default() -> Hyperparameters {
        Hyperparameters { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, decay_all: true }
    }
}

impl Hyperparameters {
    /// The original trainer's learning rate.
    pub const DEFAULT_LR: f32 = 3e-4;

    /// Validates each setting's range.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        for (field, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            let within = (0.0..1.0).contains(&beta);
            Error::unless(within, field, message!("{} is outside 0..1", beta))?;
        }
        let (eps, decay) = (self.eps, self.weight_decay);
        let fits = eps > 0.0 && eps.is_finite();
        Error::unless(fits, "eps", message!("{} is not above 0", eps))?;
        let fits = decay >= 0.0 && decay.is_finite();
        Error::unless(fits, "weight_decay", message!("{} is not 0 or more", decay))
    }

    /// λ of one parameter: 0 for a vector, unless every tensor decays.
    pub fn decay_of(&self, parameter: &Tensor) -> f32 {
        if self.decay_all || parameter.rank() >= 2 { self.weight_decay } else { 0.0 }
    }
}
