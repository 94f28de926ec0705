//! How text is cut before anything is merged: the names that llama.cpp has for it.

use serde_json::{Value, json};

/// How text is cut where it does not matter, since nothing is merged across characters. By this name
/// llama.cpp leaves spaces in front of full stops alone when it makes text of tokens; by GPT-2's it
/// would take them away.
pub(super) const UNITS: &str = "smollm";

/// GPT-2's alphabet, with its way to cut text or without.
pub(super) fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
        "use_regex": use_regex})
}

/// The names of ways to cut text, as tokenizer.json says them.
pub(super) fn ways() -> [(&'static str, Value); 4] {
    let split = |digits: &str| {
        let pattern = format!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        );
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                "invert": false},
            byte_level(false),
        ]})
    };
    let digits = json!({"type": "Digits", "individual_digits": true});
    [
        ("gpt-2", byte_level(true)),
        ("smollm", json!({"type": "Sequence", "pretokenizers": [digits, byte_level(true)]})),
        ("llama-bpe", split(r"\p{N}{1,3}")),
        ("qwen2", split(r"\p{N}")),
    ]
}

/// Words that are tokens are taken whole, whatever the merges say: llama.cpp does so by this name.
pub(super) fn ignores_merges(pre: &str) -> bool {
    pre == "llama-bpe"
}

/// A way to cut text without what only matters to other programs.
pub(super) fn without_offsets(way: &Value) -> Value {
    match way {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "trim_offsets");
            Value::Object(kept.map(|(key, v)| (key.clone(), without_offsets(v))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_offsets).collect()),
        other => other.clone(),
    }
}
