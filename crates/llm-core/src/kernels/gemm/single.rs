//! The unit of f32: A is read where it lies, B packed where that pays.
#![allow(unsafe_code)]

use super::blocked::{Product, Unit};
use super::microkernel::{self, Tile};
use super::pack::{self, Packed};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernels::simd::Level;
use crate::kernels::simd::{ask_for, level};

/// Numbers of A, from the first term of a sum to the last, that the second cache cannot hold.
const FAR: isize = 1 << 18;

/// An instruction set's tile.
#[derive(Clone, Copy)]
pub(super) struct Single {
    tile: Tile,
    rows: usize,
    columns: usize,
}

impl Single {
    /// The tile of machines without fused multiply-add.
    pub(super) const PLAIN: Single = Single::new(microkernel::plain::tile, 2, 16);

    const fn new(tile: Tile, rows: usize, columns: usize) -> Single {
        Single { tile, rows, columns }
    }

    /// The tile of the instruction set in use.
    pub(super) fn here() -> Single {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Single::new(microkernel::avx512::tile, 8, 48),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Single::new(microkernel::avx2::tile, 6, 16),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Single::new(microkernel::neon::tile, 6, 16),
            _ => Single::PLAIN,
        }
    }
}

impl Unit for Single {
    /// The rows of A that a tile uses, KC deep, stay in the first cache while all panels of B pass.
    const KC: usize = 384;
    /// KC·NC numbers stay in the second cache.
    const NC: usize = 480;
    const MC: usize = usize::MAX;
    /// Columns of the longest vector.
    const VECTOR: usize = 16;
    /// About 12 µs.
    const PIECE: usize = 1_600_000;
    const ROOM: [usize; 2] = [0, Self::KC * Self::NC];
    type A = ();
    type B = Packed;

    fn tile_size(self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Cutting columns packs nothing of B twice; what is too narrow for that is cut by rows.
    fn cut(self, pieces: usize, [m, n]: [usize; 2]) -> [usize; 2] {
        let across = if n.div_ceil(self.columns) >= 2 * pieces { pieces } else { 1 };
        [(pieces / across).min(m.div_ceil(self.rows)), across]
    }

    unsafe fn pack_b(self, block: &Product, room: &mut [u32]) -> Packed {
        let Product { m, n, k, b, .. } = *block;
        // Columns that lie together are read in place when few rows would make up for packing.
        if b.cs == 1 && n.is_multiple_of(Self::VECTOR) && m <= 9 * self.rows {
            return Packed::in_place(b, self.columns);
        }
        // SAFETY: the caller's promise; every word is a number.
        unsafe { pack::pack(b, k, n, self.columns, room.align_to_mut().1) }
    }

    unsafe fn pack_a(self, _: &Product, _: &mut [u32]) {}

    /// Where A's numbers lie so far apart that the processor does not see by itself where the next will be.
    fn prefetch(self, block: &Product, row: usize) {
        let Product { m, k, a, .. } = *block;
        if a.cs.saturating_mul(k as isize) > FAR && row < m {
            let start = a.ptr.wrapping_offset(row as isize * a.rs);
            (0..k).for_each(|p| ask_for(start.wrapping_offset(p as isize * a.cs)));
        }
    }

    unsafe fn tile(self, tile: &Product, _: ((), usize), (b, panel): (Packed, usize)) {
        let Product { m, n, k, a, c, f, .. } = *tile;
        // SAFETY: the caller's promise.
        unsafe { (self.tile)(m, n, k, a, b.panel(panel), b.rs, c, f) }
    }
}
