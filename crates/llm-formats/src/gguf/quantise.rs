//! Numbers as blocks of bytes, for writing.

use super::block::BlockType;
use half::{bf16, f16};

/// The type of a model's matrices in a file. Vectors stay F32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stored {
    /// 32 bits a number: not rounded.
    #[default]
    F32,
    /// Each number rounded to the nearest with 8 significant bits, half the bytes: off by a 256th of
    /// itself at most.
    BF16,
    /// 32 numbers share a scale: 34 bytes in place of 128.
    Q8_0,
}

impl Stored {
    /// The type of blocks.
    pub fn kind(self) -> BlockType {
        match self {
            Stored::F32 => BlockType::F32,
            Stored::BF16 => BlockType::BF16,
            Stored::Q8_0 => BlockType::Q8_0,
        }
    }

    /// llama.cpp's number for a file that is mostly of this type.
    pub(super) fn file_type(self) -> u32 {
        match self {
            Stored::F32 => 0,
            Stored::BF16 => 32,
            Stored::Q8_0 => 7,
        }
    }
}

/// Appends the blocks of these numbers, whole ones.
///
/// # Errors
/// The first number that the type cannot hold, however it is rounded.
pub fn quantise(stored: Stored, numbers: &[f32], out: &mut Vec<u8>) -> Result<(), f32> {
    match stored {
        Stored::F32 => numbers.iter().for_each(|x| out.extend(x.to_le_bytes())),
        Stored::BF16 => {
            for x in numbers {
                let rounded = bf16::from_f32(*x);
                finite(rounded.is_finite(), *x)?;
                out.extend(rounded.to_le_bytes());
            }
        }
        Stored::Q8_0 => {
            for block in numbers.chunks_exact(BlockType::Q8_0.numbers()) {
                q8_0(block, out)?;
            }
        }
    }
    Ok(())
}

/// d = max|x| / 127 as f16, then round(x/d) as i8, halves away from 0: off by d/2 at most, and by
/// what rounding d does.
///
/// Reference: `quantize_row_q8_0_ref` in `ggml-quants.c` of ggml.
fn q8_0(block: &[f32], out: &mut Vec<u8>) -> Result<(), f32> {
    // The greatest size would pass over what is no number.
    block.iter().try_for_each(|x| finite(x.is_finite(), *x))?;
    let most = block.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let d = most / 127.0;
    let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
    let scale = f16::from_f32(d);
    // A scale so small that it has no inverse is as good as none.
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    finite(scale.is_finite(), most)?;
    out.extend(scale.to_le_bytes());
    out.extend(block.iter().map(|x| ((x * inverse).round() as i8).cast_unsigned()));
    Ok(())
}

fn finite(fits: bool, x: f32) -> Result<(), f32> {
    if fits { Ok(()) } else { Err(x) }
}

#[cfg(test)]
mod tests {
    use super::super::dequantise::dequantise;
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(stored: Stored, numbers: &[f32]) -> Vec<f32> {
        let (mut bytes, mut again) = (Vec::new(), vec![f32::NAN; numbers.len()]);
        quantise(stored, numbers, &mut bytes).unwrap();
        let kind = stored.kind();
        assert_eq!(bytes.len(), numbers.len() / kind.numbers() * kind.bytes());
        dequantise(kind, &bytes, &mut again);
        again
    }

    #[test]
    fn a_block_by_hand() {
        // The largest is 127 times the scale 0.5.
        let mut block = [0.0f32; 32];
        block[..5].copy_from_slice(&[63.5, -63.5, 0.25, -0.25, 0.2]);
        let again = there_and_back(Stored::Q8_0, &block);
        assert_eq!(again[..6], [63.5, -63.5, 0.5, -0.5, 0.0, 0.0]);
        assert_eq!(there_and_back(Stored::Q8_0, &[0.0; 32]), [0.0; 32]);
        assert_eq!(there_and_back(Stored::Q8_0, &[1e-45; 32]), [0.0; 32]);
        assert_eq!(there_and_back(Stored::BF16, &[1.0 + 1.0 / 256.0]), [1.0]); // halves to even
    }

    #[test]
    fn what_is_too_large_is_said() {
        for (stored, x) in [(Stored::Q8_0, -1e7), (Stored::BF16, f32::MAX)] {
            assert_eq!(
                quantise(stored, &[x; 32], &mut Vec::new()),
                Err(x.abs().copysign(if stored == Stored::Q8_0 { 1.0 } else { x }))
            );
        }
    }

    #[test]
    fn what_is_no_number_is_said() {
        let mut block = [1.0; 32];
        block[9] = f32::NAN;
        for stored in [Stored::Q8_0, Stored::BF16] {
            assert!(quantise(stored, &block, &mut Vec::new()).unwrap_err().is_nan());
        }
    }

    proptest! {
        #[test]
        fn rounding_costs_no_more_than_it_says(
            block in proptest::collection::vec(-3.0f32..3.0, 32), scale in -6i32..6,
        ) {
            let block: Vec<f32> = block.iter().map(|x| x * 10f32.powi(scale)).collect();
            let most = block.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            for (x, y) in block.iter().zip(there_and_back(Stored::Q8_0, &block)) {
                // Half a scale; 127 times what the scale as f16 is off: a 2048th, or 2^-25 near 0.
                let off = most / 254.0 * 1.001 + (most / 2048.0).max(127.0 * 2f32.powi(-25));
                prop_assert!((x - y).abs() <= off, "{} as {}, most {}", x, y, most);
            }
            for (x, y) in block.iter().zip(there_and_back(Stored::BF16, &block)) {
                prop_assert!((x - y).abs() <= x.abs() / 256.0);
            }
            prop_assert_eq!(there_and_back(Stored::F32, &block), block);
        }
    }
}
