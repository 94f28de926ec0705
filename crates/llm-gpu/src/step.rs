//! A training step of one model on one device.

use crate::device::{Gpu, Loaded, Part};
use crate::error::{GpuError, Result};
use crate::planned::Planned;
use llm_core::Hyperparameters;
use llm_core::model::{Batch, Origin};

impl Planned {
    /// Puts it on a device, with these weights, in the parameters' order; moments are 0.
    ///
    /// # Errors
    /// [`GpuError::Device`].
    pub fn load<'a>(self, gpu: &Gpu, weights: impl Iterator<Item = &'a [f32]>) -> Result<Step<'_>> {
        let loaded = gpu.load(&self.plan, &self.buffers)?;
        let theta = self.layout.gather(weights);
        gpu.write(&loaded, self.fixed.theta, bytemuck::cast_slice(&theta));
        Ok(Step { gpu, loaded, planned: self, t: 0, counted: 0 })
    }
}

/// It on a device.
pub struct Step<'g> {
    gpu: &'g Gpu,
    loaded: Loaded,
    planned: Planned,
    /// Updates done.
    t: i32,
    /// Targets of the last batch that count.
    counted: usize,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("on", self.gpu)
            .field("updates", &self.t)
            .finish_non_exhaustive()
    }
}

/// What a step found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Mean cross entropy of the last batch, in nats.
    pub loss: f32,
    /// Norm of its gradient, known once the update was queued.
    pub grad_norm: f32,
}

impl Step<'_> {
    /// Queues the loss of a batch and its gradient.
    ///
    /// # Errors
    /// [`GpuError::List`] when the batch has another shape than the one that was listed, or a token
    /// is beyond the vocabulary.
    pub fn gradient(&mut self, batch: &Batch) -> Result<()> {
        let Planned { fixed, batch: shape, plan, hyper, .. } = &self.planned;
        let rows = shape[0] * shape[1];
        if batch.shape != *shape {
            let text =
                format!("a batch of {:?} for a step that was made for {shape:?}", batch.shape);
            return Err(GpuError::List(text));
        }
        let vocab = plan.rooms[fixed.sorted.0].0 - 1 - rows;
        self.counted = batch.targets.iter().filter(|&&t| t != Batch::IGNORED).count();
        let targets = batch.targets.iter().filter(|&&t| t != Batch::IGNORED);
        if self.counted == 0 || batch.inputs.iter().chain(targets).any(|&t| t as usize >= vocab) {
            return Err(GpuError::List(
                "a token is beyond the vocabulary, or no target counts".into(),
            ));
        }
        let write =
            |room, words: &[u32]| self.gpu.write(&self.loaded, room, bytemuck::cast_slice(words));
        write(fixed.tokens, &batch.inputs);
        write(fixed.targets, &batch.targets);
        write(fixed.sorted, &sorted(&batch.inputs, vocab));
        let Origin { seed, step, first_row } = batch.origin;
        let first = u32::try_from(first_row).map_err(|_| {
            GpuError::List("more sequences in a step than a kernel can count".into())
        })?;
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        write(fixed.drawn, &[&halves(seed)[..], &halves(step), &[first]].concat());
        self.numbers(*hyper, 0.0, 0.0);
        self.gpu.run(&self.loaded, Part::Gradient);
        Ok(())
    }

    /// Queues the update: the gradient clipped to the norm `clip` (0: not at all), then AdamW. A norm
    /// that is not finite changes nothing.
    pub fn update(&mut self, lr: f32, clip: f32) {
        self.t += 1;
        self.numbers(self.planned.hyper, lr, clip);
        self.gpu.run(&self.loaded, Part::Update);
    }

    /// What the kernels want to know of this step. Writes stand in the queue's order.
    fn numbers(&self, hyper: Hyperparameters, lr: f32, clip: f32) {
        let Hyperparameters { beta1, beta2, eps, weight_decay, decay_all: _ } = hyper;
        // In f64: 1 − β₂ᵗ cancels for β₂ near 1.
        let correction = |beta: f32| (1.0 - f64::from(beta).powi(self.t.max(1))) as f32;
        let (rate, root) = (lr / correction(beta1), 1.0 / correction(beta2).sqrt());
        let each = 1.0 / self.counted.max(1) as f32;
        let all = [rate, root, lr * weight_decay, clip, beta1, beta2, eps, each];
        self.gpu.write(&self.loaded, self.planned.fixed.numbers, bytemuck::cast_slice(&all));
    }

    /// Waits for what was queued.
    ///
    /// # Errors
    /// [`GpuError::Device`].
    pub fn report(&self) -> Result<Report> {
        let read = self.gpu.read(&self.loaded, self.planned.fixed.report, 2)?;
        Ok(Report { loss: read[0], grad_norm: read[1] })
    }

    /// The gradient of every parameter, by name.
    ///
    /// # Errors
    /// [`GpuError::Device`].
    pub fn gradients(&self) -> Result<Vec<(String, Vec<f32>)>> {
        let Planned { layout, fixed, .. } = &self.planned;
        Ok(layout.scatter(&self.gpu.read(&self.loaded, fixed.grads, layout.numbers)?))
    }

    /// The weights, by name.
    ///
    /// # Errors
    /// [`GpuError::Device`].
    pub fn weights(&self) -> Result<Vec<(String, Vec<f32>)>> {
        let Planned { layout, fixed, .. } = &self.planned;
        Ok(layout.scatter(&self.gpu.read(&self.loaded, fixed.theta, layout.numbers)?))
    }
}

/// Where each token stands: for token v the places `starts[v]..starts[v + 1]`, in rising order.
fn sorted(tokens: &[u32], vocab: usize) -> Vec<u32> {
    let mut starts = vec![0; vocab + 1];
    tokens.iter().for_each(|&t| starts[t as usize + 1] += 1);
    for v in 0..vocab {
        starts[v + 1] += starts[v];
    }
    let mut next = starts.clone();
    let mut places = vec![0; tokens.len()];
    for (i, &t) in tokens.iter().enumerate() {
        places[next[t as usize] as usize] = i as u32;
        next[t as usize] += 1;
    }
    starts.extend(places);
    starts
}

#[cfg(test)]
mod tests {
    use super::sorted;

    #[test]
    fn places_are_sorted_by_token() {
        let (starts, places) = ([0, 1, 1, 3, 4], [3, 0, 2, 1]);
        assert_eq!(sorted(&[2, 3, 2, 0], 4), [&starts[..], &places].concat());
    }
}
