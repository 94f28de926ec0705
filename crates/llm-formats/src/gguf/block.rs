//! How a tensor's numbers are stored: in blocks of some numbers and some bytes.
//!
//! Reference: `ggml-common.h` and `ggml.c` of ggml, where the layouts are defined.

use llm_core::base::Message;
use llm_core::message;

/// A type that is read, by its number in files. Every one but the first three holds numbers rounded
/// within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockType {
    /// 32 bits a number, as here.
    F32 = 0,
    /// 16 bits: half precision.
    F16 = 1,
    /// 16 bits: the upper half of an f32.
    BF16 = 30,
    /// A scale, then 8 bits a number.
    Q8_0 = 8,
    /// A scale, then 4 bits a number.
    Q4_0 = 2,
    /// A scale and a least value, then 4 bits a number.
    Q4_1 = 3,
    /// A scale, then 5 bits a number.
    Q5_0 = 6,
    /// A scale and a least value, then 5 bits a number.
    Q5_1 = 7,
    /// Eight parts with a scale and a least value of 6 bits each, 4 bits a number.
    Q4K = 12,
    /// As [`BlockType::Q4K`] with 5 bits a number.
    Q5K = 13,
    /// Sixteen parts with a scale of 8 bits each, 6 bits a number.
    Q6K = 14,
}

/// The names of all types by their numbers in files, also of those that are not read; no name where a
/// number is not in use.
#[rustfmt::skip]
const NAMES: [&str; 40] = [
    "F32", "F16", "Q4_0", "Q4_1", "", "", "Q5_0", "Q5_1", "Q8_0", "Q8_1",
    "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16", "I32", "I64", "F64", "IQ1_M",
    "BF16", "", "", "", "TQ1_0", "TQ2_0", "", "", "", "MXFP4",
];

impl BlockType {
    /// All that are read.
    #[rustfmt::skip]
    pub const ALL: [BlockType; 11] = {
        use BlockType::{BF16, F16, F32, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
        [F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4K, Q5K, Q6K]
    };

    /// The number in files.
    pub fn id(self) -> u32 {
        self as u32
    }

    /// The name in llama.cpp.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Numbers and bytes of a block.
    fn sizes(self) -> (usize, usize) {
        match self {
            BlockType::F32 => (1, 4),
            BlockType::F16 | BlockType::BF16 => (1, 2),
            BlockType::Q8_0 => (32, 2 + 32),
            BlockType::Q4_0 => (32, 2 + 16),
            BlockType::Q4_1 => (32, 2 + 2 + 16),
            BlockType::Q5_0 => (32, 2 + 4 + 16),
            BlockType::Q5_1 => (32, 2 + 2 + 4 + 16),
            BlockType::Q4K => (256, 2 + 2 + 12 + 128),
            BlockType::Q5K => (256, 2 + 2 + 12 + 32 + 128),
            BlockType::Q6K => (256, 128 + 64 + 16 + 2),
        }
    }

    /// Numbers of a block; a row of a tensor is whole blocks.
    pub fn numbers(self) -> usize {
        self.sizes().0
    }

    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        self.sizes().1
    }

    /// The type of that number.
    ///
    /// # Errors
    /// The name of one that is not read.
    pub fn from_id(id: u32) -> Result<BlockType, Message> {
        let known = BlockType::ALL.into_iter().find(|kind| kind.id() == id);
        known.ok_or_else(|| match NAMES.get(id as usize) {
            None | Some(&"") => message!("of type number {}", id),
            Some(name) => name.to_string().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_numbers() {
        for kind in BlockType::ALL {
            assert_eq!(BlockType::from_id(kind.id()), Ok(kind));
            let plain = format!("{kind:?}").replace('_', "");
            assert_eq!(kind.name().replace('_', ""), plain);
        }
        let named = |id| BlockType::from_id(id).unwrap_err().to_string();
        assert_eq!((named(10), named(4)), ("Q2_K".into(), "of type number 4".into()));
        assert_eq!((named(39), named(40)), ("MXFP4".into(), "of type number 40".into()));
    }
}
