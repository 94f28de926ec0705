//! A model's weights on a device, where it is measured and writes.

use crate::device::Gpu;
use crate::error::{GpuError, Result};
use crate::layout::Layout;
use crate::listed::list_of;
use crate::loaded::Loaded;
use crate::maker::Rooms;
use crate::plan::{Part, Plan, Room, Use};
use crate::rule::Rule;
use crate::scores::Measuring;
use crate::walk;
use llm_core::listing::Fact;
use llm_core::model::{Batch, Mode, TinyGPT};
use llm_core::optim::{AdamW, Hyperparameters};
use llm_core::train::{Batches, StepSum, Work};
use llm_core::{Result as CoreResult, TokenId, message};

/// A model's weights on a device, where it is measured and writes.
pub struct GpuModel {
    gpu: Gpu,
    layout: Layout,
    theta: Vec<wgpu::Buffer>,
    measuring: Measuring,
}

impl std::fmt::Debug for GpuModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuModel").field("on", &self.gpu).finish_non_exhaustive()
    }
}

fn said(e: llm_core::Error) -> GpuError {
    GpuError::List(e.message())
}

impl GpuModel {
    /// Copies the weights to a device.
    ///
    /// # Errors
    /// [`GpuError::NoKernels`] for a model that has none, [`GpuError::Memory`], [`GpuError::Device`].
    pub fn new(gpu: Gpu, model: &TinyGPT) -> Result<GpuModel> {
        let batch = Batch::new(vec![0], vec![0], [1, 1]);
        let (_, _, list) = list_of(model, &batch, Mode::Evaluation).map_err(said)?;
        let parameters: Vec<_> = model.parameters().collect();
        let rule = Rule::of(&AdamW::new(Hyperparameters::default()).map_err(said)?)?;
        let layout = Layout::new(&parameters, &rule, &list, gpu.array)?;
        walk::scoring(&list, &layout, gpu.capacity())?;
        let mut plan = Plan::default();
        let rooms = layout.arrays.iter().map(|of| plan.room(of.numbers, Use::Kept));
        let rooms: Vec<Room> = rooms.collect();
        let loaded = gpu.load(&plan, &plan.buffers(), &[])?;
        let numbers = layout.gathered(parameters.iter().map(|(name, p)| (name, p.data())))?;
        for (&room, numbers) in rooms.iter().zip(layout.each(&numbers)) {
            gpu.write(&loaded, room, numbers);
        }
        let theta = loaded.of(&rooms);
        Ok(GpuModel { gpu, layout, theta, measuring: Measuring::default() })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// A text there, of which nothing was read yet; the model is the one whose weights these are.
    ///
    /// # Errors
    /// As [`GpuModel::new`].
    pub fn reader(&self, model: &TinyGPT) -> Result<GpuReader> {
        let context = model.config().seq_len;
        let list = |t: usize| {
            let batch = Batch::new(vec![0; t], vec![0; t], [1, t]);
            list_of(model, &batch, Mode::Evaluation).map(|(.., list)| list).map_err(said)
        };
        let (mut one, all) = (list(1)?, list(context)?);
        // Angles are made for the places that there are.
        for (one, of_all) in one.iter_mut().zip(all) {
            for (fact, (_, of_all)) in one.facts.iter_mut().zip(of_all.facts) {
                if matches!(of_all, Fact::Angles(_)) {
                    fact.1 = of_all;
                }
            }
        }
        let parameters: Vec<_> = model.parameters().collect();
        let layout = self.layout.of(&parameters)?;
        let (plan, rooms, [place, scores]) =
            walk::reading(&one, &layout, self.gpu.capacity(), context)?;
        let loaded = self.gpu.load(&plan, &plan.buffers(), &self.theta)?;
        let vocab = model.config().vocab_size;
        Ok(GpuReader { gpu: self.gpu.clone(), plan, rooms, loaded, place, scores, vocab })
    }
}

/// A text that a device reads.
pub struct GpuReader {
    gpu: Gpu,
    plan: Plan,
    rooms: Rooms,
    loaded: Loaded,
    place: Room,
    scores: Room,
    vocab: usize,
}

impl std::fmt::Debug for GpuReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuReader").field("on", &self.gpu).finish_non_exhaustive()
    }
}

impl GpuReader {
    /// Reads the tokens of a text behind the first `known`, which it has read; the scores of what follows, `[V]`.
    ///
    /// # Errors
    /// [`GpuError::Device`]; [`GpuError::List`] for a token beyond the vocabulary.
    pub fn read(&mut self, text: &[TokenId], known: usize) -> Result<Vec<f32>> {
        if text.iter().any(|&token| token as usize >= self.vocab) {
            return Err(GpuError::List(message!("a token is beyond the vocabulary")));
        }
        let out = self.gpu.outbox(self.vocab);
        for i in known..text.len() {
            let mut words = vec![(self.rooms.tokens, vec![text[i]]), (self.place, vec![i as u32])];
            for (table, _, [rows, _]) in &self.rooms.ngrams {
                words.push((*rows, vec![table.row(text, i)]));
            }
            self.gpu.say(&self.loaded, &words);
            let scores = (i + 1 == text.len()).then_some((self.scores, &out));
            let commands = self.gpu.encode(&self.loaded, &self.plan, &[Part::Score], scores);
            self.gpu.queue.submit([commands]);
        }
        self.gpu.wait(&out)
    }
}

impl Work for GpuModel {
    fn gradients(&mut self, _: &TinyGPT, _: &mut Batches<'_>, _: u64) -> CoreResult<StepSum> {
        Err(GpuError::List(message!("weights that are measured there have no steps")).into())
    }

    fn score(
        &mut self,
        model: &TinyGPT,
        batch: &Batch,
    ) -> CoreResult<Option<(Vec<f32>, Vec<bool>)>> {
        let there = (&self.layout, self.gpu.capacity(), &self.theta[..]);
        Ok(Some(self.measuring.score(&self.gpu, there, (model, true), batch)?))
    }
}
