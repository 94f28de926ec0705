//! Writes a small model with random weights that is like a Llama or a Qwen3 as GGUF; then its logits
//! at every position, and the tokens that follow greedily, as JSON: for comparing with other programs
//! (`tests/gguf/llama_cpp.py`).
//!
//! `cargo run --example gguf_rotary -- llama|grouped|wide|biased|qwen3 f32|bf16|q8_0 FILE 1,2,3 [NUMBER OF GREEDY TOKENS]`

use llm_core::generate::{Sampling, generate};
use llm_core::model::{Init, Mlp, Norm, Positions};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, Tensor, TinyGPT, TokenId, no_grad};
use llm_formats::gguf::{Stored, export, import};
use llm_variant_modern::Modern;
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, stored, path, ids, rest @ ..] = &words[..] else {
        return Err("KIND TYPE FILE IDS [N]".into());
    };
    let ids = ids.split(',').map(str::parse).collect::<Result<Vec<TokenId>, _>>()?;
    let n = rest.first().map_or(Ok(20), |n| n.parse())?;

    let grouped = || Modern::grouped(4, 2).with_rotary(10_000.0).without_biases();
    let (attention, tied_head) = match kind.as_str() {
        "llama" => (Modern::new(4).with_rotary(500_000.0).without_biases(), true),
        "grouped" => (grouped(), false),
        "wide" => (grouped().with_head_dim(32), true),
        "biased" => (Modern::multi_query(4).with_rotary(10_000.0), true),
        "qwen3" => (grouped().with_head_dim(32).with_qk_norm(), true),
        _ => return Err("no such kind".into()),
    };
    let stored = match stored.as_str() {
        "f32" => Stored::F32,
        "bf16" => Stored::BF16,
        "q8_0" => Stored::Q8_0,
        _ => return Err("no such type".into()),
    };
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    let (mlp_bias, init) = (kind == "biased", Init::FanIn);
    let config =
        Config { norm, mlp, mlp_bias, positions, init, tied_head, ..Config::gpt2(256, 64, 64, 3) };
    let model = varied(TinyGPT::with_attention(config, Arc::new(attention), 7)?)?;
    export(path.as_ref(), &model, &ByteTokenizer, stored, kind)?;

    // What is judged is what was read again.
    let imported = import(path.as_ref(), &|spec| Ok(Arc::new(Modern::from_spec(spec)?)))?;
    let (model, _) = imported.into_model()?;
    let logits = no_grad(|| model.logits(&ids, [1, ids.len()]))?;
    let rows: Vec<&[f32]> = logits.data().chunks(model.config().vocab_size).collect();
    let greedy = generate(&model, &ids, n, Sampling::greedy())?;
    let result = serde_json::json!({ "logits": rows, "greedy": greedy });
    writeln!(std::io::stdout().lock(), "{result}")?;
    Ok(())
}

/// The model with gains and biases that are not all 1 and 0, which would hide an error.
fn varied(model: TinyGPT) -> Result<TinyGPT, Box<dyn Error>> {
    let mut parameters = Vec::new();
    for (name, p) in model.parameters() {
        let vector = p.shape().len() == 1;
        let vary = |(i, x): (usize, &f32)| if vector { x + (i as f32).sin() / 4.0 } else { *x };
        let values = p.data().iter().enumerate().map(vary).collect();
        parameters.push((name, Tensor::parameter_from_vec(p.shape(), values)?));
    }
    let attention = Modern::from_spec(&model.attention().spec())?;
    Ok(TinyGPT::from_parameters(model.config().clone(), Arc::new(attention), parameters)?)
}
