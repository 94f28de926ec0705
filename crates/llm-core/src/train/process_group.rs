//! Several processes that work on one step.

use super::accumulate::Tree;
use super::beside::Last;
use super::shares::Shares;
use super::together;
use super::work::{Batches, NonFinite, OneProcess, StepSum, Work, add};
use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::checkpoint::weights_checksum;
use crate::crew::Crew;
use crate::message;
use crate::model::{Batch, TinyGPT};
use crate::optim::Optimizer;

/// Several processes: each has an equal group of the micro-batches, and gradients are summed over
/// them while that of the last micro-batch is computed. Every rank ends with the bits that one
/// process would have.
///
/// All ranks make the same calls with the same data and plan. What the hooks of one end, ends for
/// all after the same step.
#[derive(Debug)]
pub struct ProcessGroup<'a> {
    crew: &'a mut dyn Crew,
    /// Where the memory of the optimizer is divided.
    shares: Option<Shares>,
    /// This rank's, if it has one: it has weights, moments and gradient.
    device: Option<&'a mut dyn Work>,
}

impl<'a> ProcessGroup<'a> {
    /// The processes of a crew.
    pub fn new(crew: &'a mut dyn Crew) -> ProcessGroup<'a> {
        ProcessGroup { crew, shares: None, device: None }
    }

    /// With a device for each rank, which sums the gradients of its micro-batches in their order; those of the ranks are
    /// summed by the tree over their numbers. Devices that round alike come to the same bits.
    pub fn on(self, device: &'a mut dyn Work) -> ProcessGroup<'a> {
        ProcessGroup { device: Some(device), ..self }
    }

    /// Divides the memory of the optimizer over the processes: each of R ranks keeps that of its
    /// share of the weights, about one R-th, and moves only these. The weights come to the same bits.
    /// All ranks call it, before the first step that they make together; the optimizer is of use for
    /// this group alone from then on, and can be saved after [`Work::before_saving`].
    ///
    /// In a step the gradients are summed up to each rank's share only; the new weights are then
    /// sent back, in place of the finished sums. As many bytes are sent as without it.
    ///
    /// Reference: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
    /// Models", its first stage.
    ///
    /// # Errors
    /// [`Error::Config`] when the optimizer looks at more than one weight at a time, or what it
    /// remembers belongs to other parameters.
    pub fn divide(&mut self, model: &TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.shares = Some(Shares::new(model, optimizer, self.crew)?);
        Ok(())
    }
}

impl Work for ProcessGroup<'_> {
    fn gradients(&mut self, model: &TinyGPT, of: &mut Batches<'_>, step: u64) -> Result<StepSum> {
        if let Some(device) = &mut self.device {
            let (gradients, loss, tokens) = device.gradients(model, of, step)?;
            let loss = device.sum(self.crew, loss)?;
            return Ok((gradients, loss, tokens * self.crew.size() as u64));
        }
        let count = of.len();
        let all = count * self.crew.size();
        let (mut sum, mut last) = (Tree::default(), None);
        for (i, batch) in of.enumerate() {
            match batch {
                Err(Error::Stopped { .. }) => break, // the other ranks hear of it
                // Its backward pass runs at the same time as the sums over the ranks.
                batch if i + 1 == count => last = Some(batch?),
                batch => add(&mut sum, model, &batch?, all)?,
            }
        }
        let divided = self.shares.is_some();
        Last { model, batch: last, sum, all, divided, step }.finish(self.crew)
    }

    fn norm(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<f64> {
        match (&self.shares, &mut self.device) {
            (_, Some(device)) => device.norm(model, gradients),
            (Some(shares), _) => together::norm(self.crew, shares, model, gradients),
            (None, None) => OneProcess.norm(model, gradients),
        }
    }

    fn first_non_finite(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<NonFinite> {
        match (&self.shares, &mut self.device) {
            (_, Some(device)) => device.first_non_finite(model, gradients),
            (Some(shares), _) => together::first_non_finite(self.crew, shares, model, gradients),
            (None, None) => OneProcess.first_non_finite(model, gradients),
        }
    }

    fn update(
        &mut self,
        model: &mut TinyGPT,
        optimizer: &mut dyn Optimizer,
        gradients: &Gradients,
        lr: f32,
        scale: f32,
    ) -> Result<()> {
        match (&mut self.shares, &mut self.device) {
            (_, Some(device)) => device.update(model, optimizer, gradients, lr, scale),
            (Some(shares), _) => shares.update(self.crew, model, optimizer, gradients, [lr, scale]),
            (None, None) => OneProcess.update(model, optimizer, gradients, lr, scale),
        }
    }

    fn check(&mut self, model: &TinyGPT, step: u64) -> Result<()> {
        match &mut self.device {
            Some(device) => device.check(model, step),
            None => OneProcess.check(model, step),
        }
    }

    fn score(&mut self, model: &TinyGPT, batch: &Batch) -> Result<Option<(Vec<f32>, Vec<bool>)>> {
        self.device.as_mut().map_or(Ok(None), |device| device.score(model, batch))
    }

    fn fetch(&mut self, model: &mut TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.device.as_mut().map_or(Ok(()), |device| device.fetch(model, optimizer))
    }

    fn before_saving(&mut self, model: &TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.crew.equal(message!("weights"), &weights_checksum(model).to_le_bytes())?;
        self.shares.as_mut().map_or(Ok(()), |shares| shares.gather(self.crew, optimizer))
    }

    fn rank(&self) -> usize {
        self.crew.rank()
    }

    fn size(&self) -> usize {
        self.crew.size()
    }

    fn gather(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        self.crew.gather(mine)
    }

    fn broadcast(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.crew.share(bytes)
    }
}
