//! BPE as the Python packages tokenizers and tiktoken do it: `fixtures/bpe.json`, made by
//! `fixtures/bpe.py`.

use llm_core::tokenizer::Tokenizer;
use llm_formats::bpe;
use serde_json::Value;
use std::sync::Arc;

fn fixture() -> (Value, Arc<dyn Tokenizer>) {
    let path = workspace_tests::workspace().join("tests/fixtures/bpe.json");
    let whole: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let file = serde_json::to_vec(&whole["tokenizer"]).unwrap();
    (whole, bpe::from_tokenizer_json(&file).unwrap())
}

#[test]
fn awkward_text_is_cut_as_they_do() {
    let (whole, tokenizer) = fixture();
    let cases = whole["cases"].as_array().unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let ids: Vec<u64> =
            case["ids"].as_array().unwrap().iter().flat_map(Value::as_u64).collect();
        let tokens = tokenizer.encode(text.as_bytes()).unwrap();
        assert!(tokens.iter().map(|&t| u64::from(t)).eq(ids), "{text:?}: {tokens:?}");
        assert_eq!(tokenizer.decode(&tokens).unwrap(), text.as_bytes());
    }
}

#[test]
fn the_same_vocabulary_is_learned() {
    let (whole, tokenizer) = fixture();
    let size = whole["vocab_size"].as_u64().unwrap() as usize;
    let learned = bpe::learn(whole["text"].as_str().unwrap().as_bytes(), size, &|_| {}).unwrap();
    assert_eq!(learned.vocab_size(), size);
    assert_eq!(learned.blob(), tokenizer.blob());
}
