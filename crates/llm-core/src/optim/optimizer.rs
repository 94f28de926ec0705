//! What the training step asks of an optimizer.

use super::{Hyperparameters, OptimizerState, Slot};
use crate::autograd::Gradients;
use crate::base::{Error, Result, Settings, Value};
use crate::message;
use crate::tensor::Tensor;
use std::fmt::Debug;
use std::mem::discriminant;

/// What every optimizer has: its row, its numbers and its state.
#[derive(Clone, Debug)]
pub struct OptimizerParts {
    /// The name, the slots, how a fresh optimizer is made.
    pub row: &'static OptimizerRow,
    /// The usual numbers of an update.
    pub config: Hyperparameters,
    /// The optimizer's own numbers: a value for every key of [`OptimizerRow::settings`].
    pub settings: Settings,
    /// Updates done, and the slots of every parameter.
    pub state: OptimizerState,
}

impl OptimizerParts {
    /// The parts of a fresh optimizer; every slot starts at 0.
    ///
    /// # Errors
    /// [`Error::Config`] when one of the usual numbers is outside its range.
    pub fn new(
        row: &'static OptimizerRow,
        config: Hyperparameters,
        settings: Settings,
    ) -> Result<OptimizerParts> {
        config.check()?;
        Ok(OptimizerParts { row, config, settings, state: OptimizerState::default() })
    }
}

/// A way to move weights along their gradients, with a state that stays from update to update.
///
/// A new one is a type around [`OptimizerParts`] with a [row](OptimizerRow), here or in a crate of its
/// own: its slots and its settings are then saved, loaded and checked by their names, and its memory
/// is counted.
pub trait Optimizer: Debug + Send + Sync {
    /// Row, numbers and state.
    fn parts(&self) -> &OptimizerParts;

    /// [`Optimizer::parts`], for changing them.
    fn parts_mut(&mut self) -> &mut OptimizerParts;

    /// One update of all parameters that have a gradient, each gradient multiplied by `grad_scale`
    /// first (see [`clip_scale`](super::clip_scale)).
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when the parameters are not those of the earlier
    /// updates; nothing is then updated.
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()>;

    /// A copy, state included.
    fn boxed(&self) -> Box<dyn Optimizer>;

    /// The optimizer's row.
    fn row(&self) -> &'static OptimizerRow {
        self.parts().row
    }

    /// The name in checkpoints and settings, such as `adamw`.
    fn name(&self) -> &'static str {
        self.row().name
    }

    /// The kinds of numbers kept for every weight.
    fn slots(&self) -> &'static [Slot] {
        self.row().slots
    }

    /// The usual numbers of an update.
    fn config(&self) -> &Hyperparameters {
        &self.parts().config
    }

    /// The optimizer's own numbers.
    fn settings(&self) -> Settings {
        self.parts().settings.clone()
    }

    /// Updates done, and the slots of every parameter.
    fn state(&self) -> &OptimizerState {
        &self.parts().state
    }

    /// [`Optimizer::state`], for putting it there or taking it away.
    fn state_mut(&mut self) -> &mut OptimizerState {
        &mut self.parts_mut().state
    }

    /// Goes on from the state of this optimizer, or of another one with the same row.
    fn restore(&mut self, state: OptimizerState) {
        *self.state_mut() = state;
    }
}

impl Clone for Box<dyn Optimizer> {
    fn clone(&self) -> Box<dyn Optimizer> {
        self.boxed()
    }
}

/// An optimizer that a run can name. The caller gives the rows that it knows: this crate's
/// [`OPTIMIZERS`](super::OPTIMIZERS), or these and its own.
#[derive(Clone, Copy, Debug)]
pub struct OptimizerRow {
    /// The name in checkpoints and settings, for ever.
    pub name: &'static str,
    /// Description in a few words.
    pub doc: &'static str,
    /// The kinds of numbers kept for every weight.
    pub slots: &'static [Slot],
    /// The keys of the optimizer's own numbers, each with its default, whose type is the number's.
    pub settings: &'static [(&'static str, Value)],
    /// Whether it moves each weight by that weight's own numbers alone, so that several processes can
    /// divide its memory.
    pub elementwise: bool,
    /// Makes a fresh optimizer. It gets a value of the right type for each key of `settings`, and refuses
    /// what is outside its range.
    pub make: fn(Hyperparameters, &Settings) -> Result<Box<dyn Optimizer>>,
}

impl OptimizerRow {
    /// A fresh optimizer. A key that is not given has the row's value.
    ///
    /// # Errors
    /// [`Error::Config`] naming a key that it does not know, a value of another type, or a number
    /// outside its range.
    pub fn build(&self, config: Hyperparameters, given: &Settings) -> Result<Box<dyn Optimizer>> {
        let mut all = Settings::default();
        for (key, value) in self.settings {
            all.insert(key, value.clone())?;
        }
        for (key, value) in given.iter() {
            let reason = match all.get(key) {
                Some(usual) if discriminant(usual) == discriminant(value) => {
                    all.insert(key, value.clone())?;
                    continue;
                }
                Some(usual) => {
                    message!("'{}' of {} is {}, not {}", key, self.name, value.kind(), usual.kind())
                }
                None => message!("{} has no setting '{}'", self.name, key),
            };
            return Err(Error::config("optimizer", reason));
        }
        (self.make)(config, &all)
    }
}
