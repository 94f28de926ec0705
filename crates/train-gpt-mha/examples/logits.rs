//! Logits of a checkpoint at every position, and the tokens that follow greedily, as JSON: for
//! comparing with other programs (`tests/hf/roundtrip.py`).
//!
//! `cargo run --example logits -- CHECKPOINT 1,2,3 [NUMBER OF GREEDY TOKENS]`

use llm_core::checkpoint::Checkpoint;
use llm_core::generate::{Sampling, generate};
use llm_core::{TokenId, no_grad};
use llm_variant_mha::MultiHead;
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, ids, rest @ ..] = &words[..] else { return Err("CHECKPOINT IDS [N]".into()) };
    let ids = ids.split(',').map(str::parse).collect::<Result<Vec<TokenId>, _>>()?;
    let n = rest.first().map_or(Ok(20), |n| n.parse())?;

    let checkpoint = Checkpoint::load(path.as_ref())?;
    let attention = MultiHead::from_spec(&checkpoint.meta.attention)?;
    let model = checkpoint.into_trainer(Arc::new(attention))?.model;
    let logits = no_grad(|| model.logits(&ids, [1, ids.len()]))?;
    let rows: Vec<&[f32]> = logits.data().chunks(model.config().vocab_size).collect();
    let greedy = generate(&model, &ids, n, Sampling::greedy())?;
    let result = serde_json::json!({ "logits": rows, "greedy": greedy });
    writeln!(std::io::stdout().lock(), "{result}")?;
    Ok(())
}
