//! Any bytes as a vocabulary: a tokenizer.json, a vocabulary with merges, and each of them with the
//! 256 bytes put in, so that what is behind the first check is reached. What is taken must cut text
//! that comes back, and be the same when it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_core::tokenizer::Tokenizer;
use llm_formats::bpe::{from_tokenizer_json, from_vocab_and_merges, gpt2_files};
use llm_fuzz::{byte_symbols, seed};
use std::sync::{Arc, LazyLock};

/// The 256 bytes as entries of a JSON map, and as lines.
static ENTRIES: LazyLock<String> = LazyLock::new(|| {
    let entry = |(id, c)| match c {
        '"' | '\\' => format!("\"\\{c}\":{id},"),
        c => format!("\"{c}\":{id},"),
    };
    byte_symbols().enumerate().map(entry).collect()
});
static LINES: LazyLock<String> =
    LazyLock::new(|| byte_symbols().map(|c| format!("{c}\n")).collect());

const LEVEL: &str = r#""pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}"#;

/// A tokenizer.json made of the parts of the input: more tokens, merges, special tokens, the rest.
fn json(input: &[u8]) -> Vec<u8> {
    let mut parts = input.split(|&b| b == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (vocab, merges, special, rest) = (next(), next(), next(), next());
    let mut file = format!("{{{LEVEL},\"added_tokens\":[").into_bytes();
    file.extend(special);
    file.extend(b"],\"model\":{\"type\":\"BPE\",");
    file.extend(rest);
    file.extend(format!("\"vocab\":{{{}", &*ENTRIES).as_bytes());
    file.extend(vocab);
    file.extend(b"},\"merges\":[");
    file.extend(merges);
    file.extend(b"]}}");
    file
}

fn check(tokenizer: Arc<dyn Tokenizer>, input: &[u8]) {
    for text in [input, b"the cat's \xff\n", "naïve 猫".as_bytes()] {
        let tokens = tokenizer.encode(text).expect("every byte is a token");
        assert_eq!(tokenizer.decode(&tokens).expect("its own tokens"), text);
    }
    // Reading takes much longer than cutting: not for every input.
    if input.iter().fold(0u8, |sum, b| sum.wrapping_add(*b)) % 8 == 0 {
        let blob = tokenizer.blob();
        assert_eq!(from_tokenizer_json(&blob).expect("its own blob").blob(), blob);
        gpt2_files(&blob).expect("its own blob");
    }
}

const SEEDS: &[&[u8]] = &[
    b"\x00{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"b\"],\"a b\"]}}",
    b"\x01{\"a\":0,\"b\":1}\0#version: 0.2\na b\n",
    b"\x01a\nb\nab\n\0a b\n",
    b"\x02ab\nabc\n<|endoftext|>\n\0#version: 0.2\na b\nab c\n",
    b"\x03\"ab\":256,\"abc\":257\0[\"a\",\"b\"],[\"ab\",\"c\"]\0{\"id\":258,\"content\":\"<x y>\",\"special\":true}\0\"ignore_merges\":true,",
    b"\x03\"ab\":256\0\"a b\"\0\0\"dropout\":null,\"end_of_word_suffix\":\"\",",
];

fuzz_target!(
    init: {
        seed(SEEDS.iter().map(|input| input.to_vec()));
    },
    |input: &[u8]| {
        let Some((mode, rest)) = input.split_first() else { return };
        let mut halves = rest.splitn(2, |&b| b == 0);
        let [vocab, merges] = [(); 2].map(|()| halves.next().unwrap_or_default());
        let made = match mode % 4 {
            0 => from_tokenizer_json(rest),
            1 => from_vocab_and_merges(vocab, merges),
            2 => from_vocab_and_merges(&[LINES.as_bytes(), vocab].concat(), merges),
            _ => from_tokenizer_json(&json(rest)),
        };
        match made {
            Ok(tokenizer) => check(tokenizer, rest),
            Err(e) => assert!(!e.to_string().contains('\n')),
        }
    }
);
