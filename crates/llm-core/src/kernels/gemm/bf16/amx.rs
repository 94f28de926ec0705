//! The unit of x86-64 processors that have AMX: tiles of 16 × 16 sums, fed 16 pairs deep at once.
//!
//! The compiler has no stable functions for it, so its instructions stand here as such. The operating
//! system hands its registers out on demand; Linux is asked for them, elsewhere the unit is not used.
#![allow(unsafe_code)]

use super::avx512::{Avx512, across, finish, mask, transpose};
use super::number::GROUP;
use super::pack::{self, line, prefetch_lines};
use super::sizes::{NR, WIDE, Words};
use super::unit::{Factors, Part, Unit};
use ndarray::ArrayViewMut2;
use std::arch::asm;
use std::arch::x86_64::*;

/// The processor's own. Only where [`is_there`] says so.
pub(super) struct Amx;

/// Rows of sums: two tiles.
const MR: usize = 2 * WIDE;
/// Bytes of a row of the sums of a tile's two columns.
const ROW: usize = NR * size_of::<f32>();

/// Whether this processor has the unit and this process may use it.
pub(super) fn is_there() -> bool {
    static THERE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *THERE.get_or_init(|| super::avx512::is_there() && has_tiles() && is_granted())
}

/// Whether the processor reports the unit.
#[allow(unused_unsafe)] // since Rust 1.94
fn has_tiles() -> bool {
    // The bits of CPUID's page on features beyond the first: AMX-BF16 and AMX-TILE.
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    // SAFETY: every x86-64 processor has this instruction.
    let [last, features] = unsafe { [__cpuid(0).eax, __cpuid_count(7, 0).edx] };
    last >= 7 && features & BF16_AND_TILE == BF16_AND_TILE
}

/// Asks the kernel for the registers, for all threads of the process.
#[cfg(target_os = "linux")]
fn is_granted() -> bool {
    // Of <asm/prctl.h>, and the number of the state of tiles in XSAVE.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: two numbers, no pointers; a kernel that does not know the request refuses it.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_granted() -> bool {
    false
}

/// How the eight tiles are used: all of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_a_row: [u16; 16],
    rows: [u8; 16],
}

static SHAPE: Shape = {
    let mut shape = Shape {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        bytes_of_a_row: [0; 16],
        rows: [0; 16],
    };
    let mut tile = 0;
    while tile < 8 {
        shape.bytes_of_a_row[tile] = 64;
        shape.rows[tile] = 16;
        tile += 1;
    }
    shape
};

impl Unit for Amx {
    const ROWS: usize = MR;
    const PAIRS: usize = GROUP;

    fn ready<R>(f: impl FnOnce() -> R) -> R {
        // SAFETY: this unit is only chosen where it is there, and nothing else uses its registers.
        unsafe {
            asm!(
                "ldtilecfg [{}]", in(reg) &raw const SHAPE,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly),
            );
        }
        let result = f();
        // What is released need not be kept when threads change places on a core.
        // SAFETY: as above.
        unsafe {
            asm!(
                "tilerelease",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, nomem),
            );
        }
        result
    }

    fn pack_a(a: Part<'_>, out: &mut [u32]) -> Words {
        if a.strides()[0] == 1 || a.nrows() == 1 {
            pack::pack_a::<Self>(a, out)
        } else {
            by_rows(a, out)
        }
    }

    fn along(x: &[f32], out: &mut [u32]) {
        Avx512::along(x, out);
    }

    fn across(first: &[f32], second: &[f32], out: &mut [u32]) {
        Avx512::across(first, second, out);
    }

    fn turned(lines: [&[f32]; WIDE], out: &mut [u32]) {
        Avx512::turned(lines, out);
    }

    fn tile(a: &[u32], words: Words, b: &[u32], c: ArrayViewMut2<'_, f32>, factors: Factors<'_>) {
        let ((rows, cols), pairs) = (c.dim(), b.len() / NR);
        assert!((1..=MR).contains(&rows) && (1..=NR).contains(&cols));
        assert!(c.strides()[1] == 1 || cols == 1);
        // Whole tiles are read, also where C has fewer rows: what stands there is not used.
        assert!(words.step == 1 && words.row >= pairs && pairs.is_multiple_of(GROUP) && pairs > 0);
        assert!(a.len() >= (rows.next_multiple_of(WIDE) - 1) * words.row + pairs);
        assert!(factors.bias.is_empty() || factors.bias.len() >= cols);
        // SAFETY: as above, and `ready` has been called; the lengths were checked.
        unsafe {
            if rows > WIDE {
                tiles::<2>(a, words, b, c, factors);
            } else {
                tiles::<1>(a, words, b, c, factors);
            }
        }
    }
}

/// A's part `[K, M]` whose numbers lie side by side in M, as rows of words.
fn by_rows(a: Part<'_>, out: &mut [u32]) -> Words {
    let (depth, rows) = a.dim();
    let row = depth.div_ceil(2).next_multiple_of(GROUP);
    assert!(out.len() >= rows.next_multiple_of(WIDE) * row);
    for from in (0..row).step_by(GROUP) {
        let of = |k: usize| if k < depth { line(&a, 0, k) } else { &[] };
        let lines: [&[f32]; 2 * GROUP] = std::array::from_fn(|k| of(2 * from + k));
        for k in (0..2 * GROUP).step_by(2) {
            prefetch_lines(&a, 2 * (from + GROUP) + k);
        }
        for r in (0..rows).step_by(WIDE) {
            let part =
                |line: &'_ [f32]| -> [usize; 2] { [r.min(line.len()), (r + WIDE).min(line.len())] };
            let mut words = [[0; WIDE]; GROUP];
            for (pair, words) in lines.as_chunks::<2>().0.iter().zip(&mut words) {
                let [first, second] = pair.map(|line| &line[part(line)[0]..part(line)[1]]);
                // SAFETY: this unit is only chosen where it is there; the vector has room.
                unsafe { across(first, second, words) };
            }
            // SAFETY: as above; 16 rows from r on, 16 words of each, lie in `out`, as was checked.
            unsafe { turn(&words, out[r * row + from..].as_mut_ptr(), row) };
        }
    }
    Words { row, step: 1 }
}

/// Word i of vector q to place q of row i, the rows `row` words apart.
#[target_feature(enable = "avx512f")]
unsafe fn turn(words: &[[u32; WIDE]; GROUP], out: *mut u32, row: usize) {
    // SAFETY: the caller has checked that there is room.
    unsafe {
        let mut x = words.each_ref().map(|words| _mm512_loadu_si512(words.as_ptr().cast()));
        transpose(&mut x);
        for (i, x) in x.into_iter().enumerate() {
            _mm512_storeu_si512(out.add(i * row).cast(), x);
        }
    }
}

/// R tiles of 16 rows, two of 16 columns side by side.
#[target_feature(enable = "avx512f")]
unsafe fn tiles<const R: usize>(
    a: &[u32],
    words: Words,
    b: &[u32],
    mut c: ArrayViewMut2<'_, f32>,
    factors: Factors<'_>,
) {
    #[repr(C, align(64))]
    struct Sums(std::mem::MaybeUninit<[[f32; NR]; MR]>);
    let mut sums = Sums(std::mem::MaybeUninit::uninit());
    let ((rows, cols), stride) = (c.dim(), c.strides()[0]);
    let start = c.as_mut_ptr();
    // SAFETY: `Amx::tile` has checked that a, b, c and the bias are as large as they are used.
    unsafe {
        // The place in C is fetched while its sums grow.
        for r in 0..rows {
            let row = start.wrapping_offset(stride.wrapping_mul(r as isize)).cast::<i8>();
            _mm_prefetch::<_MM_HINT_ET0>(row);
            _mm_prefetch::<_MM_HINT_ET0>(row.wrapping_add(64));
        }
        let out = sums.0.as_mut_ptr();
        macro_rules! sum_up {
            ([$($zero:literal)*], [$($step:literal)*], [$($store:literal)*]) => {
                asm!(
                    $($zero,)*
                    "2:",
                    "tileloadd tmm4, [{upper} + {row}]",
                    "tileloadd tmm6, [{b} + {wide}]",
                    "tileloadd tmm7, [{b} + {wide} + 64]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    $($step,)*
                    "add {upper}, 64",
                    "add {lower}, 64",
                    "add {b}, 2048",
                    "dec {groups}",
                    "jnz 2b",
                    "tilestored [{out} + {wide}], tmm0",
                    "tilestored [{out} + {wide} + 64], tmm1",
                    $($store,)*
                    upper = inout(reg) a.as_ptr() => _,
                    lower = inout(reg) a.as_ptr().wrapping_add(WIDE * words.row) => _,
                    row = in(reg) words.row * size_of::<u32>(),
                    b = inout(reg) b.as_ptr() => _,
                    wide = in(reg) ROW,
                    groups = inout(reg) b.len() / (NR * GROUP) => _,
                    out = in(reg) out,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                )
            };
        }
        if R == 2 {
            sum_up!(
                ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"],
                ["tileloadd tmm5, [{lower} + {row}]" "tdpbf16ps tmm2, tmm5, tmm6" "tdpbf16ps tmm3, tmm5, tmm7"],
                ["tilestored [{out} + {wide} + 2048], tmm2" "tilestored [{out} + {wide} + 2112], tmm3"]
            );
        } else {
            sum_up!(["tilezero tmm0" "tilezero tmm1"], [], []);
        }
        for r in 0..rows {
            let row = start.wrapping_offset(stride.wrapping_mul(r as isize));
            for v in 0..2 {
                let here = mask(cols.saturating_sub(v * WIDE));
                let sum = _mm512_load_ps(out.cast::<f32>().add(r * NR + v * WIDE));
                if here != 0 {
                    finish(sum, row, v * WIDE, here, &factors);
                }
            }
        }
    }
}

const _: () = assert!(GROUP == WIDE && NR == 2 * WIDE);
