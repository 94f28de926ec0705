//! What products ask of a bf16 unit.

use super::sizes::{WIDE, Words};
use ndarray::{ArrayView2, ArrayViewMut2};

/// A part of an operand, k first: `[K, rows of A]` or `[K, columns of B]`.
pub(super) type Part<'a> = ArrayView2<'a, f32>;

/// What happens to the sums: C ← alpha·(sum + bias) + beta·C, each operation rounded for itself.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    pub alpha: f32,
    pub beta: f32,
    /// A number for each column of the tile, or none.
    pub bias: &'a [f32],
}

/// What a unit does.
pub(super) trait Unit {
    /// Rows of a tile.
    const ROWS: usize;
    /// Pairs come in groups of this size, padded with zeros.
    const PAIRS: usize;

    /// Calls f with the unit ready for tiles on this thread.
    fn ready<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    /// A's part `[K, M]` as words, in whichever direction [`Unit::tile`] reads them.
    fn pack_a(a: Part<'_>, out: &mut [u32]) -> Words;
    /// out ← pairs of neighbours in `x`; after the last of an odd number comes 0.
    fn along(x: &[f32], out: &mut [u32]);
    /// out ← pairs of one number of each line, zeros behind them. `second` may be empty: zeros.
    fn across(first: &[f32], second: &[f32], out: &mut [u32]);
    /// Pairs along 16 lines, the lines side by side: word q of line i goes to `q·NR + i`. Lines may
    /// be empty: zeros.
    fn turned(lines: [&[f32]; WIDE], out: &mut [u32]);
    /// A tile of C, its columns together: sums over the pairs of `a` (as `words` says) and of a panel
    /// of B.
    fn tile(a: &[u32], words: Words, b: &[u32], c: ArrayViewMut2<'_, f32>, factors: Factors<'_>);
}
