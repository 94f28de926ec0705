//! The loops around the tile, for every kind of numbers: cut C into pieces for the threads, and each
//! piece into blocks that stay in the caches.
//!
//! Every element of C is a sum over k in rising order, block of [`Unit::KC`] by block (the bias after
//! the first), whatever piece or tile it falls into: so the result has the same bits for any number of
//! threads.
//!
//! Reference: Van Zee, van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS
//! Functionality", from which the loops have their numbers.
#![allow(unsafe_code)]

use super::microkernel::{Factors, Operand, Output};
use super::pack::with_scratch;
use super::triangle::Triangle;
use std::ops::Range;

/// What depends on the numbers that are multiplied: the sizes of blocks, how they are packed, and the
/// tile.
pub(super) trait Unit: Copy + Send + Sync {
    /// Depth of a block.
    const KC: usize;
    /// Columns of a block of B, whole panels of them.
    const NC: usize;
    /// Rows of a block of A.
    const MC: usize;
    /// Pieces of C end after a multiple of this number of columns.
    const VECTOR: usize;
    /// Fewer multiply-adds than this are not worth a thread of their own.
    const PIECE: usize;
    /// Words that a packed block of A, and of B, takes at most.
    const ROOM: [usize; 2];
    /// What a number of B is kept as.
    type Kept;
    /// A block of A as tiles read it.
    type A: Copy;
    /// A block of B as tiles read it.
    type B: Copy;

    /// Rows of a tile.
    fn rows(self) -> usize;

    /// How many of the pieces of C lie one below the other, and how many side by side.
    fn cut(self, pieces: usize, whole: &Product<Self::Kept>) -> [usize; 2];

    /// Calls f with the unit ready for tiles on this thread.
    fn ready<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }

    /// B of a block.
    ///
    /// # Safety
    /// B must be as large as the block says. The result is valid as long as B and `room` are.
    unsafe fn pack_b(self, block: &Product<Self::Kept>, room: &mut [u32]) -> Self::B;

    /// A of a block.
    ///
    /// # Safety
    /// A must be as large as the block says. The result is valid as long as A and `room` are.
    unsafe fn pack_a(self, block: &Product<Self::Kept>, room: &mut [u32]) -> Self::A;

    /// Asks memory for what the tiles from this row of a block on will read.
    fn prefetch(self, _block: &Product<Self::Kept>, _row: usize) {}

    /// C of some rows of a tile, which begin in row `a.1` of the packed A, tile by tile.
    ///
    /// # Safety
    /// The unit must be there and ready, A, B, C and the bias as large as the strip says.
    unsafe fn strip(self, strip: &Product<Self::Kept>, a: (Self::A, usize), b: Self::B);
}

/// A product whose C is row-major.
pub(super) struct Product<T = f32> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: Operand,
    pub(super) b: Operand<T>,
    pub(super) c: Output,
    pub(super) f: Factors,
    pub(super) triangle: Triangle,
}

impl<T> Clone for Product<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Product<T> {}

// SAFETY: pieces of one product go to several threads; each writes its own part of C, and A and B
// are only read.
unsafe impl<T> Send for Product<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Product<T> {}

impl<T> Product<T> {
    /// Computes C on up to `threads` threads; 1: on the caller's alone.
    ///
    /// # Safety
    /// A, B, C and the bias must be as large as their strides and m, n, k say, no other thread may
    /// touch C, and the processor must have the unit.
    pub(super) unsafe fn run<U: Unit<Kept = T>>(self, unit: U, threads: usize) {
        let worth = (self.m * self.n).saturating_mul(self.k) / U::PIECE;
        let most = match threads {
            1 => 1,
            _ if worth >= 8 * threads => 2 * threads,
            _ => threads,
        };
        let [down, across] = unit.cut(worth.clamp(1, most), &self);
        self.pieces(unit, [down, across], 0..down * across);
    }

    /// The pieces of a range, halved until one is left.
    fn pieces<U: Unit<Kept = T>>(&self, unit: U, grid: [usize; 2], range: Range<usize>) {
        if range.len() > 1 {
            let middle = range.start + range.len() / 2;
            let (first, later) = (range.start..middle, middle..range.end);
            rayon::join(|| self.pieces(unit, grid, first), || self.pieces(unit, grid, later));
        } else if let Some(piece) = self.piece(unit, grid, range.start) {
            // SAFETY: `run`'s caller vouches for the whole, and this is a part of it.
            unit.ready(|| unsafe { piece.blocks(unit) });
        }
    }

    /// One of `down × across` pieces of whole rows of tiles and whole vectors.
    fn piece<U: Unit<Kept = T>>(
        &self,
        unit: U,
        [down, across]: [usize; 2],
        index: usize,
    ) -> Option<Self> {
        let cut = |whole: usize, unit: usize, parts: usize, part: usize| {
            let units = whole.div_ceil(unit);
            ((units * part / parts) * unit, ((units * (part + 1) / parts) * unit).min(whole))
        };
        let (i, i_end) = cut(self.m, unit.rows(), down, index % down);
        let (j, j_end) = cut(self.n, U::VECTOR, across, index / down);
        (i < i_end && j < j_end).then(|| self.part(i, j, i_end - i, j_end - j))
    }

    /// The part of rows `i..` and columns `j..`.
    fn part(&self, i: usize, j: usize, m: usize, n: usize) -> Self {
        let (i, j) = (i as isize, j as isize);
        let bias = if self.f.bias.is_null() { self.f.bias } else { self.f.bias.wrapping_offset(j) };
        Product {
            m,
            n,
            a: Operand { ptr: self.a.ptr.wrapping_offset(i * self.a.rs), ..self.a },
            b: Operand { ptr: self.b.ptr.wrapping_offset(j * self.b.cs), ..self.b },
            c: Output { ptr: self.c.ptr.wrapping_offset(i * self.c.rs + j), ..self.c },
            f: Factors { bias, ..self.f },
            triangle: self.triangle.part(i, j),
            ..*self
        }
    }

    /// The terms `from..from + depth` of every sum; all but the first are added to what is there.
    fn deeper(&self, from: usize, depth: usize) -> Self {
        let p = from as isize;
        Product {
            k: depth,
            a: Operand { ptr: self.a.ptr.wrapping_offset(p * self.a.cs), ..self.a },
            b: Operand { ptr: self.b.ptr.wrapping_offset(p * self.b.rs), ..self.b },
            f: match from {
                0 => self.f,
                _ => Factors { beta: 1.0, bias: std::ptr::null(), ..self.f },
            },
            triangle: self.triangle.deeper(p),
            ..*self
        }
    }

    /// Block by block; inside a block the rows of one tile stay in the first cache while the panels of
    /// B pass.
    unsafe fn blocks<U: Unit<Kept = T>>(&self, unit: U) {
        let mr = unit.rows();
        with_scratch(U::ROOM, |[room_a, room_b]| {
            // LOOP 5: columns.
            for jc in (0..self.n).step_by(U::NC) {
                let columns = self.part(0, jc, self.m, U::NC.min(self.n - jc));
                // LOOP 4: depth.
                for pc in (0..self.k).step_by(U::KC) {
                    let block = columns.deeper(pc, U::KC.min(self.k - pc));
                    // SAFETY: the block lies inside B.
                    let b = unsafe { unit.pack_b(&block, room_b) };
                    // LOOP 3: rows.
                    for ic in (0..self.m).step_by(U::MC) {
                        let block = block.part(ic, 0, U::MC.min(self.m - ic), block.n);
                        // SAFETY: the block lies inside A.
                        let a = unsafe { unit.pack_a(&block, room_a) };
                        // LOOP 2: rows of a tile.
                        for i in (0..block.m).step_by(mr) {
                            unit.prefetch(&block, i + mr);
                            let strip = block.part(i, 0, mr.min(block.m - i), block.n);
                            // LOOP 1: columns of a tile.
                            // SAFETY: the strip lies inside A, B and C, and `run`'s caller
                            // vouches for the unit.
                            unsafe { unit.strip(&strip, (a, i), b) }
                        }
                    }
                }
            }
        });
    }
}
