//! Operands as pairs of bf16: what lies side by side in k goes into one word.
//!
//! A comes as rows of words, B as panels of [`NR`] columns. Both are read along the direction in
//! which their numbers are side by side: along k, or across it. Where they are side by side in
//! neither, they are copied first.

use super::sizes::{NR, WIDE, Words};
use super::unit::{Part, Unit};
use crate::kernels::simd::prefetch;

/// Pairs of lines that are asked for before they are needed.
const AHEAD: usize = 4;

/// Lines of a part: slices in which numbers lie side by side.
pub(super) fn line<'a>(part: &Part<'a>, axis: usize, index: usize) -> &'a [f32] {
    let line = part.index_axis_move(ndarray::Axis(axis), index);
    line.to_slice().expect("side by side")
}

/// Asks for lines `k` and `k + 1` from memory: each is too short for the processor to see by itself
/// where the next will be.
pub(super) fn prefetch_lines(part: &Part<'_>, k: usize) {
    for k in k..(k + 2).min(part.nrows()) {
        let line = line(part, 0, k);
        (0..line.len()).step_by(WIDE).for_each(|at| prefetch(line, at));
    }
}

/// A's part `[K, M]` as words. Any of the two directions will do for the product.
pub(super) fn pack_a<U: Unit>(a: Part<'_>, out: &mut [u32]) -> Words {
    let (depth, rows) = a.dim();
    let pairs = depth.div_ceil(2);
    if a.strides()[0] == 1 || depth == 1 {
        let row = pairs.next_multiple_of(U::PAIRS);
        for (r, out) in out.chunks_exact_mut(row).take(rows).enumerate() {
            U::along(line(&a, 1, r), &mut out[..pairs]);
            out[pairs..].fill(0);
        }
        return Words { row, step: 1 };
    }
    let row = rows.next_multiple_of(WIDE);
    for (q, out) in out.chunks_exact_mut(row).take(pairs).enumerate() {
        prefetch_lines(&a, 2 * (q + AHEAD));
        let second = if 2 * q + 1 < depth { line(&a, 0, 2 * q + 1) } else { &[] };
        U::across(line(&a, 0, 2 * q), second, out);
    }
    Words { row: 1, step: row }
}

/// Words from one panel of B to the next: a little more than a panel has, or the same word of all
/// panels would want the same few places of the cache.
pub(super) fn panel_stride<U: Unit>(depth: usize) -> usize {
    depth.div_ceil(2).next_multiple_of(U::PAIRS) * NR + WIDE
}

/// B's part `[K, N]` as panels [`panel_stride`] apart: word q of column j of a panel is at `q·NR + j`,
/// missing columns and missing last rows of B are zeros.
pub(super) fn pack_b<U: Unit>(b: Part<'_>, out: &mut [u32]) {
    let (depth, cols) = b.dim();
    let (pairs, stride) = (depth.div_ceil(2), panel_stride::<U>(depth));
    for panel in out.chunks_mut(stride).take(cols.div_ceil(NR)) {
        panel[pairs * NR..pairs.next_multiple_of(U::PAIRS) * NR].fill(0);
    }
    if b.strides()[1] == 1 || cols == 1 {
        // Row by row of B, so that memory is read as it lies.
        for q in 0..pairs {
            prefetch_lines(&b, 2 * (q + AHEAD));
            let first = line(&b, 0, 2 * q);
            let second = if 2 * q + 1 < depth { line(&b, 0, 2 * q + 1) } else { &[] };
            let panels = first.chunks(NR).zip(out.chunks_mut(stride));
            for (i, (first, out)) in panels.enumerate() {
                let second =
                    if second.is_empty() { second } else { &second[i * NR..][..first.len()] };
                U::across(first, second, &mut out[q * NR..][..NR]);
            }
        }
        return;
    }
    for (panel, out) in out.chunks_mut(stride).take(cols.div_ceil(NR)).enumerate() {
        for half in 0..NR / WIDE {
            let column = |i: usize| match panel * NR + half * WIDE + i {
                j if j < cols => line(&b, 1, j),
                _ => &[],
            };
            U::turned(std::array::from_fn(column), &mut out[half * WIDE..]);
        }
    }
}
