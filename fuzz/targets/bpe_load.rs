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

/// The words of GPT-2, of SmolLM2 and of Llama 3.
const LEVELS: [&str; 3] = [
    r#""pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}"#,
    r#""pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false}]}"#,
    r#""pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}"#,
];

/// A tokenizer.json made of the parts of the input: more tokens, merges, special tokens, the rest.
fn json(level: &str, input: &[u8]) -> Vec<u8> {
    let mut parts = input.split(|&b| b == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (vocab, merges, special, rest) = (next(), next(), next(), next());
    let mut file = format!("{{{level},\"added_tokens\":[").into_bytes();
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
        let again = tokenizer.decode(&tokens).expect("its own tokens");
        // Where text is put into a normal form, that comes back.
        assert!(again == text || tokenizer.blob().windows(5).any(|part| part == b"\"NFC\""));
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
    b"\x04\"ab\":256\0\"a b\"\0{\"id\":257,\"content\":\"<x>\",\"special\":false}\0",
    b"\x05\"ab\":256\0\"a b\"\0{\"id\":257,\"content\":\"<x>\",\"normalized\":true}\0\"ignore_merges\":true,",
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
        let made = match mode % 6 {
            0 => from_tokenizer_json(rest),
            1 => from_vocab_and_merges(vocab, merges),
            2 => from_vocab_and_merges(&[LINES.as_bytes(), vocab].concat(), merges),
            kind => from_tokenizer_json(&json(LEVELS[usize::from(kind) - 3], rest)),
        };
        match made {
            Ok(tokenizer) => check(tokenizer, rest),
            Err(e) => assert!(!e.to_string().contains('\n')),
        }
    }
);
