//! An optimizer whose memory is divided over the members of a crew.

use super::{Hyperparameters, Optimizer, OptimizerState, ParameterState, Slot};
use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::crew::{Bucket, Crew, buckets};
use crate::kernels::norm::CHUNK;
use crate::message;
use crate::tensor::Tensor;
use ndarray::ArrayD;
use std::any::Any;
use std::ops::Range;

/// Numbers that go over the wire at once: 8 MiB, so that the first go soon and little is left for the
/// end; fewer would be more messages. No sum depends on it.
const BUCKET: usize = 64 * CHUNK;

/// The lists of a model's parameters as they go over the wire, one bucket after the other.
pub fn buckets_of(lens: &[usize]) -> Vec<Bucket> {
    buckets(lens, CHUNK, BUCKET)
}

/// Any optimizer that moves each weight by that weight's own numbers alone, as AdamW and Lion do:
/// each of R members keeps the memory of its share of the weights, about one R-th, and moves only
/// these. The weights come to the same bits.
///
/// In a step the gradients are summed up to each member's share only; the new weights then go the
/// way back, in place of the finished sums. As many bytes are sent as without it.
///
/// Reference: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
/// Models", its first stage.
#[derive(Clone, Debug)]
pub struct Divided {
    inner: Box<dyn Optimizer>,
    names: Vec<String>,
    lens: Vec<usize>,
    buckets: Vec<Bucket>,
    shares: Vec<Range<usize>>,
    /// This member's pieces, as parameters of their own.
    pieces: Vec<Share>,
    /// What all members remember, gathered for a save; given up by the next step.
    whole: Option<OptimizerState>,
}

/// A piece of a parameter that is this member's.
#[derive(Clone, Debug)]
struct Share {
    list: usize,
    range: Range<usize>,
    name: String,
    weights: Tensor,
}

impl Divided {
    /// This optimizer, if it is a divided one.
    pub(crate) fn of(optimizer: &mut dyn Optimizer) -> Option<&mut Divided> {
        (optimizer as &mut dyn Any).downcast_mut()
    }

    /// Divides an optimizer, with what it remembers, for member `rank` of `size`.
    ///
    /// # Errors
    /// [`Error::Config`] when what it remembers belongs to other parameters.
    pub fn new<'t>(
        inner: Box<dyn Optimizer>,
        parameters: impl IntoIterator<Item = (String, &'t Tensor)>,
        rank: usize,
        size: usize,
    ) -> Result<Divided> {
        let parameters: Vec<_> = parameters.into_iter().collect();
        let lens: Vec<usize> = parameters.iter().map(|(_, p)| p.numel()).collect();
        let buckets = buckets_of(&lens);
        let shares: Vec<_> = buckets.iter().map(|bucket| bucket.share(rank, size)).collect();
        let mut pieces = Vec::new();
        for (bucket, share) in buckets.iter().zip(&shares) {
            for ((list, range), _) in bucket.within(share.clone()) {
                let (name, parameter) = &parameters[*list];
                // Matrices decay and vectors do not: a piece keeps its kind.
                let n = range.len();
                let shape = if parameter.rank() >= 2 { vec![1, n] } else { vec![n] };
                let weights = Tensor::parameter(ArrayD::zeros(shape));
                let name = format!("{name}[{}..{}]", range.start, range.end);
                pieces.push(Share { list: *list, range: range.clone(), name, weights });
            }
        }
        let names = parameters.into_iter().map(|(name, _)| name).collect();
        let whole = inner.state().clone();
        let mut divided = Divided { inner, names, lens, buckets, shares, pieces, whole: None };
        divided.inner.restore(divided.own(&whole)?);
        Ok(divided)
    }

    /// The buckets, each with this member's share of it.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&Bucket, &Range<usize>)> {
        self.buckets.iter().zip(&self.shares)
    }

    /// This member's part of what is remembered of all weights.
    fn own(&self, whole: &OptimizerState) -> Result<OptimizerState> {
        if whole.parameters.is_empty() {
            return Ok(whole.clone());
        }
        let parameters = self.pieces.iter().map(|piece| {
            let of = whole.parameters.get(piece.list);
            let of = of.filter(|of| of.name == self.names[piece.list]);
            let part = |slot: &Buffer| Some(Buffer::copy_of(slot.get(piece.range.clone())?));
            let slots = of.and_then(|of| of.slots.iter().map(part).collect::<Option<_>>());
            let slots = slots.ok_or_else(|| {
                Error::config("optimizer", message!("its state belongs to other parameters"))
            })?;
            Ok(ParameterState { name: piece.name.clone(), slots })
        });
        Ok(OptimizerState { t: whole.t, parameters: parameters.collect::<Result<_>>()? })
    }

    /// Moves this member's share of the weights along its share of the gradients, which are
    /// finished sums; then every member gets the others' weights.
    ///
    /// # Errors
    /// As [`Optimizer::step`]; [`Error::Crew`](crate::Error::Crew).
    pub(crate) fn step_together(
        &mut self,
        crew: &mut dyn Crew,
        parameters: Vec<(String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        self.whole = None;
        let mut of_pieces = Gradients::default();
        for piece in &mut self.pieces {
            let parameter: &Tensor = parameters[piece.list].1;
            piece.weights.data_mut().copy_from_slice(&parameter.data()[piece.range.clone()]);
            if let Some(gradient) = grads.get(parameter) {
                of_pieces.give_copy(&piece.weights.parent(), &gradient[piece.range.clone()]);
            }
        }
        let mut own = self.pieces.iter_mut().map(|piece| (piece.name.clone(), &mut piece.weights));
        self.inner.step(&mut own, &of_pieces, lr, grad_scale)?;
        let mut lists: Vec<&mut [f32]> =
            parameters.into_iter().map(|(_, parameter)| parameter.data_mut()).collect();
        for piece in &self.pieces {
            lists[piece.list][piece.range.clone()].copy_from_slice(piece.weights.data());
        }
        for bucket in &self.buckets {
            bucket.double(crew, &mut bucket.of(&mut lists))?;
        }
        Ok(())
    }

    /// Gathers what all members remember, so that the first one's [`Optimizer::state`] is that of
    /// the whole until the next step.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    pub(crate) fn gather(&mut self, crew: &mut dyn Crew) -> Result<()> {
        let (own, is_first) = (self.inner.state(), crew.rank() == 0);
        if own.t == 0 {
            return Ok(());
        }
        let slots = self.inner.slots().len();
        let kept = |len: &usize| if is_first { Buffer::zeros(*len) } else { Buffer::zeros(0) };
        let mut whole: Vec<Vec<Buffer>> =
            (0..slots).map(|_| self.lens.iter().map(kept).collect()).collect();
        for (slot, lists) in whole.iter_mut().enumerate() {
            let mut mine = self.pieces.iter().zip(&own.parameters);
            for (bucket, share) in self.buckets.iter().zip(&self.shares) {
                let mut flat = Buffer::zeros(bucket.len());
                for (_, place) in bucket.within(share.clone()) {
                    if let Some((_, of)) = mine.next() {
                        flat[place].copy_from_slice(&of.slots[slot]);
                    }
                }
                bucket.double(crew, &mut [&mut flat])?;
                if is_first {
                    for ((list, range), place) in bucket.pieces() {
                        lists[*list][range.clone()].copy_from_slice(&flat[place]);
                    }
                }
            }
        }
        if is_first {
            let mut slots: Vec<_> = whole.into_iter().map(Vec::into_iter).collect();
            let parameters = self.names.iter().map(|name| ParameterState {
                name: name.clone(),
                slots: slots.iter_mut().filter_map(Iterator::next).collect(),
            });
            self.whole = Some(OptimizerState { t: own.t, parameters: parameters.collect() });
        }
        Ok(())
    }
}

impl Optimizer for Divided {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn slots(&self) -> &'static [Slot] {
        self.inner.slots()
    }

    fn config(&self) -> &Hyperparameters {
        self.inner.config()
    }

    fn set_config(&mut self, config: Hyperparameters) -> Result<()> {
        self.inner.set_config(config)
    }

    /// Not alone: [`train_step`](crate::train::train_step) with a crew does it.
    fn step(
        &mut self,
        _: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        _: &Gradients,
        _: f32,
        _: f32,
    ) -> Result<()> {
        Err(Error::config("optimizer", message!("it is divided over a crew, and there is none")))
    }

    /// Of the whole, where it was gathered; else of this member's pieces.
    fn state(&self) -> &OptimizerState {
        self.whole.as_ref().unwrap_or_else(|| self.inner.state())
    }

    /// What does not fit is as if nothing were remembered.
    fn restore(&mut self, state: OptimizerState) {
        let own = self.own(&state).unwrap_or_default();
        self.inner.restore(own);
        self.whole = None;
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}
