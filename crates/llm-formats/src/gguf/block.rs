//! How a tensor's numbers are stored: in blocks of some numbers and some bytes.
//!
//! Reference: `ggml-common.h` and `ggml.c` of ggml, where the layouts are defined.

use llm_core::base::Message;
use llm_core::message;
/// A type that is read. Every one but the first three holds numbers rounded within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockType {
    /// 32 bits a number, as here.
    F32,
    /// 16 bits: half precision.
    F16,
    /// 16 bits: the upper half of an f32.
    BF16,
    /// A scale, then 8 bits a number.
    Q8_0,
    /// A scale, then 4 bits a number.
    Q4_0,
    /// A scale and a least value, then 4 bits a number.
    Q4_1,
    /// A scale, then 5 bits a number.
    Q5_0,
    /// A scale and a least value, then 5 bits a number.
    Q5_1,
    /// Eight parts with a scale and a least value of 6 bits each, 4 bits a number.
    Q4K,
    /// The same with 5 bits a number.
    Q5K,
    /// Sixteen parts with a scale of 8 bits each, 6 bits a number.
    Q6K,
}

/// What is true of a type.
struct Facts {
    kind: BlockType,
    /// Its number in files.
    id: u32,
    name: &'static str,
    /// Numbers of a block.
    numbers: usize,
    /// Bytes of a block.
    bytes: usize,
}

/// In the order of [`BlockType`].
const ALL: [Facts; 11] = [
    facts(BlockType::F32, 0, "F32", 1, 4),
    facts(BlockType::F16, 1, "F16", 1, 2),
    facts(BlockType::BF16, 30, "BF16", 1, 2),
    facts(BlockType::Q8_0, 8, "Q8_0", 32, 2 + 32),
    facts(BlockType::Q4_0, 2, "Q4_0", 32, 2 + 16),
    facts(BlockType::Q4_1, 3, "Q4_1", 32, 2 + 2 + 16),
    facts(BlockType::Q5_0, 6, "Q5_0", 32, 2 + 4 + 16),
    facts(BlockType::Q5_1, 7, "Q5_1", 32, 2 + 2 + 4 + 16),
    facts(BlockType::Q4K, 12, "Q4_K", 256, 2 + 2 + 12 + 128),
    facts(BlockType::Q5K, 13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128),
    facts(BlockType::Q6K, 14, "Q6_K", 256, 128 + 64 + 16 + 2),
];

const fn facts(
    kind: BlockType,
    id: u32,
    name: &'static str,
    numbers: usize,
    bytes: usize,
) -> Facts {
    Facts { kind, id, name, numbers, bytes }
}

/// Names of the types that are not read, by their numbers, for messages.
const OTHERS: [(u32, &str); 20] = [
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (39, "MXFP4"),
];

impl BlockType {
    /// All that are read.
    pub fn all() -> impl Iterator<Item = BlockType> {
        ALL.iter().map(|facts| facts.kind)
    }

    fn facts(self) -> &'static Facts {
        &ALL[self as usize]
    }

    /// Its number in files.
    pub fn id(self) -> u32 {
        self.facts().id
    }

    /// Its name in llama.cpp.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Numbers of a block; a row of a tensor is whole blocks.
    pub fn numbers(self) -> usize {
        self.facts().numbers
    }

    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        self.facts().bytes
    }

    /// The type of that number.
    ///
    /// # Errors
    /// What it is called, when it is not read.
    pub fn from_id(id: u32) -> Result<BlockType, Message> {
        let known = ALL.iter().find(|facts| facts.id == id).map(|facts| facts.kind);
        known.ok_or_else(|| {
            let name = OTHERS.iter().find(|(other, _)| *other == id).map(|(_, name)| *name);
            name.map_or_else(|| message!("of type number {}", id), |name| name.to_string().into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_types() {
        for (i, facts) in ALL.iter().enumerate() {
            assert_eq!((facts.kind as usize, facts.kind.name()), (i, facts.name));
            assert_eq!(BlockType::from_id(facts.id), Ok(facts.kind));
            assert!(OTHERS.iter().all(|(id, name)| *id != facts.id && *name != facts.name));
        }
        let named = |id| BlockType::from_id(id).unwrap_err().to_string();
        assert_eq!((named(10), named(4)), ("Q2_K".into(), "of type number 4".into()));
    }
}
