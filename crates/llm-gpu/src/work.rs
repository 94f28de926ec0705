//! The step as a run's work.

use crate::device::Gpu;
use crate::error::{GpuError, Result, check_close};
use crate::listed::listed;
use crate::planned::Planned;
use crate::scores::Measuring;
use crate::step::{Report, Step};
use llm_core::autograd::Gradients;
use llm_core::crew::Crew;
use llm_core::model::{Batch, TinyGPT};
use llm_core::optim::{Optimizer, clip_scale};
use llm_core::train::{Batches, NonFinite, StepSum, Trainer, Work};
use llm_core::{Error, Result as CoreResult, TokenDataset, message};

/// A device that works on the steps of a run. It has the weights and the moments; model and optimizer
/// of the run are those of the last [`fetch`](Work::fetch).
pub struct GpuWork {
    /// The device.
    pub gpu: Gpu,
    step: Step,
    measuring: Measuring,
    report: Report,
    /// Largest norm of a gradient; 0: any.
    clip: f32,
    /// The loss of the first micro-batch, by the processor and by the device.
    pub losses: [f32; 2],
    /// Steps of the run behind the last update.
    done: u64,
    /// Updates in what was fetched last.
    fetched: u64,
}

impl std::fmt::Debug for GpuWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuWork").field("step", &self.step).finish_non_exhaustive()
    }
}

impl GpuWork {
    /// Puts a run on a device: its step, made from one forward on the processor; its weights; what its
    /// optimizer remembers. The loss of that forward's batch is then computed there too.
    ///
    /// # Errors
    /// [`GpuError::NoKernels`], [`GpuError::NoOptimizer`], [`GpuError::Memory`], [`GpuError::Device`];
    /// [`GpuError::Differs`] when the two losses do; [`GpuError::List`] with what batch and model say.
    pub fn new(gpu: Gpu, trainer: &Trainer, data: &TokenDataset) -> Result<GpuWork> {
        GpuWork::among(1, gpu, trainer, data)
    }

    /// [`GpuWork::new`] for one of `ranks` ranks of a [`ProcessGroup`](llm_core::train::ProcessGroup), each on a device of
    /// its own.
    ///
    /// # Errors
    /// As [`GpuWork::new`].
    pub fn among(ranks: u32, gpu: Gpu, trainer: &Trainer, data: &TokenDataset) -> Result<GpuWork> {
        let listed = listed(trainer, data).map_err(|e| GpuError::List(e.message()));
        let ((batch, loss, list), Trainer { model, optimizer, .. }) = (listed?, trainer);
        let mut step = Planned::among(ranks, trainer, &list, gpu.capacity())?.load(
            &gpu,
            model,
            optimizer.state(),
        )?;
        step.gradient(&batch, 0)?;
        let report = step.report()?;
        let losses = [loss, report.loss / batch.share(step.planned().of_all() as usize)];
        check_close(losses, gpu.units().is_some())?;
        let (done, fetched) = (trainer.step, optimizer.state().t);
        let (clip, measuring) = (trainer.recipe.clip, Measuring::default());
        Ok(GpuWork { gpu, step, measuring, report, clip, losses, done, fetched })
    }

    /// Calls of kernels in a step, each part once.
    pub fn calls(&self) -> usize {
        self.step.planned().calls()
    }

    /// Refuses a step of other micro-batches than it was made for.
    fn fits(&self, micro_batches: usize) -> Result<()> {
        let planned = self.step.planned().micro_batches;
        if micro_batches == planned as usize {
            return Ok(());
        }
        let why = message!("a step of {} micro-batches, made for {}", micro_batches, planned);
        Err(GpuError::List(why))
    }

    /// Memory of a step on the device.
    pub fn bytes(&self) -> u64 {
        self.step.planned().bytes()
    }
}

impl Work for GpuWork {
    /// Sums micro-batches in the order of their numbers, not by the processor's tree. The gradient
    /// stays on the device.
    fn gradients(&mut self, _: &TinyGPT, of: &mut Batches<'_>, step: u64) -> CoreResult<StepSum> {
        self.fits(of.len())?;
        let mut tokens = 0;
        for (micro, batch) in (0..).zip(of) {
            let batch = batch?;
            tokens += batch.inputs.len() as u64;
            self.step.gradient(&batch, micro)?;
        }
        self.done = step;
        self.report = self.step.report()?;
        Ok((Gradients::default(), f64::from(self.report.loss), tokens))
    }

    fn queue(&mut self, of: &mut Batches<'_>, step: u64, [lr, clip]: [f32; 2]) -> CoreResult<bool> {
        self.fits(of.len())?;
        for (micro, batch) in (0..).zip(of) {
            self.step.ahead(&batch?, micro, lr, clip)?;
        }
        self.done = step + 1;
        Ok(true)
    }

    fn finish(&mut self) -> CoreResult<Option<[f64; 2]>> {
        let report = self.step.finish()?;
        Ok(report.map(|of| [of.loss, of.grad_norm].map(f64::from)))
    }

    fn sum(&mut self, crew: &mut dyn Crew, loss: f64) -> CoreResult<f64> {
        let (mut gradient, mut loss) = (self.step.gradient_here()?, [loss as f32]);
        crew.sum(&mut gradient)?;
        crew.sum(&mut loss)?;
        self.report = Report { loss: loss[0], grad_norm: self.step.replace_gradient(&gradient)? };
        Ok(f64::from(self.report.loss))
    }

    fn norm(&mut self, _: &TinyGPT, _: &Gradients) -> CoreResult<f64> {
        Ok(f64::from(self.report.grad_norm))
    }

    fn first_non_finite(&mut self, _: &TinyGPT, _: &Gradients) -> CoreResult<NonFinite> {
        Ok(first_non_finite(&self.step.gradients()?))
    }

    fn update(
        &mut self,
        _: &mut TinyGPT,
        _: &mut dyn Optimizer,
        _: &Gradients,
        lr: f32,
        scale: f32,
    ) -> CoreResult<()> {
        // As where no host waits, to the bit.
        match scale == clip_scale(f64::from(self.report.grad_norm), self.clip) {
            true => self.step.update_clipped(lr, self.clip),
            false => self.step.update(lr, scale),
        }
        self.done += 1;
        Ok(())
    }

    /// The weights here are old ones.
    fn check(&mut self, _: &TinyGPT, _: u64) -> CoreResult<()> {
        Ok(())
    }

    fn score(
        &mut self,
        model: &TinyGPT,
        batch: &Batch,
    ) -> CoreResult<Option<(Vec<f32>, Vec<bool>)>> {
        let Step { planned, loaded, .. } = &self.step;
        let theta = loaded.of(&planned.rooms.theta);
        let there = (&planned.layout, planned.on, &theta[..]);
        let is_same = self.step.updates() == self.fetched;
        Ok(Some(self.measuring.score(&self.gpu, there, (model, is_same), batch)?))
    }

    /// Does nothing where nothing was updated since the last time.
    fn fetch(&mut self, model: &mut TinyGPT, optimizer: &mut dyn Optimizer) -> CoreResult<()> {
        if self.step.updates() == self.fetched {
            return Ok(());
        }
        let (weights, state) = (self.step.weights()?, self.step.state()?);
        if let Some((name, value)) = first_non_finite(&weights) {
            return Err(Error::Unusable { what: name.into(), value, step: self.done });
        }
        for ((_, parameter), (_, numbers)) in model.parameters_mut().zip(&weights) {
            parameter.data_mut().copy_from_slice(numbers);
        }
        optimizer.restore(state);
        self.fetched = self.step.updates();
        Ok(())
    }
}

fn first_non_finite(all: &[(String, Vec<f32>)]) -> NonFinite {
    all.iter().find_map(|(name, numbers)| {
        let non_finite = numbers.iter().find(|x| !x.is_finite())?;
        Some((name.clone(), *non_finite))
    })
}
