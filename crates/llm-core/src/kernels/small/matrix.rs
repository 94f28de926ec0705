//! A matrix of small numbers, laid out for the product of one row with it.
//!
//! A block is 32 numbers that one output adds up: neighbours in a column of `W [K, N]`. Blocks of 16
//! outputs lie together, so that a vector holds 16 sums and never has to be added up across; each
//! 32-bit word has 2, 4 or 8 neighbours of one output, which come out by shifts. The words of 16
//! outputs are one stream from the first input to the last.

use super::block::{Rounded, SmallKind, WIDTH};
use crate::base::large_pages::room;
use crate::base::{Result, memory};
use crate::kernels::math::LANES;
use rayon::prelude::*;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Words between the one that is used and the one that is asked for: two pages of memory.
pub(super) const AHEAD: usize = 1 << 11;

/// A word for each of 16 outputs, at the beginning of a cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [u32; LANES]);

/// The scales of one block for each of 16 outputs.
pub(super) type Scales = [u16; LANES];

/// How a matrix lies in memory, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// `[K, N]`: a row for each input.
    ByInput,
    /// `[N, K]`: a row for each output.
    ByOutput,
}

/// A matrix that is to be kept in fewer bits: `w [K, N]`, or `[N, K]` where it is stored by outputs.
#[derive(Clone, Copy, Debug)]
pub struct Given<'w> {
    /// The format that its numbers are to have.
    pub kind: SmallKind,
    /// The matrix in f32.
    pub w: &'w [f32],
    /// `[K, N]`.
    pub shape: [usize; 2],
    /// The layout of `w`.
    pub stored: Stored,
}

/// K inputs, N outputs.
pub struct SmallMatrix {
    pub(super) kind: SmallKind,
    inputs: usize,
    outputs: usize,
    /// For 16 outputs, then for 32 inputs: as many lines as a number has bits.
    pub(super) words: Stretch<Line>,
    /// For 16 outputs, then for 32 inputs; empty in a format without scales.
    pub(super) scales: Stretch<Scales>,
}

/// A matrix's part of what several share.
pub(super) struct Stretch<T> {
    all: Arc<Vec<T>>,
    part: Range<usize>,
}

impl<T> Deref for Stretch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.part.clone()]
    }
}

impl Given<'_> {
    fn blocks(&self) -> usize {
        self.shape[0].div_ceil(WIDTH)
    }

    fn panels(&self) -> usize {
        self.shape[1].div_ceil(LANES)
    }

    fn lines(&self) -> usize {
        self.panels() * self.blocks() * self.kind.bits()
    }

    fn scales(&self) -> usize {
        if self.kind.has_scale() { self.panels() * self.blocks() } else { 0 }
    }

    /// Rounds everything to its place; both are zeros.
    fn pack(&self, words: &mut [Line], scales: &mut [Scales]) {
        let ([k, n], kind) = (self.shape, self.kind);
        let pack = |panel: usize, words: &mut [Line], scales: &mut [Scales]| {
            let outputs = panel * LANES..n.min((panel + 1) * LANES);
            for (lane, output) in outputs.enumerate() {
                for (b, words) in words.chunks_exact_mut(kind.bits()).enumerate() {
                    let mut x = [0.0; WIDTH];
                    for (x, input) in x.iter_mut().zip(b * WIDTH..k) {
                        *x = self.w[place([input, output], [k, n], self.stored)];
                    }
                    let Rounded { scale, steps } = kind.round(&x);
                    for (i, step) in steps.into_iter().enumerate() {
                        let (line, shift) = of_word(kind, i);
                        words[line].0[lane] |= u32::from(step) << shift;
                    }
                    if let Some(scales) = scales.get_mut(b) {
                        scales[lane] = scale;
                    }
                }
            }
        };
        let words = words.par_chunks_exact_mut((self.blocks() * kind.bits()).max(1));
        match kind.has_scale() {
            true => (words.zip(scales.par_chunks_mut(self.blocks().max(1))).enumerate())
                .for_each(|(panel, (words, scales))| pack(panel, words, scales)),
            false => words.enumerate().for_each(|(panel, words)| pack(panel, words, &mut [])),
        }
    }
}

impl SmallMatrix {
    /// The matrix `w`, rounded. Where 32 does not divide K, the last blocks end with zeros.
    ///
    /// # Shapes
    /// `w [K, N]`, or `[N, K]` where it is stored by outputs.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(kind: SmallKind, w: &[f32], shape: [usize; 2], stored: Stored) -> Result<Self> {
        let mut made = SmallMatrix::several(&[Given { kind, w, shape, stored }])?;
        Ok(made.remove(0))
    }

    /// Several, one behind the other in memory: in large pages all together, where each alone would
    /// be too short for them.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn several(given: &[Given<'_>]) -> Result<Vec<SmallMatrix>> {
        let needed = given.iter().map(|given| Self::bytes(given.kind, given.shape)).sum();
        let mut words = filled(given.iter().map(Given::lines).sum(), Line::default(), needed)?;
        let mut scales = filled(given.iter().map(Given::scales).sum(), Scales::default(), needed)?;
        let (mut words_left, mut scales_left) = (&mut words[..], &mut scales[..]);
        for given in given {
            let words = words_left.split_off_mut(..given.lines()).unwrap_or_default();
            let scales = scales_left.split_off_mut(..given.scales()).unwrap_or_default();
            given.pack(words, scales);
        }
        let (words, scales) = (Arc::new(words), Arc::new(scales));
        let (mut line, mut scale) = (0, 0);
        let parts = given.iter().map(|given| {
            let Given { kind, shape: [inputs, outputs], .. } = *given;
            let words = Stretch { all: words.clone(), part: line..line + given.lines() };
            let scales = Stretch { all: scales.clone(), part: scale..scale + given.scales() };
            (line, scale) = (words.part.end, scales.part.end);
            SmallMatrix { kind, inputs, outputs, words, scales }
        });
        Ok(parts.collect())
    }

    /// Bytes that a matrix of this shape takes, with the zeros at its edges.
    pub fn bytes(kind: SmallKind, [k, n]: [usize; 2]) -> u64 {
        let blocks = k.div_ceil(WIDTH) as u64 * n.next_multiple_of(LANES) as u64;
        blocks * kind.block_bytes() as u64
    }

    /// `[K, N]`.
    pub fn shape(&self) -> [usize; 2] {
        [self.inputs, self.outputs]
    }

    /// Whether every scale is finite, and in bf16, which has no scales, every number itself. A
    /// large number becomes ∞ there.
    pub fn is_finite(&self) -> bool {
        const EXPONENT: u32 = 0x7f80;
        let finite = |half: u32| half & EXPONENT != EXPONENT;
        let whole = |word: &u32| finite(*word) && finite(word >> 16);
        if self.kind == SmallKind::Bf16 && !self.words.iter().all(|line| line.0.iter().all(whole)) {
            return false;
        }
        self.scales.as_flattened().iter().all(|scale| scale & 0x7c00 != 0x7c00)
    }

    /// The number that stands for W\[input, output\].
    pub fn number(&self, input: usize, output: usize) -> f32 {
        let (blocks, bits) = (self.inputs.div_ceil(WIDTH), self.kind.bits());
        let (block, lane) = (output / LANES * blocks + input / WIDTH, output % LANES);
        let (line, shift) = of_word(self.kind, input % WIDTH);
        let word = self.words[block * bits + line].0[lane];
        let step = (word >> shift & ((1 << bits) - 1)) as u16;
        let scale = self.scales.get(block).map_or(0, |scales| scales[lane]);
        self.kind.number(scale, step)
    }

    /// w ← its numbers, as [`new`](SmallMatrix::new) got them.
    pub fn write_to(&self, w: &mut [f32], stored: Stored) {
        let [k, n] = self.shape();
        let by_input = stored == Stored::ByInput;
        let row = if by_input { n } else { k };
        w.par_chunks_exact_mut(row).enumerate().for_each(|(i, row)| {
            for (j, x) in row.iter_mut().enumerate() {
                *x = if by_input { self.number(i, j) } else { self.number(j, i) };
            }
        });
    }
}

/// Where W\[input, output\] stands.
fn place([input, output]: [usize; 2], [k, n]: [usize; 2], stored: Stored) -> usize {
    match stored {
        Stored::ByInput => input * n + output,
        Stored::ByOutput => output * k + input,
    }
}

/// The line of a block that has its number `i`, and how far up in a word.
fn of_word(kind: SmallKind, i: usize) -> (usize, usize) {
    let each = u32::BITS as usize / kind.bits();
    (i / each, i % each * kind.bits())
}

fn filled<T: Clone>(len: usize, value: T, needed: u64) -> Result<Vec<T>> {
    let mut list = room(len).map_err(|_| memory::refused(needed))?;
    list.resize(len, value);
    Ok(list)
}

impl fmt::Debug for SmallMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("SmallMatrix");
        fields.field("kind", &self.kind).field("shape", &self.shape()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_not_finite() {
        for kind in SmallKind::ALL {
            for (i, x) in [(0, f32::MAX), (37, -f32::MAX)] {
                let mut w = [0.5; 64];
                w[i] = x;
                let small = SmallMatrix::new(kind, &w, [64, 1], Stored::ByInput).unwrap();
                assert!(!small.is_finite(), "{kind}");
            }
        }
    }

    #[test]
    fn a_matrix_is_its_blocks_whichever_way_it_lies() {
        for [k, n] in [[1, 1], [31, 17], [32, 16], [33, 15], [64, 48], [97, 50]] {
            let w: Vec<f32> = (0..k * n).map(|i| ((i * 31) % 47) as f32 / 9.0 - 2.5).collect();
            let turned: Vec<f32> = (0..n * k).map(|i| w[i % k * n + i / k]).collect();
            for kind in SmallKind::ALL {
                let small = SmallMatrix::new(kind, &w, [k, n], Stored::ByInput).unwrap();
                let other = SmallMatrix::new(kind, &turned, [k, n], Stored::ByOutput).unwrap();
                assert!(small.is_finite() && small.shape() == [k, n]);
                for output in 0..n {
                    for first in (0..k).step_by(WIDTH) {
                        let inputs = first..k.min(first + WIDTH);
                        let mut block = [0.0; WIDTH];
                        inputs.clone().zip(&mut block).for_each(|(i, x)| *x = w[i * n + output]);
                        let Rounded { scale, steps } = kind.round(&block);
                        for (input, step) in inputs.zip(steps) {
                            assert_eq!(small.number(input, output), kind.number(scale, step));
                        }
                    }
                }
                let (mut a, mut b) = (vec![f32::NAN; k * n], vec![f32::NAN; k * n]);
                small.write_to(&mut a, Stored::ByInput);
                other.write_to(&mut b, Stored::ByOutput);
                assert!((0..k * n).all(|i| a[i] == small.number(i / n, i % n)));
                assert!((0..k * n).all(|i| b[i] == small.number(i % k, i / k)));
                let words = size_of_val(&*small.words) + size_of_val(&*small.scales);
                assert_eq!(words as u64, SmallMatrix::bytes(kind, [k, n]));
            }
        }
    }
}
