//! A folder of Hugging Face's through this project, for comparing with other programs
//! (`tests/hf/llama.py`): imported, then written again as a folder, or as a checkpoint where the name
//! ends in `.ckpt`. Standard input is a JSON object: `ids`, for which logits are printed, and `n`
//! tokens that follow greedily; `texts`, of which the tokens are printed.
//!
//! `cargo run --release -p llm-formats --example hf_folder -- FOLDER TARGET`

use llm_core::generate::{Sampling, generate};
use llm_core::{TokenId, checkpoint, no_grad};
use llm_formats::hugging_face;
use llm_variant_modern::Modern;
use serde_json::{Value, json};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, target] = &words[..] else { return Err("FOLDER TARGET".into()) };
    let asked: Value = serde_json::from_reader(std::io::stdin().lock())?;
    let from_spec = |spec: &_| Ok(Arc::new(Modern::from_spec(spec)?) as Arc<_>);
    let imported = hugging_face::import(folder.as_ref(), &from_spec)?;
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    let tokenizer = imported.tokenizer.clone();
    let (trainer, spec) = imported.into_trainer()?;
    let model = &trainer.model;
    match target.ends_with(".ckpt") {
        true => checkpoint::save(target.as_ref(), &trainer, &spec, true)?,
        false => {
            hugging_face::prepare_folder(target.as_ref())?;
            hugging_face::export(target.as_ref(), model, tokenizer.as_ref())?;
        }
    }
    let mut result = json!({ "notes": notes, "end_of_text": tokenizer.end_of_text() });
    if let Some(ids) = asked["ids"].as_array() {
        let ids: Vec<TokenId> = ids.iter().filter_map(Value::as_u64).map(|id| id as u32).collect();
        let logits = no_grad(|| model.logits(&ids, [1, ids.len()]))?;
        let rows: Vec<&[f32]> = logits.data().chunks(model.config().vocab_size).collect();
        result["logits"] = json!(rows);
        let n = asked["n"].as_u64().unwrap_or(0) as usize;
        result["greedy"] = json!(generate(model, &ids, n, Sampling::greedy())?);
    }
    let texts = asked["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tokens =
        texts.iter().filter_map(Value::as_str).map(|text| tokenizer.encode(text.as_bytes()));
    result["tokens"] = json!(tokens.collect::<Result<Vec<_>, _>>()?);
    writeln!(std::io::stdout().lock(), "{result}")?;
    Ok(())
}
