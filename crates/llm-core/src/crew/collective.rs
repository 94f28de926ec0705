//! What several do together, made of exchanges between two of them.

use crate::base::{CrewError, Error, Message, Result};
use crate::buffer::Buffer;
use crate::kernels::elementwise::add_assign;
use std::ops::Range;

/// The ranks of a process group. Each calls the same methods in the same order; a call ends when all
/// those that it needs have made theirs.
///
/// An implementation says who it is and carries numbers from one rank to another. What is made
/// of that, the order of additions above all, is the same for every crew.
pub trait Crew: std::fmt::Debug + Send {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are: a power of two.
    fn size(&self) -> usize;

    /// Sends the numbers of the lists `give` to rank `with`, and takes from it as many as fit into
    /// the lists `take`. Both call this, each with the other's number: one gives as many lists as the
    /// other takes, each as long as there; there may be none.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn exchange(&mut self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) -> Result<()>;

    /// [`Crew::exchange`] of bytes, which lie in one place.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()>;

    /// x ← Σ over the ranks, by the binary tree over their numbers: (0 + 1) + (2 + 3).. The same
    /// bits for all.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn sum(&mut self, x: &mut [f32]) -> Result<()> {
        let spans = halve(self, &mut [&mut *x], |span| span.start + span.len() / 2)?;
        double(self, &mut [x], spans)
    }

    /// The blocks of all ranks, one after the other in the order of their numbers; `mine` is this
    /// rank's, and all have the same length.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn gather(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        let (rank, size, len) = (self.rank(), self.size(), mine.len());
        let mut all = vec![0; size * len];
        all[rank * len..(rank + 1) * len].copy_from_slice(mine);
        // Blocks of 1, 2, 4, .. neighbours are exchanged.
        for distance in distances(size) {
            let first = rank & !(2 * distance - 1); // of the group of two blocks
            let group = &mut all[first * len..(first + 2 * distance) * len];
            let (low, high) = group.split_at_mut(distance * len);
            let (give, take) = if rank & distance == 0 { (low, high) } else { (high, low) };
            self.exchange_bytes(rank ^ distance, give, take)?;
        }
        Ok(all)
    }

    /// Bytes of rank 0, for all.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn share(&mut self, bytes: &mut [u8]) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        // 1, 2, 4, .. ranks have the bytes.
        for distance in distances(size) {
            if rank < distance {
                self.exchange_bytes(rank + distance, bytes, &mut [])?;
            } else if rank < 2 * distance {
                self.exchange_bytes(rank - distance, &[], bytes)?;
            }
        }
        Ok(())
    }

    /// Checks that all ranks have the same `what`, a word in the plural, by a fingerprint.
    ///
    /// # Errors
    /// [`CrewError::Unequal`], the same for all, with the first rank that differs from rank 0.
    fn equal(&mut self, what: Message, fingerprint: &[u8]) -> Result<()> {
        let all = self.gather(fingerprint)?;
        let mut members = all.chunks(fingerprint.len().max(1)).enumerate();
        match members.find(|(_, other)| !all.starts_with(other)) {
            Some((member, _)) => Err(Error::Crew(CrewError::Unequal { what, member })),
            None => Ok(()),
        }
    }
}

/// The parts of a list that [`halve`] went through, the whole first, this rank's share last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans(Vec<Range<usize>>);

impl Spans {
    /// Each within the one before it.
    pub(super) fn of(spans: Vec<Range<usize>>) -> Spans {
        Spans(spans)
    }

    /// Where this rank's share lies.
    pub fn share(&self) -> Range<usize> {
        self.0.last().cloned().unwrap_or_default()
    }
}

/// Leaves in each rank's share of x the sum over all ranks, by the binary tree over their
/// numbers; elsewhere x holds arbitrary sums. x may lie in several places: its lists count as one,
/// and are summed where they lie.
///
/// In round k = 0, 1, .. a rank has a partner whose number differs in bit k. Both cut the part
/// that they still care for at `cut`; the lower number keeps the left piece and gets the partner's
/// numbers for it, the higher one the right piece. For every element the additions are those of the
/// tree: neighbours first, then pairs of neighbours. 2ᵏ ranks later each element has met all.
///
/// Every rank sends n·(1/2 + 1/4 + ..) = n·(R − 1)/R numbers in log₂ R messages.
///
/// Reference: Rabenseifner, "Optimization of Collective Reduction Operations" (ICCS 2004).
///
/// # Errors
/// [`Error::Crew`](crate::Error::Crew).
pub fn halve(
    crew: &mut (impl Crew + ?Sized),
    x: &mut [&mut [f32]],
    cut: impl Fn(Range<usize>) -> usize,
) -> Result<Spans> {
    let (rank, size) = (crew.rank(), crew.size());
    let mut span = 0..x.iter().map(|list| list.len()).sum();
    let mut spans = Vec::from([span.clone()]);
    for distance in distances(size) {
        let middle = cut(span.clone()).clamp(span.start, span.end);
        let [left, right] = halves(x, &span, middle);
        let (keep, give) = if rank & distance == 0 {
            span.end = middle;
            (left, right)
        } else {
            span.start = middle;
            (right, left)
        };
        let mut theirs: Vec<Buffer> = keep.iter().map(|list| Buffer::stale(list.len())).collect();
        let mut room: Vec<&mut [f32]> = theirs.iter_mut().map(|list| &mut list[..]).collect();
        crew.exchange(rank ^ distance, &shared(&give), &mut room)?;
        for (mine, theirs) in keep.into_iter().zip(&theirs) {
            add_assign(mine, theirs);
        }
        spans.push(span.clone());
    }
    Ok(Spans(spans))
}

/// Gives every rank's share of x to all: [`halve`] backwards.
///
/// # Errors
/// [`Error::Crew`](crate::Error::Crew).
pub fn double(crew: &mut (impl Crew + ?Sized), x: &mut [&mut [f32]], spans: Spans) -> Result<()> {
    let (rank, size) = (crew.rank(), crew.size());
    let Spans(mut spans) = spans;
    for distance in distances(size).rev() {
        let (Some(mine), Some(whole)) = (spans.pop(), spans.last()) else { break };
        let is_left = rank & distance == 0;
        let [left, right] = halves(x, whole, if is_left { mine.end } else { mine.start });
        let (give, mut take) = if is_left { (left, right) } else { (right, left) };
        crew.exchange(rank ^ distance, &shared(&give), &mut take)?;
    }
    Ok(())
}

/// What of the lists lies in a part of them all, before and from `middle` on.
fn halves<'x>(
    lists: &'x mut [&mut [f32]],
    part: &Range<usize>,
    middle: usize,
) -> [Vec<&'x mut [f32]>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    let mut start = 0;
    for list in lists {
        let end = start + list.len();
        let [from, cut, to] =
            [part.start, middle, part.end].map(|place| place.clamp(start, end) - start);
        let (left, right) = list[from..to].split_at_mut(cut - from);
        let both = found.iter_mut().zip([left, right]);
        both.filter(|(_, list)| !list.is_empty()).for_each(|(half, list)| half.push(list));
        start = end;
    }
    found
}

fn shared<'x>(lists: &'x [&mut [f32]]) -> Vec<&'x [f32]> {
    lists.iter().map(|list| &**list).collect()
}

/// 1, 2, 4, .. below `size`.
fn distances(size: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..size.max(1).ilog2()).map(|bit| 1 << bit)
}
