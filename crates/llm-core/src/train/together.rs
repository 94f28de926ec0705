//! What the ranks of a process group make of their parts of a step.

use super::accumulate::pairwise;
use super::shares::Shares;
use crate::autograd::{Gradients, TensorId};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::crew::{Crew, buckets_of};
use crate::kernels::norm::{CHUNK, chunk_squares, sum_of_chunks};
use crate::message;
use crate::model::TinyGPT;
use crate::profile::enter;
use crate::tensor::Tensor;
use std::collections::{BTreeMap, BTreeSet};

/// What a rank has done of a step, besides its gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// The rank's share of the mean loss.
    pub loss: f64,
    /// Tokens.
    pub tokens: u64,
    /// Whether it was asked to stop before its last micro-batch.
    pub stopped: bool,
}

impl Part {
    const BYTES: usize = 17;

    fn to_bytes(self) -> [u8; Part::BYTES] {
        let mut bytes = [0; Part::BYTES];
        bytes[..8].copy_from_slice(&self.loss.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.tokens.to_le_bytes());
        bytes[16] = u8::from(self.stopped);
        bytes
    }

    fn from_bytes(bytes: &[u8; Part::BYTES]) -> Part {
        let [loss, tokens] = [0, 1].map(|i| bytes.as_chunks().0[i]);
        let (loss, tokens) = (f64::from_le_bytes(loss), u64::from_le_bytes(tokens));
        Part { loss, tokens, stopped: bytes[16] != 0 }
    }
}

/// The step as all ranks did it: the loss by the tree over their numbers, and the gradient too,
/// unless one was asked to stop. With a divided optimizer each rank gets the finished gradient of
/// its share alone.
///
/// The rank's gradients come one after the other, as they are finished; [`buckets_of`] says in
/// which order they go to the others, which is the same for all.
///
/// # Errors
/// [`Error::Stopped`] for all when one was asked to stop, [`Error::Crew`].
pub(super) fn join(
    crew: &mut dyn Crew,
    mine: Part,
    model: &TinyGPT,
    finished: impl Iterator<Item = (TensorId, Buffer)>,
    divided: bool,
    step: u64,
) -> Result<(Part, Gradients)> {
    let parts = crew.gather(&mine.to_bytes())?;
    let (parts, _) = parts.as_chunks();
    let parts: Vec<Part> = parts.iter().map(Part::from_bytes).collect();
    if parts.iter().any(|part| part.stopped) {
        return Err(Error::Stopped { step });
    }
    let losses: Vec<f64> = parts.iter().map(|part| part.loss).collect();
    let gradients = sum(crew, model, finished, divided)?;
    let tokens = parts.iter().map(|part| part.tokens).sum();
    Ok((Part { loss: pairwise(&losses), tokens, stopped: false }, gradients))
}

/// Sums all gradients over the ranks, where they lie; `divided`: each rank its share of them.
fn sum(
    crew: &mut dyn Crew,
    model: &TinyGPT,
    mut finished: impl Iterator<Item = (TensorId, Buffer)>,
    divided: bool,
) -> Result<Gradients> {
    let parameters: Vec<&Tensor> = model.trained().map(|(_, p)| p).collect();
    let leaves = parameters.iter().enumerate().filter_map(|(list, p)| Some((p.id()?, list)));
    let leaves: BTreeMap<TensorId, usize> = leaves.collect();
    let lens: Vec<usize> = parameters.iter().map(|p| p.numel()).collect();
    let mut gradients: Vec<Option<Buffer>> = lens.iter().map(|_| None).collect();
    let mut without = BTreeSet::new();
    let partly = || message!("it cannot be divided: the loss does not depend on every parameter");
    for bucket in buckets_of(&lens) {
        for (list, _) in bucket.lists() {
            while gradients[list].is_none() {
                if let Some((leaf, gradient)) = finished.next() {
                    if let Some(&of) = leaves.get(&leaf) {
                        gradients[of] = Some(gradient);
                    }
                    continue;
                }
                // The loss does not depend on this parameter, here and everywhere else.
                Error::unless(!divided, "optimizer", partly())?;
                gradients[list] = Some(Buffer::zeros(lens[list]));
                without.insert(list);
            }
        }
        let lists = gradients.iter_mut().map(|of| of.as_deref_mut().unwrap_or_default());
        let mut lists: Vec<&mut [f32]> = lists.collect();
        let mut x = bucket.of(&mut lists);
        bucket.halve(crew, &mut x)?;
        if !divided {
            bucket.double(crew, &mut x)?;
        }
    }
    let summed = gradients.into_iter().enumerate().filter(|(list, _)| !without.contains(list));
    Ok(Gradients::of_leaves(summed.filter_map(|(list, of)| Some((parameters[list].id()?, of?)))))
}

/// The gradient's norm where each rank has the gradient of its share: as
/// [`grad_norm`](crate::optim::grad_norm) of the whole, to the bit.
///
/// # Errors
/// [`Error::Crew`].
pub(super) fn norm(
    crew: &mut dyn Crew,
    shares: &Shares,
    model: &TinyGPT,
    grads: &Gradients,
) -> Result<f64> {
    let _span = enter("clip");
    let parameters: Vec<&Tensor> = model.trained().map(|(_, p)| p).collect();
    let pieces = shares.iter().flat_map(|(bucket, share)| bucket.within(share.clone()));
    let squares = pieces.map(|((list, range), _)| {
        let gradient = grads.get(parameters[*list]);
        (*list, range.start / CHUNK, gradient.map_or(0.0, |g| chunk_squares(&g[range.clone()])))
    });
    let mut chunks: Vec<Vec<f64>> =
        parameters.iter().map(|p| vec![0.0; p.numel().div_ceil(CHUNK)]).collect();
    for (list, chunk, sum) in gather_all(crew, squares.collect())? {
        if let Some(of) = chunks.get_mut(list).and_then(|list| list.get_mut(chunk)) {
            *of = sum;
        }
    }
    Ok(chunks.iter().map(|chunks| sum_of_chunks(chunks)).sum::<f64>().sqrt())
}

/// A list, a place in it and a number of that place.
type Found = (usize, usize, f64);

/// Rows of two numbers and a value from all ranks, however many each has.
fn gather_all(crew: &mut dyn Crew, mine: Vec<Found>) -> Result<Vec<Found>> {
    let counts = crew.gather(&(mine.len() as u64).to_le_bytes())?;
    let counts: Vec<u64> = counts.as_chunks().0.iter().map(|n| u64::from_le_bytes(*n)).collect();
    let most = counts.iter().copied().max().unwrap_or(0) as usize;
    let row =
        |(a, b, v): &Found| [(*a as u64).to_le_bytes(), (*b as u64).to_le_bytes(), v.to_le_bytes()];
    let mut bytes: Vec<[u8; 8]> = mine.iter().flat_map(row).collect();
    bytes.resize(3 * most, [0; 8]);
    let all = crew.gather(bytes.as_flattened())?;
    let members = all.as_chunks::<8>().0.chunks_exact((3 * most).max(1));
    let rows = members.zip(counts).flat_map(|(rows, n)| rows.chunks_exact(3).take(n as usize));
    let number = |bytes: [u8; 8]| u64::from_le_bytes(bytes) as usize;
    Ok(rows.map(|r| (number(r[0]), number(r[1]), f64::from_le_bytes(r[2]))).collect())
}

/// The first parameter with a non-finite gradient, where each rank has those of its share.
///
/// # Errors
/// [`Error::Crew`].
pub(super) fn first_non_finite(
    crew: &mut dyn Crew,
    shares: &Shares,
    model: &TinyGPT,
    grads: &Gradients,
) -> Result<Option<(String, f32)>> {
    let parameters: Vec<(String, &Tensor)> = model.trained().collect();
    let pieces = shares.iter().flat_map(|(bucket, share)| bucket.within(share.clone()));
    let found = pieces.filter_map(|((list, range), _)| {
        let gradient = &grads.get(parameters[*list].1)?[range.clone()];
        let at = gradient.iter().position(|g| !g.is_finite())?;
        Some((*list, range.start + at, f64::from(gradient[at])))
    });
    let mine = found.min_by_key(|(list, at, _)| (*list, *at));
    let all = gather_all(crew, mine.into_iter().collect())?;
    let first = all.into_iter().min_by_key(|(list, at, _)| (*list, *at));
    Ok(first.and_then(|(list, _, g)| Some((parameters.get(list)?.0.clone(), g as f32))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::InProcess;

    #[test]
    fn rows_are_gathered_however_many_each_has() {
        let all = InProcess::run(4, |crew| {
            let rank = crew.rank();
            let mine = (0..rank % 3).map(|i| (rank, i, 0.5 + i as f64)).collect();
            gather_all(crew, mine).unwrap()
        });
        let wanted = [(1, 0, 0.5), (2, 0, 0.5), (2, 1, 1.5)];
        assert!(all.iter().all(|rows| *rows == wanted), "{all:?}");
        let none = InProcess::run(2, |crew| gather_all(crew, Vec::new()).unwrap());
        assert!(none.iter().all(Vec::is_empty));
    }
}
