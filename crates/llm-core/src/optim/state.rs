//! What an optimizer remembers of each parameter.

use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::message;
use crate::tensor::Tensor;

/// A kind of number that an optimizer keeps for every weight, for example a running mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name in checkpoints, such as `m`.
    pub name: &'static str,
    /// It is never below 0, and a root is taken of it: a file that says otherwise is refused.
    pub mean_of_squares: bool,
}

/// The state of one parameter.
#[derive(Clone, Debug)]
pub struct ParameterState {
    /// The parameter's name.
    pub name: String,
    /// A number for each weight, for each of the optimizer's [`Slot`]s in their order.
    pub slots: Vec<Buffer>,
}

/// All that an optimizer remembers. Entries belong to parameters by name and order.
#[derive(Clone, Debug, Default)]
pub struct OptimizerState {
    /// Updates done.
    pub t: u64,
    /// In the parameters' order; empty before the first update.
    pub parameters: Vec<ParameterState>,
}

impl OptimizerState {
    /// Counts an update, and calls `update(t, parameter, slots, gradient)` for every parameter that
    /// has a gradient. Slots start as zeros.
    ///
    /// # Errors
    /// [`Error::Config`] when the parameters are not those of the earlier updates; the ones before
    /// the first that differs are then updated already.
    pub fn update<const N: usize>(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        mut update: impl FnMut(u64, &mut Tensor, [&mut [f32]; N], &[f32]),
    ) -> Result<()> {
        self.t += 1;
        let first = self.parameters.is_empty();
        let other =
            || Error::config("optimizer", message!("its state belongs to other parameters"));
        let mut seen = 0;
        for (name, p) in parameters {
            if first {
                let slots = (0..N).map(|_| Buffer::zeros(p.numel())).collect();
                self.parameters.push(ParameterState { name: name.clone(), slots });
            }
            let state = self.parameters.get_mut(seen).filter(|of| of.name == name);
            let slots = state.ok_or_else(other)?.slots.iter_mut().map(|slot| &mut slot[..]);
            let slots: Vec<&mut [f32]> = slots.filter(|slot| slot.len() == p.numel()).collect();
            let slots: [&mut [f32]; N] = slots.try_into().map_err(|_| other())?;
            seen += 1;
            if let Some(g) = grads.get(p) {
                update(self.t, p, slots, g);
            }
        }
        if seen == self.parameters.len() { Ok(()) } else { Err(other()) }
    }
}
