//! A training step of one model on one device.

use crate::device::Gpu;
use crate::error::{GpuError, Result};
use crate::loaded::Loaded;
use crate::plan::{Part, Room};
use crate::planned::Planned;
use llm_core::message;
use llm_core::model::{Batch, TinyGPT};
use llm_core::optim::OptimizerState;
use std::collections::VecDeque;

impl Planned {
    /// Puts the step on a device, with the weights of a model and what its optimizer remembers.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device); [`GpuError::List`](crate::GpuError::List) when these
    /// are not those that it was made for.
    pub fn load(self, gpu: &Gpu, model: &TinyGPT, state: &OptimizerState) -> Result<Step> {
        let weights: Vec<_> = model.parameters().collect();
        self.load_weights(gpu, weights.iter().map(|(name, p)| (name, p.data())), state)
    }

    /// [`Planned::load`] with weights by name.
    ///
    /// # Errors
    /// As [`Planned::load`].
    pub fn load_weights<'a, N: AsRef<str>>(
        self,
        gpu: &Gpu,
        weights: impl IntoIterator<Item = (N, &'a [f32])>,
        state: &OptimizerState,
    ) -> Result<Step> {
        let (theta, slots) = (self.gather(weights)?, self.slots(state)?);
        let loaded = gpu.load(&self.plan, &self.buffers, &[])?;
        let rooms = std::iter::once(&self.rooms.theta).chain(&self.rooms.slots);
        for (rooms, numbers) in rooms.zip(std::iter::once(&theta).chain(&slots)) {
            for (&room, numbers) in rooms.iter().zip(self.each(numbers)) {
                gpu.write(&loaded, room, numbers);
            }
        }
        let (ahead, gpu) = (PASSES.map(|_| None), gpu.clone());
        let [report, one, other] = [2; 3].map(|numbers| gpu.outbox(numbers));
        let (free, queued) = (vec![one, other], VecDeque::new());
        Ok(Step { report, free, queued, gpu, loaded, planned: self, ahead, t: state.t })
    }
}

/// What is queued at a time: a micro-batch, the last one of a step, the update by a scale or by a largest norm.
const PASSES: [&[Part]; 4] = [
    &[Part::Gradient, Part::Sum],
    &[Part::Gradient, Part::Sum, Part::Norm],
    &[Part::Update],
    &[Part::Clip, Part::Update],
];
const MICRO: usize = 0;
const LAST: usize = 1;
const UPDATE: usize = 2;
const CLIPPED: usize = 3;
/// The last micro-batch and the update, where no host waits in between.
const WHOLE: &[Part] = &[Part::Gradient, Part::Sum, Part::Norm, Part::Clip, Part::Update];

/// 1, as bits: what is not finite holds later steps.
const HOLDS: u32 = 1.0f32.to_bits();

/// A planned step loaded onto a device.
pub struct Step {
    pub(crate) gpu: Gpu,
    pub(crate) loaded: Loaded,
    pub(crate) planned: Planned,
    /// Loss and norm are copied into it behind each micro-batch.
    report: wgpu::Buffer,
    /// Passes that are encoded already.
    ahead: [Option<wgpu::CommandBuffer>; 4],
    /// Reports of steps that no host waits for: free ones, and those that are queued, the oldest first.
    free: Vec<wgpu::Buffer>,
    queued: VecDeque<(wgpu::SubmissionIndex, wgpu::Buffer)>,
    /// Updates done.
    t: u64,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = &mut f.debug_struct("Step");
        fields.field("on", &self.gpu).field("updates", &self.t).finish_non_exhaustive()
    }
}

/// Loss and norm of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Mean cross entropy of the step's micro-batches, in nats.
    pub loss: f32,
    /// Norm of the step's gradient, known behind the last micro-batch.
    pub grad_norm: f32,
}

impl Step {
    /// The plan of the step.
    pub fn planned(&self) -> &Planned {
        &self.planned
    }

    /// Updates done, those before it was loaded included.
    pub fn updates(&self) -> u64 {
        self.t
    }

    /// Queues the loss of micro-batch `micro`, from 0, and its gradient; behind the last one of the step
    /// the norm.
    ///
    /// # Errors
    /// As [`Planned::words`].
    pub fn gradient(&mut self, batch: &Batch, micro: u32) -> Result<()> {
        self.gpu.say(&self.loaded, &self.planned.words(batch, micro)?);
        let is_last = micro + 1 == self.planned.micro_batches;
        self.queue(if is_last { LAST } else { MICRO });
        Ok(())
    }

    /// Queues the update, of the gradient times `scale`. A norm that is not finite changes nothing.
    pub fn update(&mut self, lr: f32, scale: f32) {
        self.t += 1;
        self.gpu.say(&self.loaded, &[self.planned.numbers(self.t, lr, scale)]);
        self.queue(UPDATE);
    }

    /// [`Step::update`], clipped there to this norm; 0: to none.
    pub fn update_clipped(&mut self, lr: f32, clip: f32) {
        self.t += 1;
        self.gpu.say(&self.loaded, &[self.planned.numbers(self.t, lr, clip)]);
        self.queue(CLIPPED);
    }

    /// Queues micro-batch `micro` of a step that no host waits for, behind the last one its update too, clipped to this norm.
    /// Of two at most [`Step::finish`] is still to be asked.
    ///
    /// # Errors
    /// As [`Planned::words`].
    pub fn ahead(&mut self, batch: &Batch, micro: u32, lr: f32, clip: f32) -> Result<()> {
        let mut words = self.planned.words(batch, micro)?;
        let share = self.planned.rooms.share;
        words.iter_mut().filter(|(room, _)| *room == share).for_each(|(_, of)| of[2] = HOLDS);
        if micro + 1 < self.planned.micro_batches {
            self.gpu.say(&self.loaded, &words);
            self.queue(MICRO);
            return Ok(());
        }
        let busy = || GpuError::List(message!("two steps are queued already"));
        let out = self.free.pop().ok_or_else(busy)?;
        self.t += 1;
        words.push(self.planned.numbers(self.t, lr, clip));
        self.gpu.say(&self.loaded, &words);
        let report = Some((self.planned.rooms.report, &out));
        let commands = self.gpu.encode(&self.loaded, &self.planned.plan, WHOLE, report);
        self.queued.push_back((self.gpu.queue.submit([commands]), out));
        Ok(())
    }

    /// Waits for the oldest step that is queued. `None`, where it is not finite: nothing was changed by it, nor by those
    /// behind it, and they are forgotten.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn finish(&mut self) -> Result<Option<Report>> {
        let Some((index, out)) = self.queued.pop_front() else { return Ok(None) };
        let read = self.gpu.wait_for(&out, Some(index));
        self.free.push(out);
        let [loss, grad_norm] = read?[..] else { return Ok(None) };
        if loss.is_finite() && grad_norm.is_finite() {
            return Ok(Some(Report { loss, grad_norm }));
        }
        self.t -= 1 + self.queued.len() as u64;
        self.free.extend(self.queued.drain(..).map(|(_, out)| out));
        self.gpu.write(&self.loaded, self.planned.rooms.report, &[0.0; 3]);
        Ok(None)
    }

    fn queue(&mut self, pass: usize) {
        let commands = self.ahead[pass].take().unwrap_or_else(|| self.encoded(pass));
        self.gpu.queue.submit([commands]);
    }

    fn encoded(&self, pass: usize) -> wgpu::CommandBuffer {
        let report = (pass <= LAST).then_some((self.planned.rooms.report, &self.report));
        self.gpu.encode(&self.loaded, &self.planned.plan, PASSES[pass], report)
    }

    /// Waits for what was queued, and encodes meanwhile what comes next.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn report(&mut self) -> Result<Report> {
        let several = self.planned.micro_batches > 1;
        for pass in [CLIPPED, if several { MICRO } else { LAST }] {
            if self.ahead[pass].is_none() {
                self.ahead[pass] = Some(self.encoded(pass));
            }
        }
        let read = self.gpu.wait(&self.report)?;
        Ok(Report { loss: read[0], grad_norm: read[1] })
    }

    /// The step's gradient, in θ's order.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn gradient_here(&self) -> Result<Vec<f32>> {
        self.all(&self.planned.rooms.total)
    }

    /// Puts another in its place, and gives its norm.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn replace_gradient(&mut self, gradient: &[f32]) -> Result<f32> {
        let Planned { rooms, plan, .. } = &self.planned;
        for (&room, numbers) in rooms.total.iter().zip(self.planned.each(gradient)) {
            self.gpu.write(&self.loaded, room, numbers);
        }
        let report = Some((rooms.report, &self.report));
        self.gpu.queue.submit([self.gpu.encode(&self.loaded, plan, &[Part::Norm], report)]);
        Ok(self.gpu.wait(&self.report)?[1])
    }

    /// The gradient of every parameter, by name.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn gradients(&self) -> Result<Vec<(String, Vec<f32>)>> {
        self.named(&self.planned.rooms.total)
    }

    /// The weights, by name.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn weights(&self) -> Result<Vec<(String, Vec<f32>)>> {
        self.named(&self.planned.rooms.theta)
    }

    /// What the optimizer remembers.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device).
    pub fn state(&self) -> Result<OptimizerState> {
        let slots = self.planned.rooms.slots.iter().map(|rooms| self.all(rooms));
        Ok(self.planned.state(self.t, &slots.collect::<Result<Vec<_>>>()?))
    }

    /// The numbers of rooms that are as long as θ's.
    fn all(&self, rooms: &[Room]) -> Result<Vec<f32>> {
        let arrays = rooms.iter().zip(&self.planned.layout.arrays);
        let each = arrays.map(|(&room, of)| self.gpu.read(&self.loaded, room, of.numbers));
        Ok(each.collect::<Result<Vec<_>>>()?.concat())
    }

    fn named(&self, rooms: &[Room]) -> Result<Vec<(String, Vec<f32>)>> {
        let all = self.all(rooms)?;
        let part = |(name, part): (&str, &[f32])| (name.to_string(), part.to_vec());
        Ok(self.planned.scatter(&all).map(part).collect())
    }
}
