//! What the training step asks of an optimizer.

use super::{Hyperparameters, OptimizerState, Slot};
use crate::autograd::Gradients;
use crate::base::Result;
use crate::tensor::Tensor;
use std::any::Any;

/// A way to move weights along their gradients, with what it remembers from update to update.
///
/// A new one is a file beside [`AdamW`](super::AdamW) and a row in
/// [`OPTIMIZERS`](super::OPTIMIZERS): its slots are then saved, loaded and checked by their names,
/// and its memory is counted.
pub trait Optimizer: Any + std::fmt::Debug + Send + Sync {
    /// Its name in checkpoints and settings, such as `adamw`.
    fn name(&self) -> &'static str;

    /// What it keeps for every weight.
    fn slots(&self) -> &'static [Slot];

    /// The numbers of its equation.
    fn config(&self) -> &Hyperparameters;

    /// Goes on with other numbers.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when one is outside its range; the old ones then
    /// stay.
    fn set_config(&mut self, config: Hyperparameters) -> Result<()>;

    /// One update of all parameters that have a gradient, each gradient multiplied by `grad_scale`
    /// first (see [`clip_scale`](super::clip_scale)).
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when the parameters are not those of the earlier
    /// updates; the ones before the first that differs are then updated already.
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()>;

    /// What it remembers.
    fn state(&self) -> &OptimizerState;

    /// Goes on from what it, or another one of its kind, remembered.
    fn restore(&mut self, state: OptimizerState);

    /// A copy, state and all.
    fn boxed(&self) -> Box<dyn Optimizer>;
}

impl Clone for Box<dyn Optimizer> {
    fn clone(&self) -> Box<dyn Optimizer> {
        self.boxed()
    }
}
