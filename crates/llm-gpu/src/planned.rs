//! A step that is made and not yet on a device.

use crate::error::{CLOSE, Result, SMALL};
use crate::layout::Layout;
use crate::maker::{Batches, Rooms};
use crate::plan::{Buffers, Capacity, Plan};
use crate::rule::Rule;
use crate::walk::plan;
use llm_core::Tensor;
use llm_core::buffer::Buffer;
use llm_core::listing::Listed;
use llm_core::optim::{Optimizer, OptimizerState, ParameterState};
use llm_core::train::Trainer;

/// A step that is made and not yet on a device: an op without kernels was refused before this, and
/// what it will need is known. All of it is data, for whoever has a device:
///
/// 1. make [`Planned::buffers`], and in θ's order write the weights ([`Planned::gather`]) and what the
///    optimizer keeps ([`Planned::slots`]);
/// 2. for each micro-batch write [`Planned::words`], run [`Part::Gradient`](crate::Part::Gradient) and
///    [`Part::Sum`](crate::Part::Sum); then [`Part::Norm`](crate::Part::Norm), and read loss and norm from
///    the report;
/// 3. write [`Planned::numbers`] and run [`Part::Update`](crate::Part::Update), behind
///    [`Part::Clip`](crate::Part::Clip) where the report is not read before;
/// 4. at the end read θ and the slots back ([`Planned::scatter`], [`Planned::state`]).
#[derive(Debug)]
pub struct Planned {
    /// The calls and rooms themselves.
    pub plan: Plan,
    /// Where the rooms lie.
    pub buffers: Buffers,
    pub(crate) layout: Layout,
    /// The rooms that every step has.
    pub rooms: Rooms,
    pub(crate) batches: Batches,
    /// Micro-batches of a step, of this process.
    pub micro_batches: u32,
    pub(crate) rule: Rule,
    pub(crate) on: Capacity,
    /// Processes that share a step.
    ranks: u32,
}

impl Planned {
    /// Largest difference of a step's first loss on the CPU and on a GPU, relative to the CPU's.
    pub const CLOSE: f32 = CLOSE;

    /// Smallest loss, in nats per token, that [`Planned::CLOSE`] is relative to: the loss of a model that
    /// memorised its text is mostly rounding.
    pub const SMALL: f32 = SMALL;

    /// From the list of a loss, the parameters of its model by name, the optimizer, and how many
    /// micro-batches a step has.
    ///
    /// ```
    /// use llm_core::listing::listing;
    /// use llm_core::model::{Config, Mode, TinyGPT};
    /// use llm_core::{AdamW, Hyperparameters, TokenDataset};
    /// let model = TinyGPT::new(Config::new(256, 8, 16, 1), 1).unwrap();
    /// let batch = TokenDataset::from_bytes(b"once upon a time".to_vec()).batch(1, 0, [2, 8]).unwrap();
    /// let (_, list) = listing(|| model.loss(&batch, Mode::Training).unwrap());
    /// let parameters: Vec<_> = model.parameters().collect();
    /// let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    /// let planned = llm_gpu::Planned::new(&list, &parameters, &optimizer, 1).unwrap();
    /// assert!(planned.bytes() > 0);
    /// ```
    ///
    /// # Errors
    /// [`GpuError::NoKernels`](crate::GpuError::NoKernels) for the first op that has none,
    /// [`GpuError::NoOptimizer`](crate::GpuError::NoOptimizer); [`GpuError::List`](crate::GpuError::List) when
    /// the list is not that of a loss over a batch of tokens, or a parameter takes no part in it.
    pub fn new(
        list: &[Listed],
        parameters: &[(String, &Tensor)],
        optimizer: &dyn Optimizer,
        micro_batches: u32,
    ) -> Result<Planned> {
        Planned::by(Capacity::default(), list, parameters, optimizer, micro_batches)
    }

    /// [`Planned::new`] for a device: scores that are too many for it are made in pieces, and where its memory is too small
    /// for all that a step keeps, norms and activations are computed again on the way back.
    ///
    /// # Errors
    /// As [`Planned::new`].
    pub fn by(
        on: Capacity,
        list: &[Listed],
        parameters: &[(String, &Tensor)],
        optimizer: &dyn Optimizer,
        micro_batches: u32,
    ) -> Result<Planned> {
        Planned::shared(on, list, parameters, optimizer, [micro_batches, 1])
    }

    /// [`Planned::by`] for one of several processes.
    fn shared(
        on: Capacity,
        list: &[Listed],
        parameters: &[(String, &Tensor)],
        optimizer: &dyn Optimizer,
        [micro_batches, ranks]: [u32; 2],
    ) -> Result<Planned> {
        let rule = Rule::of(optimizer)?;
        let layout = Layout::new(parameters, &rule, list, on.array)?;
        let micro_batches = micro_batches.max(1);
        let made = |is_tight| -> Result<_> {
            let made = plan(list, &layout, &rule, [micro_batches, ranks], on, is_tight)?;
            Ok((made.0.buffers(), made))
        };
        let mut all = made(false)?;
        if on.memory.is_some_and(|memory| all.0.bytes() > memory) {
            all = made(true)?;
        }
        let (buffers, (plan, rooms, batches)) = all;
        Ok(Planned { plan, buffers, layout, rooms, batches, micro_batches, rule, on, ranks })
    }

    /// The plan of a run, from the [`listed`](crate::listed) forward of its next step.
    ///
    /// # Errors
    /// As [`Planned::new`].
    pub fn of(trainer: &Trainer, list: &[Listed], on: Capacity) -> Result<Planned> {
        Planned::among(1, trainer, list, on)
    }

    /// [`Planned::of`] for one of `ranks` ranks, each of which has an equal part of a step's micro-batches.
    ///
    /// # Errors
    /// As [`Planned::new`].
    pub fn among(ranks: u32, trainer: &Trainer, list: &[Listed], on: Capacity) -> Result<Planned> {
        let Trainer { model, optimizer, recipe, .. } = trainer;
        let parameters: Vec<_> = model.parameters().collect();
        let each = recipe.accum / ranks.max(1);
        Planned::shared(on, list, &parameters, optimizer.as_ref(), [each, ranks])
    }

    /// Micro-batches of all ranks together.
    pub(crate) fn of_all(&self) -> u32 {
        self.micro_batches * self.ranks
    }

    /// Numbers in θ's order, or an optimizer's slot, as those of each of its rooms.
    pub fn each<'a>(&self, all: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        self.layout.each(all)
    }

    /// Bytes that the step will need on the device.
    pub fn bytes(&self) -> u64 {
        self.buffers.bytes()
    }

    /// Calls of all parts together.
    pub fn calls(&self) -> usize {
        self.plan.calls.len()
    }

    /// Numbers of all parameters, in the model's order, as one array in θ's order.
    ///
    /// # Errors
    /// [`GpuError::List`](crate::GpuError::List) when these are not the parameters that it was made for.
    pub fn gather<'a, N: AsRef<str>>(
        &self,
        each: impl IntoIterator<Item = (N, &'a [f32])>,
    ) -> Result<Vec<f32>> {
        self.layout.gathered(each)
    }

    /// Each parameter's part of such an array, by name and in the model's order.
    pub fn scatter<'a>(&self, theta: &'a [f32]) -> impl Iterator<Item = (&str, &'a [f32])> {
        self.layout.scatter(theta)
    }

    /// What an optimizer keeps, an array in θ's order for each of its slots.
    ///
    /// # Errors
    /// As [`Planned::gather`].
    pub fn slots<'a>(&self, state: &'a OptimizerState) -> Result<Vec<Vec<f32>>> {
        let slots = 0..self.rooms.slots.len();
        if state.parameters.is_empty() {
            return Ok(slots.map(|_| vec![0.0; self.layout.numbers]).collect());
        }
        let part = |p: &'a ParameterState, slot: usize| {
            (&p.name, p.slots.get(slot).map_or(&[][..], |kept| kept))
        };
        slots.map(|slot| self.gather(state.parameters.iter().map(|p| part(p, slot)))).collect()
    }

    /// The optimizer's state after `t` updates, from such arrays.
    pub fn state(&self, t: u64, slots: &[Vec<f32>]) -> OptimizerState {
        let mut state = OptimizerState { t, parameters: Vec::new() };
        if t > 0 {
            let fresh = |name: &String| ParameterState { name: name.clone(), slots: Vec::new() };
            state.parameters = self.layout.all.iter().map(|(name, ..)| fresh(name)).collect();
            for slot in slots {
                for (p, (_, part)) in state.parameters.iter_mut().zip(self.scatter(slot)) {
                    p.slots.push(Buffer::from(part.to_vec()));
                }
            }
        }
        state
    }
}
