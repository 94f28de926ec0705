//! Products with bf16: halves of f32, widened in registers.

use super::block::WIDTH;
use super::matrix::{AHEAD, Line};
use crate::kernels::math::LANES;
use crate::kernels::simd::{fma, prefetch, simd_kernel};

/// Lines of a block.
const LINES: usize = WIDTH / 2;

simd_kernel! {
    /// y ← y + x·W for the outputs whose `words` come first.
    pub(super) fn add(y: &mut [f32], x: &[[f32; WIDTH]], words: &[Line]) {
        for (y, words) in y.chunks_mut(LANES).zip(words.chunks_exact(x.len() * LINES)) {
            let mut sums = [0.0; LANES];
            for (x, lines) in x.iter().zip(words.chunks_exact(LINES)) {
                // An addition waits for the one before it, so two take turns.
                let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
                for (x, Line(line)) in x.chunks_exact(2).zip(lines) {
                    prefetch(line, AHEAD);
                    for l in 0..LANES {
                        even[l] = fma::<FMA>(x[0], f32::from_bits(line[l] << 16), even[l]);
                        odd[l] = fma::<FMA>(x[1], f32::from_bits(line[l] & 0xffff_0000), odd[l]);
                    }
                }
                for l in 0..LANES {
                    sums[l] += even[l] + odd[l];
                }
            }
            y.iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
        }
    }
}
