//! What an optimizer remembers of each parameter.

use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::message;
use crate::tensor::Tensor;

/// A kind of number that an optimizer keeps for every weight, for example a running mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name in checkpoints, such as `m`.
    pub name: &'static str,
    /// Whether the number is never below 0, since a root is taken of it: a file that says otherwise is
    /// refused.
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
    /// [`Error::Config`] when the parameters are not those of the earlier updates; nothing is then
    /// updated.
    pub fn update<const N: usize>(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        mut update: impl FnMut(u64, &mut Tensor, [&mut [f32]; N], &[f32]),
    ) -> Result<()> {
        let (t, turns) = self.turns(parameters, grads)?;
        for Turn { parameter, slots, gradient } in turns {
            update(t, parameter, slots, gradient);
        }
        Ok(())
    }

    /// Counts an update, and gives every parameter that has a gradient with what is kept of it: for
    /// an optimizer that works on several at a time.
    ///
    /// # Errors
    /// As [`OptimizerState::update`].
    pub(super) fn turns<'s, 'p: 's, const N: usize>(
        &'s mut self,
        parameters: &mut dyn Iterator<Item = (String, &'p mut Tensor)>,
        grads: &'s Gradients,
    ) -> Result<(u64, Vec<Turn<'s, N>>)> {
        let other =
            || Error::config("optimizer", message!("its state belongs to other parameters"));
        let parameters: Vec<_> = parameters.collect();
        if self.parameters.is_empty() {
            let fresh = |(name, p): &(String, &mut Tensor)| ParameterState {
                name: name.clone(),
                slots: (0..N).map(|_| Buffer::zeros(p.numel())).collect(),
            };
            self.parameters = parameters.iter().map(fresh).collect();
        }
        if parameters.len() != self.parameters.len() {
            return Err(other());
        }
        let mut turns = Vec::with_capacity(parameters.len());
        for ((name, parameter), state) in parameters.into_iter().zip(&mut self.parameters) {
            let slots = state.slots.iter_mut().map(|slot| &mut slot[..]);
            let slots: Vec<_> = slots.filter(|slot| slot.len() == parameter.numel()).collect();
            let slots = slots.try_into().map_err(|_| other())?;
            if state.name != name {
                return Err(other());
            }
            if let Some(gradient) = grads.get(parameter) {
                turns.push(Turn { parameter, slots, gradient });
            }
        }
        self.t += 1;
        Ok((self.t, turns))
    }
}

/// A parameter whose turn it is.
pub(super) struct Turn<'a, const N: usize> {
    pub parameter: &'a mut Tensor,
    pub slots: [&'a mut [f32]; N],
    pub gradient: &'a [f32],
}
