//! What the members of a crew make of their parts of a step.

use super::accumulate::pairwise;
use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::crew::Crew;
use crate::model::TinyGPT;
use crate::profile::enter;
use std::ops::Range;

/// Gradients that are summed at once: 16 MiB of them. The sum of an element does not depend on it.
const BUCKET: usize = 4 << 20;

/// What a member has done of a step, besides its gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Its share of the mean loss.
    pub loss: f64,
    /// Tokens.
    pub tokens: u64,
    /// It was told to stop before its last micro-batch.
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
        let (loss, tokens) = (bytes[..8].as_array(), bytes[8..16].as_array());
        Part {
            loss: loss.map_or(0.0, |b| f64::from_le_bytes(*b)),
            tokens: tokens.map_or(0, |b| u64::from_le_bytes(*b)),
            stopped: bytes[16] != 0,
        }
    }
}

/// The step as all members did it: the loss by the tree over their numbers, and the gradient too,
/// unless one was told to stop.
///
/// # Errors
/// [`Error::Stopped`] for all when one was told to, [`Error::Crew`].
pub(super) fn join(
    crew: &mut dyn Crew,
    mine: Part,
    model: &TinyGPT,
    grads: &mut Gradients,
    step: u64,
) -> Result<Part> {
    let _span = enter("together");
    let parts = crew.gather(&mine.to_bytes())?;
    let (parts, _) = parts.as_chunks();
    let parts: Vec<Part> = parts.iter().map(Part::from_bytes).collect();
    if parts.iter().any(|part| part.stopped) {
        return Err(Error::Stopped { step });
    }
    let losses: Vec<f64> = parts.iter().map(|part| part.loss).collect();
    let mut grads: Vec<_> = grads.named_mut(model.parameters());
    let mut grads: Vec<&mut [f32]> = grads.iter_mut().map(|(_, grad)| &mut **grad).collect();
    sum(crew, &mut grads, BUCKET)?;
    let tokens = parts.iter().map(|part| part.tokens).sum();
    Ok(Part { loss: pairwise(&losses), tokens, stopped: false })
}

/// Sums all lists over the members, `most` numbers at once.
fn sum(crew: &mut dyn Crew, lists: &mut [&mut [f32]], most: usize) -> Result<()> {
    let lens: Vec<usize> = lists.iter().map(|list| list.len()).collect();
    for bucket in buckets(&lens, most) {
        let len = bucket.iter().map(|(_, range)| range.len()).sum();
        let mut flat = Buffer::stale(len);
        for_each(&bucket, |list, range, place| flat[place].copy_from_slice(&lists[list][range]));
        crew.sum(&mut flat)?;
        for_each(&bucket, |list, range, place| lists[list][range].copy_from_slice(&flat[place]));
    }
    Ok(())
}

/// A piece of one of several lists.
type Piece = (usize, Range<usize>);

/// Calls with each piece's list, its range there, and its place in the bucket.
fn for_each(bucket: &[Piece], mut visit: impl FnMut(usize, Range<usize>, Range<usize>)) {
    let mut at = 0;
    for (list, range) in bucket {
        let place = at..at + range.len();
        at = place.end;
        visit(*list, range.clone(), place);
    }
}

/// Lists of these lengths in pieces, so that each bucket holds `most` numbers but the last.
fn buckets(lens: &[usize], most: usize) -> Vec<Vec<Piece>> {
    let (mut all, mut bucket, mut room) = (Vec::new(), Vec::new(), most);
    for (list, &len) in lens.iter().enumerate() {
        let mut start = 0;
        while start < len {
            let piece = start..len.min(start + room);
            (start, room) = (piece.end, room - piece.len());
            bucket.push((list, piece));
            if room == 0 {
                all.push(std::mem::take(&mut bucket));
                room = most;
            }
        }
    }
    if !bucket.is_empty() {
        all.push(bucket);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::InProcess;

    #[test]
    fn every_number_is_in_one_bucket() {
        for lens in [vec![], vec![0], vec![10], vec![3, 4, 5], vec![1, 0, 9, 2], vec![5, 5]] {
            let buckets = buckets(&lens, 5);
            let sizes: Vec<usize> =
                buckets.iter().map(|b| b.iter().map(|(_, range)| range.len()).sum()).collect();
            assert!(sizes.iter().rev().skip(1).all(|&size| size == 5), "{lens:?}: {sizes:?}");
            let found: Vec<(usize, usize)> = buckets
                .iter()
                .flatten()
                .flat_map(|(list, range)| range.clone().map(move |i| (*list, i)))
                .collect();
            let wanted: Vec<(usize, usize)> =
                lens.iter().enumerate().flat_map(|(l, &n)| (0..n).map(move |i| (l, i))).collect();
            assert_eq!(found, wanted, "{lens:?}");
        }
    }

    #[test]
    fn the_size_of_a_bucket_does_not_change_a_sum() {
        let with = |most: usize| {
            let sums = InProcess::run(4, |crew| {
                let value = |i: usize| (0.1 + crew.rank() as f32) * 1.7f32.powi(i as i32);
                let mut a: Vec<f32> = (0..7).map(value).collect();
                let mut b: Vec<f32> = (7..12).map(value).collect();
                sum(crew, &mut [&mut a[..], &mut b[..]], most).map(|()| [a, b].concat())
            });
            sums.into_iter().map(Result::unwrap).collect::<Vec<_>>()
        };
        let whole = with(100);
        assert!(whole.windows(2).all(|w| w[0] == w[1]));
        assert!((1..8).all(|most| with(most) == whole));
    }
}
