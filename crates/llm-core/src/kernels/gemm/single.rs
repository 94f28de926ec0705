//! The unit of f32: A and B are read where they lie, or packed where that pays. A B that is kept in bf16 is always
//! packed, and widened on the way: the tile sees f32.
#![allow(unsafe_code)]

use super::blocked::{Product, Unit};
use super::microkernel::{self, Operand, Packed, Strip};
use super::pack::{self, Number};
use crate::kernels::simd::{Level, ask_for};
use std::marker::PhantomData;

/// Numbers that the second cache cannot hold.
const FAR: isize = 1 << 18;

/// Panels of B from which on rearranging A for them pays.
const PANELS: usize = 19;

/// Whether a row of A is longer than the second cache, from its first number to its last.
fn is_far<T>(&Product { k, a, .. }: &Product<T>) -> bool {
    a.cs.saturating_mul(k as isize) > FAR
}

/// An instruction set's tile, for a B of such numbers.
pub(super) struct Single<T = f32> {
    strip: Strip,
    rows: usize,
    columns: usize,
    kept: PhantomData<fn() -> T>,
}

impl<T> Clone for Single<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Single<T> {}

impl<T> Single<T> {
    const fn new(strip: Strip, rows: usize, columns: usize) -> Self {
        Single { strip, rows, columns, kept: PhantomData }
    }

    /// The tile of an instruction set.
    pub(super) fn of(level: Level) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Single::new(microkernel::avx512::strip, 8, 48),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Single::new(microkernel::avx2::strip, 6, 16),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Single::new(microkernel::neon::strip, 6, 16),
            _ => Single::new(microkernel::plain::strip, 2, 16),
        }
    }

    /// Whether A is packed: the numbers of a row lie apart, and the columns make up for it, or what is read
    /// is far. A tile of 48 columns reads A so seldom that it never does.
    fn packs_a(self, product: &Product<T>) -> bool {
        let (many, some) = (product.n > PANELS * self.columns, product.n > self.columns);
        product.a.cs != 1 && self.rows == 6 && (many || some && is_far(product))
    }
}

impl<T: Number> Unit for Single<T> {
    /// The rows of A that a tile uses, KC deep, stay in the first cache while all panels of B pass.
    const KC: usize = 384;
    /// KC·NC numbers stay in the second cache.
    const NC: usize = 480;
    /// Rows of whole cache lines and of whole tiles: what is read across is used up at once.
    const MC: usize = 48;
    /// Columns of the longest vector.
    const VECTOR: usize = 16;
    /// About 12 µs.
    const PIECE: usize = 1_600_000;
    const ROOM: [usize; 2] = [Self::MC * Self::KC, Self::KC * Self::NC];
    /// None: A is read where it lies.
    type Kept = T;
    type A = Option<Packed>;
    type B = Packed;

    fn rows(self) -> usize {
        self.rows
    }

    /// Cutting columns packs nothing of B twice, but every piece reads all of A: rows are cut where that is
    /// dear, because A is packed or too large for a cache.
    fn cut(self, pieces: usize, whole: &Product<T>) -> [usize; 2] {
        let &Product { m, n, k, .. } = whole;
        let fits = |length: usize, unit: usize| length.div_ceil(unit) >= 2 * pieces;
        let is_dear = self.packs_a(whole) || m.saturating_mul(k) > FAR as usize;
        let by_rows = is_dear && m >= n && fits(m, self.rows);
        let across = if fits(n, self.columns) && !by_rows { pieces } else { 1 };
        [(pieces / across).min(m.div_ceil(self.rows)), across]
    }

    unsafe fn pack_b(self, block: &Product<T>, room: &mut [u32]) -> Packed {
        let Product { m, n, k, b, .. } = *block;
        // Columns that lie together are read in place when few rows would make up for packing.
        if b.cs == 1
            && n.is_multiple_of(Self::VECTOR)
            && m <= 9 * self.rows
            && let Some(b) = T::in_place(b)
        {
            return Packed::in_place(b, self.columns);
        }
        // SAFETY: the caller's promise; every word is a number.
        unsafe { pack::pack(b, k, n, self.columns, room.align_to_mut().1) }
    }

    unsafe fn pack_a(self, block: &Product<T>, room: &mut [u32]) -> Option<Packed> {
        let Product { m, k, a, .. } = *block;
        let turned = Operand { ptr: a.ptr, rs: a.cs, cs: a.rs };
        // SAFETY: the caller's promise; every word is a number.
        self.packs_a(block)
            .then(|| unsafe { pack::pack(turned, k, m, self.rows, room.align_to_mut().1) })
    }

    /// Where A's numbers lie so far apart that the processor does not see by itself where the next will be.
    fn prefetch(self, block: &Product<T>, row: usize) {
        let Product { m, k, a, .. } = *block;
        if row < m && is_far(block) && !self.packs_a(block) {
            let start = a.ptr.wrapping_offset(row as isize * a.rs);
            (0..k).for_each(|p| ask_for(start.wrapping_offset(p as isize * a.cs)));
        }
    }

    unsafe fn strip(self, strip: &Product<T>, (packed, row): (Option<Packed>, usize), b: Packed) {
        let Product { m, n, k, c, f, triangle, .. } = *strip;
        let (n, terms) = triangle.of_strip(m, n, k);
        let mut a = packed.map_or(strip.a, |packed| Operand {
            ptr: packed.panel(row / self.rows),
            rs: 1,
            cs: packed.rs,
        });
        a.ptr = a.ptr.wrapping_offset(terms.start as isize * a.cs);
        // SAFETY: the caller's promise; columns and terms are some of the strip's.
        unsafe { (self.strip)(m, n, terms.len(), a, b.deeper(terms.start), c, f) }
    }
}
