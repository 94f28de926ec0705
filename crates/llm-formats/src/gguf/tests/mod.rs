//! Files that are GGUF, and files that are not what they should be.

mod adapters;
mod by_hand;
mod lies;
mod models;
mod tokens;

use super::{Architecture, Stored, export, is_ours, read};
use crate::error::Result;
use llm_core::model::{Mlp, Norm, Positions};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Attention, AttentionSpec, Config, TinyGPT};
use llm_variant_modern::Modern;
use std::sync::Arc;

fn modern(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(Modern::from_spec(spec)?))
}

/// A model whose weights are all different, those that start as 0 or 1 too.
fn model(config: Config, attention: Modern) -> TinyGPT {
    let model = TinyGPT::with_attention(config.clone(), Arc::new(attention), 1).unwrap();
    let (spec, mut n) = (model.attention().spec(), 0.0);
    let parameters = model.parameters().map(|(name, p)| {
        let values = p.data().iter().map(|x| {
            n += 1.0;
            x + n / 1024.0
        });
        (name, crate::imported::parameter(p.shape(), values.collect()).unwrap())
    });
    let parameters = parameters.collect();
    TinyGPT::from_parameters(config, modern(&spec).unwrap(), parameters).unwrap()
}

fn llama(tied_head: bool) -> Config {
    let config = Config::gpt2(256, 8, 24, 2);
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    Config { tied_head, norm, mlp, mlp_bias: false, positions, ..config }
}

/// Every kind of model that is written: with the attention that is a Llama's or a Qwen's.
fn kinds() -> Vec<(Architecture, TinyGPT)> {
    let rotary = || Modern::grouped(4, 2).with_rotary(500.0);
    let own = |config| Config { tied_head: false, n_inner: 40, ..config };
    let biased = Config { mlp_bias: true, ..llama(true) };
    vec![
        (Architecture::Gpt2, model(Config::gpt2(256, 8, 24, 2), Modern::new(3))),
        (Architecture::Gpt2, model(own(Config::gpt2(256, 8, 24, 1)), Modern::new(1))),
        (Architecture::Llama, model(llama(true), rotary().without_biases())),
        (Architecture::Llama, model(own(llama(true)), rotary().without_biases().with_head_dim(10))),
        (Architecture::Llama, model(biased, Modern::new(2).with_rotary(10_000.0))),
        (Architecture::Qwen3, model(llama(false), rotary().without_biases().with_qk_norm())),
    ]
}

fn written(model: &TinyGPT, tokenizer: &dyn Tokenizer, stored: Stored) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    export(&path, model, tokenizer, stored, "m").unwrap();
    assert!(is_ours(&path));
    std::fs::read(path).unwrap()
}

fn of_bytes(bytes: &[u8]) -> Result<crate::Imported> {
    read(bytes, bytes.len() as u64, &modern)
}
