//! Products with bf16: halves of f32, widened in registers.

use super::block::WIDTH;
use super::few_rows::few_rows;
use super::matrix::{AHEAD, Line};
use crate::kernels::math::LANES;
use crate::kernels::simd::{fma, prefetch, simd_kernel};

/// Lines of a block.
const LINES: usize = WIDTH / 2;

simd_kernel! {
    /// sums ← X·W for `rows` rows and the outputs whose `words` come first.
    pub(super) fn sum(sums: &mut [[f32; LANES]], x: &[[f32; WIDTH]], rows: usize, words: &[Line]) {
        let panels = words.chunks_exact(x.len() / rows * LINES);
        for (sums, words) in sums.chunks_exact_mut(rows).zip(panels) {
            few_rows!([4 2 1], sums, x, rows, |sums, x| panel::<_, FMA>(sums, x, words));
        }
    }
}

#[inline(always)]
fn panel<const R: usize, const FMA: bool>(
    sums: &mut [[f32; LANES]; R],
    x: [&[[f32; WIDTH]]; R],
    words: &[Line],
) {
    *sums = [[0.0; LANES]; R];
    for (block, lines) in words.chunks_exact(LINES).enumerate() {
        // An addition waits for the one before it, so two take turns.
        let (mut even, mut odd) = ([[0.0; LANES]; R], [[0.0; LANES]; R]);
        for (i, Line(line)) in lines.iter().enumerate() {
            prefetch(line, AHEAD);
            let low = line.map(|word| f32::from_bits(word << 16));
            let high = line.map(|word| f32::from_bits(word & 0xffff_0000));
            for r in 0..R {
                let x = &x[r][block][2 * i..][..2];
                for l in 0..LANES {
                    even[r][l] = fma::<FMA>(x[0], low[l], even[r][l]);
                    odd[r][l] = fma::<FMA>(x[1], high[l], odd[r][l]);
                }
            }
        }
        for r in 0..R {
            for l in 0..LANES {
                sums[r][l] += even[r][l] + odd[r][l];
            }
        }
    }
}
