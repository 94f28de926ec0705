//! Tokenizers of bytes and of characters as a tokenizer.json, and known again in one.

use crate::alphabet;
use crate::bpe::byte_level;
use crate::tokenizers;
use llm_core::TokenId;
use llm_core::tokenizer::{ByteTokenizer, END_OF_TEXT, Tokenizer, WithEndOfText};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Most bytes of a tokenizer.json that may be one of ours: char with every character there is.
const MAX_OURS: usize = 4 << 20;

fn file(vocab: Map<String, Value>, pre_tokenizer: Value, decoder: Value) -> Value {
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": null,
        "decoder": decoder,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null,
            "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab,
            "merges": [],
        },
    })
}

/// The entry of the token that ends a text.
pub(super) fn added(end: TokenId) -> Value {
    json!({"id": end, "content": END_OF_TEXT, "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true})
}

/// A tokenizer.json in which every byte is a token, under the character that GPT-2 has for it.
pub(super) fn byte_file() -> Value {
    let vocab = (0..=255).map(|b| (alphabet::symbol(b).to_string(), json!(b))).collect();
    file(vocab, byte_level(false, false), byte_level(true, false))
}

/// A tokenizer.json in which every character is a token.
pub(super) fn char_file(tokenizer: &dyn Tokenizer) -> Value {
    let name = |unit: &[u8]| match std::str::from_utf8(unit) {
        Ok(text) => text.to_string(),
        Err(_) => unit.iter().map(|b| format!("<0x{b:02X}>")).collect(),
    };
    // The tokens proper: a padded vocabulary ends with numbers that stand for nothing.
    let units = (0..tokenizer.vocab_size() as TokenId).map(|id| (id, tokenizer.bytes_of(id)));
    // The token that ends a text is not one of the model's.
    let units =
        units.take_while(|(id, unit)| !unit.is_empty() && Some(*id) != tokenizer.end_of_text());
    let vocab = units.map(|(id, unit)| (name(unit), json!(id))).collect();
    let decoders = json!([{"type": "ByteFallback"}, {"type": "Fuse"}]);
    file(vocab, Value::Null, json!({"type": "Sequence", "decoders": decoders}))
}

/// The tokenizer of a tokenizer.json that was written as byte or char.
pub(super) fn known(text: &[u8]) -> Option<Arc<dyn Tokenizer>> {
    if text.len() > MAX_OURS {
        return None;
    }
    let file: Value = serde_json::from_slice(text).ok()?;
    if same(&file, &byte_file()) {
        return with_added(&file, Arc::new(ByteTokenizer));
    }
    let mut units: Vec<(u64, Vec<u8>)> = Vec::new();
    for (name, id) in file["model"]["vocab"].as_object()? {
        units.push((id.as_u64()?, unit(name)?));
    }
    units.sort();
    let chars = tokenizers::characters(units.into_iter().map(|(_, unit)| unit))?;
    if !same(&file, &char_file(&chars)) {
        return None;
    }
    with_added(&file, Arc::new(chars))
}

/// The tokenizer with what the file adds to it, which is nothing or the token that ends a text.
fn with_added(file: &Value, tokenizer: Arc<dyn Tokenizer>) -> Option<Arc<dyn Tokenizer>> {
    match file["added_tokens"].as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => Some(tokenizer),
        [only] => {
            let ended = WithEndOfText::extend(tokenizer).ok()?;
            (*only == added(ended.end_of_text()?)).then_some(ended)
        }
        _ => None,
    }
}

/// The bytes of one character, or a byte that is not part of one.
fn unit(name: &str) -> Option<Vec<u8>> {
    let mut chars = name.chars();
    if let (Some(_), None) = (chars.next(), chars.next()) {
        return Some(name.as_bytes().to_vec());
    }
    let byte = name.strip_prefix("<0x")?.strip_suffix('>').filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(byte, 16).ok().map(|byte| vec![byte])
}

/// Whether both files make the same tokens of the same text, but for added tokens.
fn same(file: &Value, ours: &Value) -> bool {
    let equal = |path: &str| file.pointer(path) == ours.pointer(path);
    let empty = |path: &str| file.pointer(path).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let matter = ["/model/type", "/model/vocab", "/pre_tokenizer", "/normalizer"];
    matter.iter().all(|path| equal(path)) && empty("/model/merges")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_not_taken_for_ours() {
        let file = |change: fn(&mut Value)| {
            let mut changed = byte_file();
            change(&mut changed);
            known(changed.to_string().as_bytes()).is_none()
        };
        assert!(file(|f| f["model"]["vocab"]["a"] = json!(98)));
        assert!(file(|f| f["model"]["merges"] = json!(["a b"])));
        assert!(file(|f| f["normalizer"] = json!({"type": "Lowercase"})));
        assert!(file(|f| f["pre_tokenizer"]["add_prefix_space"] = json!(true)));
        assert!(file(|f| f["added_tokens"] = json!([{"id": 256, "content": "x"}])));
        assert!(!file(|f| f["padding"] = json!("whatever")));
        for text in
            ["", "{}", "[]", "{\"model\":{\"vocab\":{}}}", "{\"model\":{\"vocab\":{\"ab\":0}}}"]
        {
            assert!(known(text.as_bytes()).is_none(), "{text}");
        }
    }
}
