//! Many lists of numbers as buckets, of which every rank has a share.

use super::Crew;
use super::collective::{Spans, double, halve};
use crate::base::Result;
use crate::kernels::norm::CHUNK;
use std::ops::Range;

/// A part of one of several lists.
pub type Piece = (usize, Range<usize>);

/// Pieces that go over the wire together, and of which every rank has a share of whole pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    pieces: Vec<Piece>,
    /// Where each piece begins in the bucket, and where the last one ends.
    places: Vec<usize>,
}

/// Cuts lists of these lengths into pieces of at most `piece` numbers, each list anew, and puts them
/// into buckets of at most `most`: the last list first, because the gradients of a model are
/// finished in that order.
pub fn buckets(lens: &[usize], piece: usize, most: usize) -> Vec<Bucket> {
    let mut all: Vec<Bucket> = Vec::new();
    for (list, &len) in lens.iter().enumerate().rev() {
        for start in (0..len).step_by(piece.max(1)) {
            let range = start..len.min(start + piece.max(1));
            match all.last_mut() {
                Some(last) if last.len() + range.len() <= most => last.push((list, range)),
                _ => {
                    let mut new = Bucket { pieces: Vec::new(), places: vec![0] };
                    new.push((list, range));
                    all.push(new);
                }
            }
        }
    }
    all
}

/// The parameters' lists of a model, of these lengths, as they go over the wire: one bucket after the
/// other, of whole chunks of [`CHUNK`] numbers. A bucket is 8 MiB, so that the first go soon and little
/// is left for the end; smaller ones would be more messages. No sum depends on it.
pub fn buckets_of(lens: &[usize]) -> Vec<Bucket> {
    buckets(lens, CHUNK, 64 * CHUNK)
}

impl Bucket {
    fn push(&mut self, piece: Piece) {
        self.places.push(self.len() + piece.1.len());
        self.pieces.push(piece);
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.places.last().copied().unwrap_or(0)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces with their places in the bucket.
    pub fn pieces(&self) -> impl Iterator<Item = (&Piece, Range<usize>)> {
        let places = self.places.windows(2).map(|ends| ends[0]..ends[1]);
        self.pieces.iter().zip(places)
    }

    /// The pieces within a part of the bucket that begins and ends with pieces.
    pub fn within(&self, part: Range<usize>) -> impl Iterator<Item = (&Piece, Range<usize>)> {
        let inside = move |place: &Range<usize>| part.start <= place.start && place.end <= part.end;
        self.pieces().filter(move |(_, place)| inside(place) && !place.is_empty())
    }

    /// Where a part is halved: between two pieces, as near to its middle as can be.
    fn cut(&self, part: Range<usize>) -> usize {
        let middle = part.start + part.len() / 2;
        let near = self.places.partition_point(|&place| place < middle);
        let candidates = [near.saturating_sub(1), near].map(|i| self.places.get(i));
        let inside =
            candidates.into_iter().flatten().filter(|&&p| part.start <= p && p <= part.end);
        inside.min_by_key(|place| place.abs_diff(middle)).copied().unwrap_or(part.end)
    }

    /// The share of a rank: what [`Bucket::halve`] leaves it.
    pub fn share(&self, rank: usize, size: usize) -> Range<usize> {
        self.parts(rank, size).last().unwrap_or_default()
    }

    /// The whole, and what is left of it for a rank after each halving.
    fn parts(&self, rank: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
        let halved = move |part: &Range<usize>, bit: u32| {
            let cut = self.cut(part.clone()).clamp(part.start, part.end);
            if rank >> bit & 1 == 0 { part.start..cut } else { cut..part.end }
        };
        let halvings = 0..size.max(1).ilog2();
        let later = halvings.scan(0..self.len(), move |part, bit| {
            *part = halved(part, bit);
            Some(part.clone())
        });
        std::iter::once(0..self.len()).chain(later)
    }

    /// The lists that it has something of, the last one first, and what of each.
    pub fn lists(&self) -> impl Iterator<Item = Piece> {
        let lists = self.pieces.chunk_by(|(one, _), (next, _)| one == next);
        lists.filter_map(|of| match of {
            [] => None,
            [(list, first), ..] => Some((*list, first.start..of[of.len() - 1].1.end)),
        })
    }

    /// The bucket's numbers, where they lie in all lists.
    pub fn of<'l>(&self, lists: &'l mut [&mut [f32]]) -> Vec<&'l mut [f32]> {
        let mut found = self.lists().peekable();
        let all = lists.iter_mut().enumerate().rev();
        all.filter_map(|(i, list)| Some(&mut list[found.next_if(|(at, _)| *at == i)?.1])).collect()
    }

    /// Leaves in this rank's share of x, the bucket's numbers wherever they lie, their sums over
    /// all ranks: see [`halve`].
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    pub fn halve(&self, crew: &mut dyn Crew, x: &mut [&mut [f32]]) -> Result<Spans> {
        halve(crew, x, |part| self.cut(part))
    }

    /// Gives this rank's share of x to all, and gets theirs.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    pub fn double(&self, crew: &mut dyn Crew, x: &mut [&mut [f32]]) -> Result<()> {
        let (rank, size) = (crew.rank(), crew.size());
        let parts = self.parts(rank, size);
        double(crew, x, Spans::of(parts.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::InProcess;

    const LENS: [&[usize]; 6] = [&[], &[0], &[10], &[3, 4, 5], &[1, 0, 9, 2], &[5, 5, 100]];

    #[test]
    fn every_number_is_in_one_piece_and_one_share() {
        for lens in LENS {
            let buckets = buckets(lens, 4, 9);
            let pieces = || buckets.iter().flat_map(Bucket::pieces);
            assert!(buckets.iter().all(|b| b.len() <= 9));
            assert!(pieces().all(|((_, range), place)| {
                range.len() == place.len() && range.len() <= 4 && range.start % 4 == 0
            }));
            let found = pieces().flat_map(|((list, range), _)| range.clone().map(|i| (*list, i)));
            let lists = lens.iter().enumerate().rev();
            let wanted = lists.flat_map(|(l, &n)| (0..n).map(move |i| (l, i)));
            assert!(found.eq(wanted), "{lens:?}");
            for (bucket, size) in buckets.iter().zip([1, 2, 4, 8].into_iter().cycle()) {
                let mut shares: Vec<_> = (0..size).map(|rank| bucket.share(rank, size)).collect();
                shares.sort_unstable_by_key(|share| (share.start, share.end));
                assert_eq!(shares[0].start, 0);
                assert!(shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
                assert_eq!(shares[size - 1].end, bucket.len());
            }
        }
    }

    #[test]
    fn a_share_is_what_halving_leaves_and_doubling_gives_it_to_all() {
        for (lens, size) in LENS.into_iter().flat_map(|lens| [1, 2, 4, 8].map(|size| (lens, size)))
        {
            let sums = InProcess::run(size, |crew| {
                let value = |list: usize, i: usize| (1 + list * 1000 + i + crew.rank()) as f32;
                let mut lists: Vec<Vec<f32>> = lens
                    .iter()
                    .enumerate()
                    .map(|(list, &len)| (0..len).map(|i| value(list, i)).collect())
                    .collect();
                let mut lists: Vec<&mut [f32]> =
                    lists.iter_mut().map(|list| &mut list[..]).collect();
                for bucket in buckets(lens, 4, 9) {
                    let mut x = bucket.of(&mut lists);
                    assert_eq!(x.iter().map(|list| list.len()).sum::<usize>(), bucket.len());
                    let share = bucket.halve(crew, &mut x).unwrap().share();
                    assert_eq!(share, bucket.share(crew.rank(), size));
                    // What is not its share is the others' to say.
                    let all = x.iter_mut().flat_map(|list| list.iter_mut()).enumerate();
                    all.filter(|(i, _)| !share.contains(i)).for_each(|(_, v)| *v = -1.0);
                    bucket.double(crew, &mut x).unwrap();
                }
                lists.concat()
            });
            let ranks = (size * (size - 1) / 2) as f32;
            let all =
                lens.iter().enumerate().flat_map(|(l, &n)| (0..n).map(move |i| l * 1000 + i + 1));
            let wanted: Vec<f32> = all.map(|v| (v * size) as f32 + ranks).collect();
            assert!(sums.iter().all(|sum| *sum == wanted), "{lens:?} {size}: {sums:?}");
        }
    }
}
