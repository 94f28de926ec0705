//! An optimizer's memory, divided over the processes of a group.

use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::crew::{Bucket, Crew, buckets_of};
use crate::message;
use crate::model::TinyGPT;
use crate::optim::{Optimizer, OptimizerState, ParameterState};
use crate::tensor::Tensor;
use ndarray::ArrayD;
use std::ops::Range;

/// What of the weights is this rank's. The optimizer remembers of these pieces alone, each as a
/// parameter of its own.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    names: Vec<String>,
    lens: Vec<usize>,
    buckets: Vec<Bucket>,
    shares: Vec<Range<usize>>,
    pieces: Vec<Share>,
    /// What the optimizer remembers of the pieces, while it holds what all ranks remember, for a save.
    own: Option<OptimizerState>,
}

/// A piece of a parameter that is this rank's.
#[derive(Clone, Debug)]
struct Share {
    list: usize,
    range: Range<usize>,
    name: String,
    weights: Tensor,
}

impl Shares {
    /// The share of rank `rank` of `size`; of what the optimizer remembers, it keeps that part.
    ///
    /// # Errors
    /// [`Error::Config`] when it looks at more than one weight at a time, or what it remembers
    /// belongs to other parameters.
    pub fn new(model: &TinyGPT, optimizer: &mut dyn Optimizer, crew: &dyn Crew) -> Result<Shares> {
        let why = message!(
            "{} cannot be divided: it looks at more than one weight at a time; adamw and lion can",
            optimizer.name()
        );
        Error::unless(optimizer.row().elementwise, "optimizer", why)?;
        let parameters: Vec<_> = model.trained().collect();
        let lens: Vec<usize> = parameters.iter().map(|(_, p)| p.numel()).collect();
        let buckets = buckets_of(&lens);
        let shares: Vec<_> =
            buckets.iter().map(|bucket| bucket.share(crew.rank(), crew.size())).collect();
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
        let shares = Shares { names, lens, buckets, shares, pieces, own: None };
        let own = shares.own(optimizer.state())?;
        optimizer.restore(own);
        Ok(shares)
    }

    /// The buckets, each with this rank's share of it.
    pub fn iter(&self) -> impl Iterator<Item = (&Bucket, &Range<usize>)> {
        self.buckets.iter().zip(&self.shares)
    }

    /// This rank's part of what is remembered of all weights.
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

    /// Moves this rank's share of the weights along its share of the gradients, which are finished
    /// sums, at a rate and with a scale; then every rank gets the others' weights.
    ///
    /// # Errors
    /// As [`Optimizer::step`]; [`Error::Crew`].
    pub fn update(
        &mut self,
        crew: &mut dyn Crew,
        model: &mut TinyGPT,
        optimizer: &mut dyn Optimizer,
        grads: &Gradients,
        [lr, scale]: [f32; 2],
    ) -> Result<()> {
        self.give_back(optimizer);
        let parameters: Vec<(String, &mut Tensor)> = model.trained_mut().collect();
        let mut of_pieces = Gradients::default();
        for piece in &mut self.pieces {
            let parameter: &Tensor = parameters[piece.list].1;
            piece.weights.data_mut().copy_from_slice(&parameter.data()[piece.range.clone()]);
            if let Some(gradient) = grads.get(parameter) {
                of_pieces.give_copy(&piece.weights.parent(), &gradient[piece.range.clone()]);
            }
        }
        let mut own = self.pieces.iter_mut().map(|piece| (piece.name.clone(), &mut piece.weights));
        optimizer.step(&mut own, &of_pieces, lr, scale)?;
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

    /// Gathers what all ranks remember: until the next update the optimizer of rank 0 holds the whole.
    ///
    /// # Errors
    /// [`Error::Crew`].
    pub fn gather(&mut self, crew: &mut dyn Crew, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.give_back(optimizer);
        let (own, is_first) = (optimizer.state(), crew.rank() == 0);
        if own.t == 0 {
            return Ok(());
        }
        let slots = optimizer.slots().len();
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
            let whole = OptimizerState { t: own.t, parameters: parameters.collect() };
            self.own = Some(std::mem::replace(optimizer.state_mut(), whole));
        }
        Ok(())
    }

    /// Has the optimizer remember of the pieces again.
    fn give_back(&mut self, optimizer: &mut dyn Optimizer) {
        if let Some(own) = self.own.take() {
            optimizer.restore(own);
        }
    }
}
