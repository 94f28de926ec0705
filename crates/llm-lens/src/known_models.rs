//! The attention of well-known models.

use serde::Serialize;

/// Published sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KnownModel {
    /// The model's name.
    pub name: &'static str,
    /// C.
    pub d_model: usize,
    /// H.
    pub n_heads: usize,
    /// D, the width of a head; in other books d_key.
    pub d_key: usize,
}

impl KnownModel {
    const fn new(name: &'static str, d_model: usize, n_heads: usize, d_key: usize) -> KnownModel {
        KnownModel { name, d_model, n_heads, d_key }
    }

    /// Weights of one block's four projections: 4·C².
    pub fn attention_weights(&self) -> u64 {
        4 * (self.d_model as u64).pow(2)
    }

    /// Biases of one block's attention, where it has any: 4·C.
    pub fn attention_biases(&self) -> u64 {
        4 * self.d_model as u64
    }
}

/// From the papers: Radford et al. 2019 (GPT-2), Brown et al. 2020 (GPT-3), Touvron et al. 2023
/// (LLaMA).
pub const KNOWN_MODELS: [KnownModel; 5] = [
    KnownModel::new("GPT-2 Small", 768, 12, 64),
    KnownModel::new("GPT-2 Medium", 1024, 16, 64),
    KnownModel::new("GPT-2 Large", 1280, 20, 64),
    KnownModel::new("GPT-3", 12_288, 96, 128),
    KnownModel::new("LLaMA-7B", 4096, 32, 128),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_its_share_of_the_width() {
        for model in KNOWN_MODELS {
            assert_eq!(model.d_key * model.n_heads, model.d_model, "{}", model.name);
            assert!([64, 128].contains(&model.d_key), "{}", model.name);
        }
    }

    #[test]
    fn the_projections_of_each() {
        let weights = KNOWN_MODELS.map(|m| m.attention_weights());
        assert_eq!(weights, [2_359_296, 4_194_304, 6_553_600, 603_979_776, 67_108_864]);
        let small = KNOWN_MODELS[0];
        assert_eq!(small.attention_weights() + small.attention_biases(), 2_362_368);
    }
}
