//! A block of B rearranged so that the tile reads it from front to back: panels of `nr` columns,
//! each k-row of a panel side by side, missing columns as zeros.
#![allow(unsafe_code)]

use super::microkernel::Operand;
use crate::kernels::simd::ask_for;
use std::cell::RefCell;

/// Panels of B, packed or in place.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    ptr: *const f32,
    /// From one k to the next inside a panel.
    pub(super) rs: isize,
    /// From one panel to the next.
    panel: usize,
}

impl Packed {
    /// B as it lies: its columns are side by side already.
    pub(super) fn in_place(b: Operand, nr: usize) -> Packed {
        Packed { ptr: b.ptr, rs: b.rs, panel: nr }
    }

    pub(super) fn panel(&self, index: usize) -> *const f32 {
        self.ptr.wrapping_add(index * self.panel)
    }
}

/// A cache line: a vector that lay in two of them would be loaded twice.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read as plain words")] [u32; 16]);

thread_local! {
    static SCRATCH: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Hands out this thread's packing space for A and for B, of these numbers of words, made once and
/// kept. Each begins at a cache line.
pub(super) fn with_scratch(words: [usize; 2], f: impl FnOnce([&mut [u32]; 2])) {
    SCRATCH.with_borrow_mut(|scratch| {
        let [a, b] = words.map(|words| words.div_ceil(16));
        if scratch.len() < a + b {
            scratch.resize(a + b, Line([0; 16]));
        }
        let (a, b) = scratch.split_at_mut(a);
        // SAFETY: a line is 16 words side by side and nothing else.
        f([a, b].map(|lines| unsafe { lines.align_to_mut().1 }));
    });
}

/// Rows that are asked for before they are needed.
const AHEAD: usize = 8;

/// Asks for the beginning of a row from memory: it is too short for the processor to see by itself
/// where the next will be.
fn prefetch_row(row: *const f32, numbers: usize) {
    (0..numbers).step_by(16).for_each(|at| ask_for(row.wrapping_add(at)));
}

/// Packs `depth × cols` of B into panels of `nr` columns.
///
/// # Safety
/// B must have that many elements.
pub(super) unsafe fn pack(
    b: Operand,
    depth: usize,
    cols: usize,
    nr: usize,
    out: &mut [f32],
) -> Packed {
    let panel = depth * nr;
    if b.cs == 1 {
        // Row by row of B, so that memory is read as it lies.
        for k in 0..depth {
            if k + AHEAD < depth {
                prefetch_row(b.ptr.wrapping_offset((k + AHEAD) as isize * b.rs), cols);
            }
            let start = b.ptr.wrapping_offset(k as isize * b.rs);
            // SAFETY: row k of B has `cols` columns from here.
            let row = unsafe { std::slice::from_raw_parts(start, cols) };
            for (p, source) in row.chunks(nr).enumerate() {
                let out = &mut out[p * panel + k * nr..][..nr];
                out[..source.len()].copy_from_slice(source);
                out[source.len()..].fill(0.0);
            }
        }
    } else {
        for (p, j) in (0..cols).step_by(nr).enumerate() {
            let (width, out) = (nr.min(cols - j), &mut out[p * panel..(p + 1) * panel]);
            let b = Operand { ptr: b.ptr.wrapping_offset(j as isize * b.cs), ..b };
            // SAFETY: the columns from j on, `cs` apart.
            unsafe { gather(b, depth, width, nr, out) }
        }
    }
    Packed { ptr: out.as_ptr(), rs: nr as isize, panel }
}

/// Columns that lie apart, usually because B is a transposed view: each is read along k, where its
/// numbers are side by side, eight columns and eight k at a time.
///
/// # Safety
/// As [`pack`].
unsafe fn gather(b: Operand, depth: usize, width: usize, nr: usize, out: &mut [f32]) {
    const SIDE: usize = 8;
    if width < nr {
        out.fill(0.0);
    }
    for j in (0..width).step_by(SIDE) {
        let columns = SIDE.min(width - j);
        for k in (0..depth).step_by(SIDE) {
            let rows = SIDE.min(depth - k);
            let at = |i: usize, l: usize| {
                b.ptr
                    .wrapping_offset(b.cs.wrapping_mul((j + i) as isize))
                    .wrapping_offset(b.rs.wrapping_mul((k + l) as isize))
            };
            if columns == SIDE && rows == SIDE && b.rs == 1 {
                let mut square = [[0.0f32; SIDE]; SIDE];
                for (i, line) in square.iter_mut().enumerate() {
                    // SAFETY: eight numbers of column j + i, side by side.
                    *line = unsafe { at(i, 0).cast::<[f32; SIDE]>().read_unaligned() };
                }
                for l in 0..SIDE {
                    for i in 0..SIDE {
                        out[(k + l) * nr + j + i] = square[i][l];
                    }
                }
            } else {
                for l in 0..rows {
                    for i in 0..columns {
                        // SAFETY: element (k + l, j + i) of the block.
                        out[(k + l) * nr + j + i] = unsafe { *at(i, l) };
                    }
                }
            }
        }
    }
}
