//! C ← α·A·B + β·C with the numbers of A and B rounded to bf16, and sums in f32.
//!
//! Each element of C is a sum over pairs of neighbours in k, in one of two orders, rounded to f32
//! after each number: what a processor's unit for that order does, and what plain arithmetic does in
//! the same order where there is no such unit. So in each [`Order`] the result has the same bits on
//! every machine, for any number of threads. (Sums over more than 512 terms are cut there, and
//! the parts added.)
//!
//! | module | holds |
//! |---|---|
//! | `sizes` | a tile's columns, a vector's words, how A's words lie |
//! | `number` | what a bf16 is, and what happens to a pair of them |
//! | `order` | the two orders of a sum |
//! | `unit` | what is asked of a processor's unit: the rounding, and the tile |
//! | `pack` | operands as pairs |
//! | `emulated` | a unit of plain arithmetic, in either order |
//! | `avx512` | the same by the instructions of `avx512bf16`, in the order of pairs |
//! | `amx` | the same by AMX, in the order of tiles |
//! | `choice` | which order is in use, and whether by an instruction |

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod choice;
mod emulated;
pub mod number;
mod order;
mod pack;
mod sizes;
mod unit;

pub use choice::{EMULATED, at_most, available, has_unit, order};
pub use order::Order;

use emulated::Emulated;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};
use pack::{pack_b, panel_stride};
use sizes::{NR, WIDE};
use std::cell::RefCell;
use unit::{Factors, Unit};

/// Depth of a block: neither a pair nor a group of pairs is cut.
const KC: usize = 512;
const _: () = assert!(KC.is_multiple_of(2 * number::GROUP));
/// Columns of a block of B: its words stay in the second cache.
const NC: usize = 512;
/// Rows of A that are packed together; whole vectors where A is read across.
const MC: usize = 192;
/// Fewer multiply-adds than this are not worth a thread of their own.
const PIECE: usize = 2_500_000;

/// A product, or a piece of one. C's columns lie together.
pub(super) struct Product<'a> {
    /// `[M, K]`
    pub a: ArrayView2<'a, f32>,
    /// `[K, N]`
    pub b: ArrayView2<'a, f32>,
    /// `[M, N]`
    pub c: ArrayViewMut2<'a, f32>,
    pub alpha: f32,
    pub beta: f32,
    /// `[N]`, or empty.
    pub bias: &'a [f32],
}

impl Product<'_> {
    /// Runs on up to `threads` threads of the pool; 1: on the caller's alone.
    pub fn run(self, threads: usize) {
        match (order(), has_unit()) {
            #[cfg(target_arch = "x86_64")]
            (Order::Pairs, true) => self.run_on::<avx512::Avx512>(threads),
            #[cfg(target_arch = "x86_64")]
            (Order::Tiles, true) => self.run_on::<amx::Amx>(threads),
            (Order::Pairs, _) => self.run_on::<Emulated<false>>(threads),
            (Order::Tiles, _) => self.run_on::<Emulated<true>>(threads),
        }
    }

    fn run_on<U: Unit>(self, threads: usize) {
        let ((m, n), k) = (self.c.dim(), self.a.ncols());
        let pieces = super::cut::pieces([m, n, k], threads, PIECE);
        // Cutting rows packs B again for each piece, cutting columns packs A: the smaller of both.
        let [down, across] = match m >= n {
            true => [pieces.min(m.div_ceil(U::ROWS)), 1],
            false => [1, pieces.min(n.div_ceil(NR))],
        };
        self.pieces::<U>(across, down);
    }

    /// Cuts into `across` × `down` pieces, columns first, halving until one is left.
    fn pieces<U: Unit>(self, across: usize, down: usize) {
        let cut = |whole: usize, unit: usize, parts: usize| {
            (whole.div_ceil(unit) * (parts / 2) / parts * unit).min(whole)
        };
        let Product { a, b, c, bias, alpha, beta } = self;
        let (one, other, parts) = if across > 1 {
            let j = cut(b.ncols(), NR, across);
            let ((b, right), (c, c_right)) = (b.split_at(Axis(1), j), c.split_at(Axis(1), j));
            let (bias, bias_right) = bias.split_at(j.min(bias.len()));
            let left = Product { a, b, c, bias, alpha, beta };
            (left, Product { a, b: right, c: c_right, bias: bias_right, alpha, beta }, across)
        } else if down > 1 {
            let i = cut(a.nrows(), U::ROWS, down);
            let ((a, below), (c, c_below)) = (a.split_at(Axis(0), i), c.split_at(Axis(0), i));
            let above = Product { a, b, c, bias, alpha, beta };
            (above, Product { a: below, b, c: c_below, bias, alpha, beta }, down)
        } else {
            return U::ready(|| Product { a, b, c, bias, alpha, beta }.blocks::<U>());
        };
        let halves = [parts / 2, parts - parts / 2];
        let [first, second] = halves.map(|n| if across > 1 { [n, down] } else { [1, n] });
        rayon::join(
            || one.pieces::<U>(first[0], first[1]),
            || other.pieces::<U>(second[0], second[1]),
        );
    }

    /// Block by block: columns, then depth; then some rows of A, which stay in the first caches
    /// while the panels of B pass.
    fn blocks<U: Unit>(mut self) {
        let ((m, k), n) = (self.a.dim(), self.b.ncols());
        with_scratch(|[words_a, words_b]| {
            for j in (0..n).step_by(NC) {
                let columns = j..(j + NC).min(n);
                for p in (0..k).step_by(KC) {
                    let depth = p..(p + KC).min(k);
                    pack_b::<U>(self.b.slice(s![depth.clone(), columns.clone()]), words_b);
                    let pairs = depth.len().div_ceil(2).next_multiple_of(U::PAIRS);
                    let stride = panel_stride::<U>(depth.len());
                    let later = p > 0;
                    let alpha = self.alpha;
                    let beta = if later { 1.0 } else { self.beta };
                    let bias = if later || self.bias.is_empty() {
                        &[]
                    } else {
                        &self.bias[columns.clone()]
                    };
                    for i in (0..m).step_by(MC) {
                        let rows = i..(i + MC).min(m);
                        let a = self.a.slice(s![rows.clone(), depth.clone()]);
                        let words = U::pack_a(a.reversed_axes(), words_a);
                        let mut c = self.c.slice_mut(s![rows, columns.clone()]);
                        let strips = c.axis_chunks_iter_mut(Axis(0), U::ROWS);
                        for (r, mut strip) in strips.enumerate() {
                            let a = &words_a[r * U::ROWS * words.row..];
                            let tiles = strip.axis_chunks_iter_mut(Axis(1), NR);
                            for (from, (c, b)) in tiles.zip(words_b.chunks(stride)).enumerate() {
                                let bias = bias.get(from * NR..).unwrap_or_default();
                                let factors = Factors { alpha, beta, bias };
                                U::tile(a, words, &b[..pairs * NR], c, factors);
                            }
                        }
                    }
                }
            }
        });
    }
}

thread_local! {
    static SCRATCH: RefCell<[Vec<u32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Hands out this thread's room for the words of A and of B, made once and kept. Both begin at a cache
/// line, so that no vector of words lies in two.
fn with_scratch(f: impl FnOnce([&mut [u32]; 2])) {
    fn at_a_line(words: &mut Vec<u32>, length: usize) -> &mut [u32] {
        if words.is_empty() {
            words.resize(length + WIDE, 0);
        }
        let skipped = words.as_ptr().align_offset(WIDE * size_of::<u32>());
        &mut words[skipped..][..length]
    }
    SCRATCH.with_borrow_mut(|[a, b]| {
        f([at_a_line(a, MC * (KC / 2)), at_a_line(b, NC / NR * (KC / 2 * NR + WIDE))]);
    });
}

#[cfg(test)]
mod tests;
