//! The loops around the tile: cut C into pieces for the threads, and each piece into blocks that
//! stay in the caches.
//!
//! Every element of C is a sum over k in rising order, block of [`KC`] by block (the bias after the first), whatever piece or
//! tile it falls into: so the result has the same bits for any number of threads.
#![allow(unsafe_code)]

use super::cut;
use super::microkernel::{self, Factors, Operand, Output, Tile};
use super::pack::{self, Packed};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernels::simd::Level;
use crate::kernels::simd::{ask_for, level};

/// Depth of a block: the rows of A that a tile uses, KC deep, stay in the first cache while all
/// panels of B pass.
const KC: usize = 384;
/// Columns of a packed block of B, whole panels of them: KC·NC numbers stay in the second cache.
const NC: usize = 480;
/// Columns of the longest vector: pieces and blocks end where one does.
const VECTOR: usize = 16;
/// Fewer multiply-adds than this are not worth a thread of their own (about 12 µs).
const PIECE: usize = 1_600_000;

/// Numbers of A, from the first term of a sum to the last, that the second cache cannot hold.
const FAR: isize = 1 << 18;

/// The tile of the instruction set in use, its rows and its columns.
fn tile() -> (Tile, usize, usize) {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => (microkernel::avx512::tile, 8, 48),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (microkernel::avx2::tile, 6, 16),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => (microkernel::neon::tile, 6, 16),
        _ => PLAIN,
    }
}

/// The tile of machines without fused multiply-add.
pub(super) const PLAIN: (Tile, usize, usize) = (microkernel::plain::tile, 2, 16);

/// A product whose C is row-major.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: Operand,
    pub(super) b: Operand,
    pub(super) c: Output,
    pub(super) f: Factors,
}

// SAFETY: pieces of one product go to several threads; each writes its own part of C, and A and B
// are only read.
unsafe impl Send for Product {}
// SAFETY: as above.
unsafe impl Sync for Product {}

impl Product {
    /// Computes it on up to `threads` threads.
    ///
    /// # Safety
    /// A, B, C and the bias must be as large as their strides and m, n, k say, and no other thread
    /// may touch C.
    pub(super) unsafe fn run(self, threads: usize) {
        // SAFETY: the caller's promise; the tile belongs to the instruction set that is there.
        unsafe { self.run_by(tile(), threads) }
    }

    /// The same with the given tile of `mr` rows and `nr` columns.
    ///
    /// # Safety
    /// As [`run`](Product::run), and the tile's instruction set must be there.
    pub(super) unsafe fn run_by(self, (tile, mr, nr): (Tile, usize, usize), threads: usize) {
        let pieces = cut::pieces([self.m, self.n, self.k], threads, PIECE);
        let (rows, cols) = (self.m.div_ceil(mr), self.n.div_ceil(nr));
        // Cutting columns packs nothing of B twice; what is too narrow for that is cut by rows.
        let across = if cols >= 2 * pieces { pieces } else { 1 };
        let down = (pieces / across).min(rows);
        let grid = Grid { down, across, mr, nr };
        self.pieces(grid, 0..down * across, tile);
    }

    /// The pieces of a range, halved until one is left.
    fn pieces(&self, grid: Grid, range: std::ops::Range<usize>, tile: Tile) {
        if range.len() > 1 {
            let middle = range.start + range.len() / 2;
            rayon::join(
                || self.pieces(grid, range.start..middle, tile),
                || self.pieces(grid, middle..range.end, tile),
            );
        } else if let Some(piece) = grid.piece(self, range.start) {
            // SAFETY: `run`'s caller vouches for the whole, and this is a part of it.
            unsafe { piece.blocks(tile, grid.mr, grid.nr) }
        }
    }

    /// The part of rows `i..` and columns `j..`.
    fn part(&self, i: usize, j: usize, m: usize, n: usize) -> Product {
        let (i, j) = (i as isize, j as isize);
        let bias = match self.f.bias.is_null() {
            true => self.f.bias,
            false => self.f.bias.wrapping_offset(j),
        };
        Product {
            m,
            n,
            a: Operand { ptr: self.a.ptr.wrapping_offset(i * self.a.rs), ..self.a },
            b: Operand { ptr: self.b.ptr.wrapping_offset(j * self.b.cs), ..self.b },
            c: Output { ptr: self.c.ptr.wrapping_offset(i * self.c.rs + j), ..self.c },
            f: Factors { bias, ..self.f },
            ..*self
        }
    }

    /// Block by block: columns, then depth; inside a block the rows of one tile stay in the first
    /// cache while the panels of B pass.
    unsafe fn blocks(&self, tile: Tile, mr: usize, nr: usize) {
        // Columns that lie together are read in place when few rows would make up for packing.
        let direct = self.b.cs == 1 && self.n.is_multiple_of(VECTOR) && self.m <= 9 * mr;
        pack::with_scratch(if direct { 0 } else { KC * NC }, |scratch| {
            for jc in (0..self.n).step_by(NC) {
                let cols = NC.min(self.n - jc);
                for pc in (0..self.k).step_by(KC) {
                    let depth = KC.min(self.k - pc);
                    let block = self.part(0, jc, self.m, cols).deeper(pc, depth);
                    let packed = match direct {
                        true => Packed::in_place(block.b, nr),
                        // SAFETY: the block lies inside B.
                        false => unsafe { pack::pack(block.b, depth, cols, nr, scratch) },
                    };
                    // SAFETY: `packed` covers the block's columns and depth.
                    unsafe { block.tiles(packed, tile, mr, nr) }
                }
            }
        });
    }

    /// The terms `from..from + depth` of every sum; all but the first are added to what is there.
    fn deeper(&self, from: usize, depth: usize) -> Product {
        let p = from as isize;
        Product {
            k: depth,
            a: Operand { ptr: self.a.ptr.wrapping_offset(p * self.a.cs), ..self.a },
            b: Operand { ptr: self.b.ptr.wrapping_offset(p * self.b.rs), ..self.b },
            f: match from {
                0 => self.f,
                _ => Factors { beta: 1.0, bias: std::ptr::null(), ..self.f },
            },
            ..*self
        }
    }

    /// Asks for the rows of A from `i` on: their numbers lie so far apart that the processor does not
    /// see by itself where the next will be.
    fn prefetch(&self, i: usize) {
        let start = self.a.ptr.wrapping_offset(i as isize * self.a.rs);
        for p in 0..self.k {
            ask_for(start.wrapping_offset(p as isize * self.a.cs));
        }
    }

    unsafe fn tiles(&self, b: Packed, tile: Tile, mr: usize, nr: usize) {
        let far = self.a.cs.saturating_mul(self.k as isize) > FAR;
        for i in (0..self.m).step_by(mr) {
            let rows = mr.min(self.m - i);
            if far && i + mr < self.m {
                self.prefetch(i + mr);
            }
            for j in (0..self.n).step_by(nr) {
                let cols = nr.min(self.n - j);
                let t = self.part(i, j, rows, cols);
                // SAFETY: the tile lies inside A, the panel and C; `tile` belongs to the
                // instruction set that the processor was asked for.
                unsafe { tile(rows, cols, self.k, t.a, b.panel(j / nr), b.rs, t.c, t.f) }
            }
        }
    }
}

/// How C is cut: `down × across` pieces of whole rows of tiles and whole vectors.
#[derive(Clone, Copy)]
struct Grid {
    down: usize,
    across: usize,
    mr: usize,
    nr: usize,
}

impl Grid {
    fn piece(&self, p: &Product, index: usize) -> Option<Product> {
        let cut = |whole: usize, unit: usize, parts: usize, part: usize| {
            let units = whole.div_ceil(unit);
            ((units * part / parts) * unit, ((units * (part + 1) / parts) * unit).min(whole))
        };
        let (i, i_end) = cut(p.m, self.mr, self.down, index % self.down);
        let (j, j_end) = cut(p.n, VECTOR, self.across, index / self.down);
        (i < i_end && j < j_end).then(|| p.part(i, j, i_end - i, j_end - j))
    }
}
