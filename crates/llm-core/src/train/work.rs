//! The workers of a step.

use super::accumulate::Tree;
use super::usable::check_weights;
use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::crew::Crew;
use crate::message;
use crate::model::{Batch, Mode, TinyGPT};
use crate::optim::{Optimizer, grad_norm};
use std::fmt::Debug;

/// The micro-batches of a step that are this process's, one after the other. An error in place of
/// one ends the step; [`Error::Stopped`](crate::Error::Stopped) says that a hook gave it up.
pub type Batches<'a> = dyn ExactSizeIterator<Item = Result<Batch>> + Send + 'a;

/// Gradient of a step's mean loss, the mean loss in nats, the number of tokens.
pub type StepSum = (Gradients, f64, u64);

/// A parameter's name and a number of its gradient that is not finite, if there is one.
pub type NonFinite = Option<(String, f32)>;

/// The workers of a step: one process, several, a device. Any number of processes comes to the same bits; a
/// device rounds in its own way, and has other bits, which are close.
///
/// Every method but the first has a default, which is that of [`OneProcess`]: it is rank 0 of 1,
/// and has the whole gradient.
pub trait Work: Debug + Send {
    /// Loss and backward pass of all micro-batches of step `step`: those of this process, and what
    /// other ranks do.
    ///
    /// ```text
    /// g = Σₘ nₘ/N · ∇ loss(batch m)      by a binary tree over m, see [`Tree`]
    /// ```
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped) for all ranks when one was asked to stop; what
    /// batches and model say.
    fn gradients(&mut self, model: &TinyGPT, of: &mut Batches<'_>, step: u64) -> Result<StepSum>;

    /// Queues a whole step, with an update of the rate `lr` that is clipped to the norm `clip`; [`finish`](Work::finish) tells
    /// loss and norm later. `false`: nothing is queued, and steps are waited for.
    ///
    /// # Errors
    /// As [`gradients`](Work::gradients); nothing of the step has an effect then.
    fn queue(&mut self, _of: &mut Batches<'_>, _step: u64, [_lr, _clip]: [f32; 2]) -> Result<bool> {
        Ok(false)
    }

    /// Loss and norm of the oldest queued step. `None`: they are not finite; then neither it nor those behind it
    /// changed anything, and they are forgotten.
    ///
    /// # Errors
    /// What a device says.
    fn finish(&mut self) -> Result<Option<[f64; 2]>> {
        Ok(None)
    }

    /// Adds the gradients of the other ranks to a device's part of a step's gradient, by the tree over their numbers; the mean
    /// loss of all, from this rank's part of it.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew); what a device says.
    fn sum(&mut self, _crew: &mut dyn Crew, _loss: f64) -> Result<f64> {
        let why = message!("no device works for this process");
        Err(Error::Device(why))
    }

    /// ‖g‖, of the gradients of all parameters together.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn norm(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<f64> {
        Ok(grad_norm(model.trained(), gradients))
    }

    /// The first parameter with a non-finite gradient, and that number.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn first_non_finite(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<NonFinite> {
        Ok(model.trained().find_map(|(name, p)| {
            let non_finite = gradients.get(p)?.iter().find(|g| !g.is_finite())?;
            Some((name, *non_finite))
        }))
    }

    /// θ ← optimizer(θ, g · scale, lr)
    ///
    /// # Errors
    /// As [`Optimizer::step`]; [`Error::Crew`](crate::Error::Crew).
    fn update(
        &mut self,
        model: &mut TinyGPT,
        optimizer: &mut dyn Optimizer,
        gradients: &Gradients,
        lr: f32,
        scale: f32,
    ) -> Result<()> {
        optimizer.step(&mut model.trained_mut(), gradients, lr, scale)
    }

    /// That an update has left all weights finite. A device checks them in [`fetch`](Work::fetch).
    ///
    /// # Errors
    /// [`Error::Unusable`](crate::Error::Unusable) naming the first that is not; `step` are done.
    fn check(&mut self, model: &TinyGPT, step: u64) -> Result<()> {
        check_weights(model, step)
    }

    /// Per-token losses and top-1 hits of a batch, computed on the device that has the weights; `None`: the
    /// CPU computes them from `model`.
    ///
    /// # Errors
    /// What a device says.
    fn score(&mut self, _model: &TinyGPT, _batch: &Batch) -> Result<Option<(Vec<f32>, Vec<bool>)>> {
        Ok(None)
    }

    /// Copies weights and optimizer state back from a device.
    /// [`Trainer::run`](super::Trainer::run) does it before a measurement, a save, a look of the
    /// hooks ([`Hooks::needs_weights`](super::Hooks::needs_weights)), and however it ends. Ranks need
    /// not agree on it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device): model and optimizer are then those of the last call.
    fn fetch(&mut self, _model: &mut TinyGPT, _optimizer: &mut dyn Optimizer) -> Result<()> {
        Ok(())
    }

    /// Makes the state one that can be saved. All ranks call this before one of them saves;
    /// [`Trainer::run`](super::Trainer::run) does it for what [`Hooks::save`](super::Hooks::save)
    /// gets.
    ///
    /// # Errors
    /// [`CrewError::Unequal`](crate::base::CrewError::Unequal), for all ranks, when they do not have
    /// the same weights: a fault of a machine's memory would else go on unseen.
    fn before_saving(&mut self, _model: &TinyGPT, _optimizer: &mut dyn Optimizer) -> Result<()> {
        Ok(())
    }

    /// Whether the model writes answers in place of the targets that it is given, and learns from their rewards.
    fn rewards(&self) -> bool {
        false
    }

    /// The number of this process, from 0.
    fn rank(&self) -> usize {
        0
    }

    /// The number of processes, a power of two.
    fn size(&self) -> usize {
        1
    }

    /// The blocks of all ranks, in their order; `mine` is this rank's, and all have the same length.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn gather(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        Ok(mine.to_vec())
    }

    /// Bytes of rank 0, for all.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn broadcast(&mut self, _bytes: &mut [u8]) -> Result<()> {
        Ok(())
    }
}

/// One process: all micro-batches, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneProcess;

impl Work for OneProcess {
    fn gradients(&mut self, model: &TinyGPT, of: &mut Batches<'_>, _step: u64) -> Result<StepSum> {
        let (mut sum, count) = (Tree::default(), of.len());
        for batch in of {
            add(&mut sum, model, &batch?, count)?;
        }
        Ok(sum.total())
    }
}

/// Loss and backward pass of one of `count` micro-batches.
pub(super) fn add(sum: &mut Tree, model: &TinyGPT, batch: &Batch, count: usize) -> Result<()> {
    let share = batch.share(count);
    let loss = model.loss(batch, Mode::Training)?;
    let gradients = loss.backward_into(Gradients::default(), share)?;
    sum.push(gradients, f64::from(loss.item()) * f64::from(share), batch.inputs.len() as u64);
    Ok(())
}
