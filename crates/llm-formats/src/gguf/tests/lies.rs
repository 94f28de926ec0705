//! Metadata that does not fit the tensors, or that we do not know.

use super::by_hand::Draft;
use super::{kinds, of_bytes, written};
use crate::gguf::Architecture::{self, Gpt2, Llama};
use crate::gguf::value::MetaValue;
use crate::gguf::{Gguf, Stored};
use llm_core::tokenizer::ByteTokenizer;

/// An exported file with one entry of its metadata changed.
fn lies(family: Architecture, key: &str, value: Option<MetaValue>) -> String {
    let kinds = kinds();
    let (_, model) = kinds.iter().find(|(of, _)| *of == family).unwrap();
    let file = written(model, &ByteTokenizer, Stored::F32);
    let parsed = Gguf::open(&file[..], file.len() as u64).unwrap();
    let mut entries = parsed.metadata.clone();
    match value {
        Some(value) => drop(entries.insert(key.into(), value)),
        None => drop(entries.remove(key)),
    }
    let mut offset = 0;
    let tensors = parsed.tensors.iter().map(|tensor| {
        let axes = tensor.shape.iter().rev().map(|n| *n as u64).collect();
        let at = offset;
        let length = 4 * tensor.shape.iter().product::<usize>() as u64;
        offset += length.next_multiple_of(32);
        (tensor.name.clone(), axes, tensor.kind.id(), at)
    });
    let tensors: Vec<_> = tensors.collect();
    let body = file[file.len() - offset as usize..].to_vec();
    let draft = Draft { entries: entries.into_iter().collect(), tensors, body };
    match of_bytes(&draft.bytes()) {
        Err(e) => e.to_string(),
        Ok(_) => "accepted".into(),
    }
}

#[test]
fn a_config_that_lies_is_refused_by_its_key() {
    let n = MetaValue::u32;
    let text = MetaValue::text;
    // What is no longer known for bytes is BPE.
    let words = if crate::bpe::AVAILABLE { "accepted" } else { "built without BPE" };
    for (family, key, value, needle) in [
        (Gpt2, "general.architecture", Some(text("falcon")), "'falcon', supported: gpt2"),
        (Gpt2, "general.architecture", None, "does not say general.architecture"),
        (Gpt2, "gpt2.embedding_length", Some(n(25)), "do not divide"),
        (Gpt2, "gpt2.embedding_length", Some(n(27)), "this model needs [256, 27]"),
        (Gpt2, "gpt2.embedding_length", Some(n(0)), "gpt2.embedding_length is 0"),
        (Gpt2, "gpt2.embedding_length", Some(text("24")), "is '24', supported: a whole"),
        (Gpt2, "gpt2.embedding_length", Some(n(u32::MAX)), "d_model"),
        (Gpt2, "gpt2.context_length", Some(n(9)), "position_embd.weight is [8, 24]"),
        (Gpt2, "gpt2.context_length", None, "does not say gpt2.context_length"),
        (Gpt2, "gpt2.block_count", Some(n(1)), "blk.1.attn_norm.weight does not belong"),
        (Gpt2, "gpt2.block_count", Some(n(3)), "blk.2.attn_norm.weight is missing"),
        (Gpt2, "gpt2.block_count", Some(n(100_000)), "n_layers"),
        (Gpt2, "gpt2.feed_forward_length", Some(n(95)), "ffn_up.weight is [96, 24]"),
        (Gpt2, "gpt2.attention.head_count", Some(n(5)), "5 heads do not divide"),
        (Gpt2, "gpt2.attention.head_count_kv", Some(n(1)), "head_count_kv is 1, supported: 3"),
        (Gpt2, "gpt2.vocab_size", Some(n(255)), "vocab_size is 255, supported: 256"),
        (
            Gpt2,
            "gpt2.attention.layer_norm_epsilon",
            Some(MetaValue::Single(-1e-6)),
            "supported: a number above 0, up to 1",
        ),
        (Gpt2, "gpt2.logit_scale", Some(MetaValue::Single(2.0)), "gpt2.logit_scale is 2, which"),
        (Gpt2, "tokenizer.ggml.model", Some(text("llama")), "model is 'llama', supported: 'gpt2'"),
        (Gpt2, "tokenizer.ggml.pre", Some(text("tekken")), "pre is 'tekken', supported: gpt-2"),
        (Llama, "tokenizer.ggml.pre", Some(text("default")), "pre is 'default', supported: gpt-2"),
        (Llama, "tokenizer.ggml.pre", None, "pre is missing"),
        (Gpt2, "tokenizer.ggml.pre", None, words),
        (Gpt2, "tokenizer.ggml.pre", Some(text("default")), words),
        (
            Gpt2,
            "tokenizer.ggml.tokens",
            Some(MetaValue::Texts(vec!["a".into()])),
            "token_type has 256 numbers for 1 tokens",
        ),
        (Gpt2, "tokenizer.ggml.tokens", Some(n(1)), "tokens is no list"),
        (Gpt2, "tokenizer.ggml.merges", None, "merges is missing"),
        (
            Gpt2,
            "tokenizer.ggml.token_type",
            Some(MetaValue::Ints(vec![9; 256])),
            "is 9, not 1, 3, 4 or 5",
        ),
        (
            Gpt2,
            "tokenizer.ggml.merges",
            Some(MetaValue::Texts(vec!["ab".into()])),
            "merges has 'ab'",
        ),
        (Llama, "llama.attention.head_count_kv", Some(n(3)), "3 do not divide 4 heads"),
        (Llama, "llama.attention.head_count_kv", Some(n(1)), "attn_k.weight is [12, 24]"),
        (Llama, "llama.attention.key_length", Some(n(8)), "value_length is 6, supported: 8"),
        (Llama, "llama.rope.dimension_count", Some(n(4)), "rope.dimension_count is 4"),
        (Llama, "llama.rope.freq_base", Some(MetaValue::Single(0.5)), "rope_theta: 0.5"),
        (Llama, "llama.rope.scaling.type", Some(text("yarn")), "rope.scaling.type is 'yarn'"),
        (Llama, "llama.rope.scaling.type", Some(text("none")), "accepted"),
        (Llama, "llama.expert_count", Some(n(8)), "llama.expert_count is 8"),
        (Llama, "llama.expert_count", Some(n(0)), "accepted"),
        (Llama, "llama.attention.layer_norm_rms_epsilon", None, "does not say llama.attention"),
    ] {
        let found = lies(family, key, value);
        assert!(found.contains(needle), "{key}: {found} / {needle}");
    }
}
