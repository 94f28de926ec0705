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

#![allow(unsafe_code)]

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

use super::blocked;
use super::microkernel::Operand;
use emulated::Emulated;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};
use pack::{pack_b, panel_stride};
use sizes::{NR, WIDE, Words};
use std::marker::PhantomData;
use unit::{Factors, Unit};

/// Computes a product on up to `threads` threads of the pool; 1: on the caller's alone.
///
/// # Safety
/// A, B, C and the bias must be as large as their strides and m, n, k say, and no other thread may touch
/// C. A and B have their numbers side by side in one direction, and no negative strides.
pub(super) unsafe fn run(product: blocked::Product, threads: usize) {
    // SAFETY: the caller's promise; a unit is chosen where it is there.
    unsafe {
        match (order(), has_unit()) {
            #[cfg(target_arch = "x86_64")]
            (Order::Pairs, true) => product.run(Rounded::<avx512::Avx512>::NEW, threads),
            #[cfg(target_arch = "x86_64")]
            (Order::Tiles, true) => product.run(Rounded::<amx::Amx>::NEW, threads),
            (Order::Pairs, _) => product.run(Rounded::<Emulated<false>>::NEW, threads),
            (Order::Tiles, _) => product.run(Rounded::<Emulated<true>>::NEW, threads),
        }
    }
}

/// Products with numbers rounded to bf16, by this unit.
struct Rounded<U>(PhantomData<fn() -> U>);

impl<U> Rounded<U> {
    const NEW: Self = Rounded(PhantomData);
}

impl<U> Clone for Rounded<U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for Rounded<U> {}

impl<U: Unit> blocked::Unit for Rounded<U> {
    /// Neither a pair nor a group of pairs is cut.
    const KC: usize = 512;
    /// The words of a block stay in the second cache.
    const NC: usize = 512;
    /// Whole vectors where A is read across.
    const MC: usize = 192;
    const VECTOR: usize = NR;
    const PIECE: usize = 2_500_000;
    const ROOM: [usize; 2] =
        [Self::MC * (Self::KC / 2), Self::NC / NR * (Self::KC / 2 * NR + WIDE)];
    type Kept = f32;
    type A = (*const u32, Words);
    type B = *const u32;

    fn rows(self) -> usize {
        U::ROWS
    }

    /// Cutting rows packs B again for each piece, cutting columns packs A: the smaller of both.
    fn cut(self, pieces: usize, &blocked::Product { m, n, .. }: &blocked::Product) -> [usize; 2] {
        if m >= n { [pieces.min(m.div_ceil(U::ROWS)), 1] } else { [1, pieces.min(n.div_ceil(NR))] }
    }

    fn ready<R>(self, f: impl FnOnce() -> R) -> R {
        U::ready(f)
    }

    unsafe fn pack_b(self, block: &blocked::Product, room: &mut [u32]) -> *const u32 {
        // SAFETY: the caller's promise.
        pack_b::<U>(unsafe { view(block.b, [block.k, block.n]) }, room);
        room.as_ptr()
    }

    unsafe fn pack_a(self, block: &blocked::Product, room: &mut [u32]) -> Self::A {
        // SAFETY: the caller's promise.
        let words = U::pack_a(unsafe { view(block.a, [block.m, block.k]) }.reversed_axes(), room);
        (room.as_ptr(), words)
    }

    unsafe fn strip(
        self,
        strip: &blocked::Product,
        ((a, words), row): (Self::A, usize),
        b: *const u32,
    ) {
        let blocked::Product { m, n, k, c, f, .. } = *strip;
        let pairs = k.div_ceil(2).next_multiple_of(U::PAIRS);
        let from = row * words.row;
        // SAFETY: what was packed is as long as the room for it; the strip lies inside C and the bias, by
        // the caller's promise.
        unsafe {
            let a = std::slice::from_raw_parts(a.add(from), Self::ROOM[0] - from);
            for (panel, j) in (0..n).step_by(NR).enumerate() {
                let here = NR.min(n - j);
                let b = std::slice::from_raw_parts(b.add(panel * panel_stride::<U>(k)), pairs * NR);
                let bias = match f.bias.is_null() {
                    true => &[],
                    false => std::slice::from_raw_parts(f.bias.add(j), here),
                };
                let to = c.ptr.add(j);
                let c = ArrayViewMut2::from_shape_ptr((m, here).strides((c.rs as usize, 1)), to);
                U::tile(a, words, b, c, Factors { alpha: f.alpha, beta: f.beta, bias });
            }
        }
    }
}

/// An operand as a view.
///
/// # Safety
/// The operand must be as large, live as long, and have no negative strides.
unsafe fn view<'a>(x: Operand, shape: [usize; 2]) -> ArrayView2<'a, f32> {
    // SAFETY: the caller's promise.
    unsafe { ArrayView2::from_shape_ptr(shape.strides([x.rs as usize, x.cs as usize]), x.ptr) }
}

const _: () =
    assert!(<Rounded<Emulated<true>> as blocked::Unit>::KC.is_multiple_of(2 * number::GROUP));

/// C ← alpha·A·B + beta·C by this unit, on one thread, for the tests.
#[cfg(test)]
fn on<U: Unit>(
    factors: [f32; 2],
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    mut c: ArrayViewMut2<'_, f32>,
) {
    let [a, b] = [a, b].map(|x| super::readable(x, super::Precision::Bf16));
    // SAFETY: pointers and strides are those of views; the callers choose units that are there.
    unsafe {
        let product = super::product(factors, &a.view(), &b.view(), None, &mut c);
        product.run(Rounded::<U>::NEW, 1);
    }
}

#[cfg(test)]
mod tests;
