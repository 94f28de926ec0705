//! Tokenizers there and back.

use super::{model, of_bytes, written};
#[cfg(feature = "bpe")]
use crate::gguf::tokens::Tokens;
#[cfg(feature = "bpe")]
use crate::gguf::value::MetaValue;
use crate::gguf::{Gguf, Stored, export};
use llm_core::Config;
use llm_core::tokenizer::{
    ByteTokenizer, CharTokenizer, IdsTokenizer, PaddedTokenizer, Tokenizer, WithEndOfText,
};
use llm_variant_modern::Modern;
#[cfg(feature = "bpe")]
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn round_trip(tokenizer: &dyn Tokenizer) -> Arc<dyn Tokenizer> {
    let config = Config::gpt2(tokenizer.vocab_size(), 4, 8, 1);
    let imported =
        of_bytes(&written(&model(config, Modern::new(1)), tokenizer, Stored::F32)).unwrap();
    imported.tokenizer
}

#[test]
fn bytes_and_characters_are_known_again() {
    let mut all: Vec<Arc<dyn Tokenizer>> = vec![Arc::new(ByteTokenizer)];
    for text in [&b"once upon\na time"[..], "na\u{ef}ve 猫, 犬\t🐈".as_bytes(), b"a\xffb\xfe", b"x"]
    {
        all.push(Arc::new(CharTokenizer::from_text(text).unwrap()));
    }
    for plain in all {
        let ended = WithEndOfText::extend(plain.clone()).unwrap();
        let rows = ended.vocab_size() + 7;
        for tokenizer in [plain, ended.clone(), PaddedTokenizer::pad(ended, rows)] {
            let again = round_trip(&*tokenizer);
            assert_eq!((again.name(), again.blob()), (tokenizer.name(), tokenizer.blob()));
            assert_eq!(again.end_of_text(), tokenizer.end_of_text());
            assert_eq!(again.vocab_size(), tokenizer.vocab_size());
        }
    }
    let ids = IdsTokenizer::new(9).unwrap();
    let model = model(Config::gpt2(9, 4, 8, 1), Modern::new(1));
    let refused = export(Path::new("none/m"), &model, &ids, Stored::F32, "m").unwrap_err();
    assert!(refused.to_string().starts_with("a ids tokenizer cannot be written"), "{refused}");
}

#[cfg(feature = "bpe")]
#[test]
fn bpe_is_known_again() {
    let text = "the cat sat on the mat, the cat sat. na\u{ef}ve 猫\n".repeat(20);
    let learned = crate::bpe::learn(text.as_bytes(), 300, &|_| {}).unwrap();
    let ended = crate::tokenizers::with_end_of_text(learned.clone()).unwrap();
    let rows = ended.vocab_size() + 3;
    for tokenizer in [learned, ended.clone(), PaddedTokenizer::pad(ended, rows)] {
        let again = round_trip(&*tokenizer);
        assert_eq!((again.name(), again.blob()), ("bpe", tokenizer.blob()));
        assert_eq!(again.end_of_text(), tokenizer.end_of_text());
        assert_eq!(
            again.encode(text.as_bytes()).unwrap(),
            tokenizer.encode(text.as_bytes()).unwrap()
        );
    }
}

/// As in models that were taught to talk: a text of theirs ends with another token than GPT-2's.
#[cfg(feature = "bpe")]
#[test]
fn what_stands_beside_the_tokens_is_kept() {
    let words = Tokens::of(&*crate::bpe::learn(b"the cat sat", 260, &|_| {}).unwrap()).unwrap();
    let mut entries: BTreeMap<_, _> = words.entries().into_iter().collect();
    let Some(MetaValue::Texts(names)) = entries.get_mut("tokenizer.ggml.tokens") else { panic!() };
    let first = names.len() as u32;
    names.extend(["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(String::from));
    let Some(MetaValue::Ints(kinds)) = entries.get_mut("tokenizer.ggml.token_type") else {
        panic!()
    };
    kinds.extend([3; 3]);
    let key = |name: &str| format!("tokenizer.{name}");
    let said = [
        (key("ggml.pre"), MetaValue::text("smollm")),
        (key("ggml.bos_token_id"), MetaValue::u32(first + 1)),
        (key("ggml.eos_token_id"), MetaValue::u32(first + 2)),
        (key("chat_template"), MetaValue::text("{{ messages }}")),
    ];
    entries.extend(said.clone());
    let read = Tokens::read(&mut entries, false).unwrap().unwrap();
    let tokenizer = read.tokenizer(first as usize + 3).unwrap();
    assert_eq!(tokenizer.end_of_text(), Some(first + 2));
    assert_eq!(tokenizer.encode(b"<|im_end|>cat").unwrap()[0], first + 2);
    let again = Tokens::of(&*tokenizer).unwrap().entries();
    for (name, value) in said {
        let found = again.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
        assert_eq!(found, Some(&value), "{name}");
    }
}

#[test]
fn a_text_ends_at_a_token_that_is_for_it() {
    let export_of = |tokenizer: &dyn Tokenizer| {
        let folder = tempfile::tempdir().unwrap();
        let model = model(Config::gpt2(tokenizer.vocab_size(), 4, 8, 1), Modern::new(1));
        let path = folder.path().join("m");
        let exported = export(&path, &model, tokenizer, Stored::F32, "m").unwrap();
        let bytes = std::fs::read(path).unwrap();
        let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
        let end = file.metadata["tokenizer.ggml.eos_token_id"].whole().unwrap();
        (exported.ends_at, end)
    };
    let chars = CharTokenizer::from_text(b"ab\n").unwrap();
    assert_eq!(export_of(&ByteTokenizer), (None, 0));
    assert_eq!(export_of(&chars), (Some(2), 2));
    let ended = WithEndOfText::extend(Arc::new(chars)).unwrap();
    assert_eq!(export_of(&*ended), (None, 3));
}
