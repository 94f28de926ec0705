//! The door of the fuzz target `safetensors_in`: weights from memory, under our names and under
//! Hugging Face's. Compiled for it and for tests.

use super::{Imported, Problem, hf, own};
use crate::program::Program;

/// Reads `weights` with a config.json under Hugging Face's names; with one byte, the number of
/// heads, or nothing in its place, under ours. What is accepted must make a model.
///
/// # Panics
/// When a refusal is not one clean line, or what was accepted cannot be used.
pub fn read(program: &Program, config: &[u8], weights: &[u8]) {
    let imported = match config {
        [] => own::import(program, weights, weights.len() as u64, None),
        [heads] => own::import(program, weights, weights.len() as u64, Some((*heads).into())),
        _ => hf::from_parts(program, config, weights),
    };
    match imported.and_then(Imported::into_trainer) {
        Ok((trainer, tokenizer)) => {
            let again = crate::tokenizers::from_spec(&tokenizer).expect("its own tokenizer");
            assert!(again.vocab_size() <= trainer.model.config().vocab_size);
            assert!(
                trainer.model.parameters().all(|(_, p)| p.data().iter().all(|x| x.is_finite()))
            );
        }
        Err(Problem::Core(llm_core::Error::Memory { .. })) => {}
        Err(e @ (Problem::Content(_) | Problem::Core(_))) => {
            let line = e.at("memory".as_ref()).line();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        Err(Problem::Io(e)) => panic!("memory can be read: {e}"),
    }
}

/// Files to begin with: each a config.json and weights.
pub fn seeds() -> Vec<(Vec<u8>, Vec<u8>)> {
    use llm_core::tokenizer::{CharTokenizer, IdsTokenizer, Tokenizer};
    use llm_core::{Config, TinyGPT};
    let folder = std::env::temp_dir().join(format!("llm-fuzz-hf-{}", std::process::id()));
    let chars = CharTokenizer::from_text(b"ab").expect("characters");
    let ids = IdsTokenizer::new(2).expect("numbers");
    let mut seeds = Vec::new();
    for config in
        [Config::gpt2(2, 1, 1, 1), Config { tied_head: false, ..Config::gpt2(2, 1, 1, 1) }]
    {
        for tokenizer in [&chars as &dyn Tokenizer, &ids] {
            let model = TinyGPT::new(config.clone(), 1).expect("a model");
            std::fs::create_dir_all(&folder).expect("a folder for the seeds");
            hf::export(&folder, &model, tokenizer).expect("a folder of a model");
            let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
            seeds.push((read(hf::CONFIG), read(hf::WEIGHTS)));
            let few = serde_json::json!({"vocab_size": 2, "n_positions": 1, "n_embd": 1, "n_layer": 1,
                "n_head": 1, "tie_word_embeddings": config.tied_head});
            seeds.push((few.to_string().into_bytes(), read(hf::WEIGHTS)));
            own::export(&folder.join("own"), &model, tokenizer).expect("a file of a model");
            seeds.push((Vec::new(), read("own")));
            seeds.push((vec![1], read("own")));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    seeds
}

#[test]
fn the_door_takes_its_seeds_and_nonsense() {
    for (config, weights) in seeds() {
        read(&crate::program::BASELINE, &config, &weights);
        read(&crate::program::BASELINE, &weights, &config);
        read(&crate::program::BASELINE, b"", b"");
    }
}
