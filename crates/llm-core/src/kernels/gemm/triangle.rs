//! Products of which a triangle is zero or not wanted: those of causal attention, at half the cost.
//!
//! A term that is left out is a zero times a finite number, so the sums keep their bits.

use std::ops::Range;

/// Columns of C that are written together.
const PIECE: usize = 16;

/// The numbers of a product that count, by a diagonal d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// All numbers.
    Whole,
    /// Columns j ≤ i + d of row i of C, up to the next multiple of 16; of the others some are written, some
    /// left as they are.
    OfC(isize),
    /// Columns p ≤ i + d of row i of A; the others are 0.
    LowerA(isize),
    /// Columns p ≥ i − d of row i of A; the others are 0.
    UpperA(isize),
}

impl Triangle {
    /// The triangle of the part whose first row and column of C are i and j.
    pub(super) fn part(self, i: isize, j: isize) -> Triangle {
        match self {
            Triangle::Whole => self,
            Triangle::OfC(d) => Triangle::OfC(d + i - j),
            Triangle::LowerA(d) => Triangle::LowerA(d + i),
            Triangle::UpperA(d) => Triangle::UpperA(d - i),
        }
    }

    /// The triangle of the terms from p on.
    pub(super) fn deeper(self, p: isize) -> Triangle {
        match self {
            Triangle::Whole | Triangle::OfC(_) => self,
            Triangle::LowerA(d) => Triangle::LowerA(d - p),
            Triangle::UpperA(d) => Triangle::UpperA(d + p),
        }
    }

    /// Columns, of n, and terms, of k, that a strip of `rows` rows has.
    pub(super) fn of_strip(self, rows: usize, n: usize, k: usize) -> (usize, Range<usize>) {
        let within = |most: usize, at: isize| at.clamp(0, most as isize) as usize;
        let rows = rows as isize;
        match self {
            Triangle::Whole => (n, 0..k),
            Triangle::OfC(d) => (within(n, rows + d).next_multiple_of(PIECE).min(n), 0..k),
            Triangle::LowerA(d) => (n, 0..within(k, rows + d)),
            Triangle::UpperA(d) => (n, within(k, -d)..k),
        }
    }
}
