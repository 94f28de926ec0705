//! Cutting and coming back, and what is refused.

use super::split::tests::AWKWARD;
use super::*;
use llm_core::base::rng::{below, stream};
use llm_core::{Config, Error};
use proptest::prelude::*;
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::LazyLock;

const TEXT: &str = "The cat sat on the mat. The dog's hat isn't the cat's: 12 cats, 345 hats!\n\
    naïve 猫 🐈 naïve 猫 🐈   the    end\n\n\n";

fn learned(text: &[u8], vocab_size: usize) -> Arc<dyn Tokenizer> {
    learn(text, vocab_size, &|_| {}).unwrap()
}

pub(super) static SMALL: LazyLock<Arc<dyn Tokenizer>> =
    LazyLock::new(|| learned(TEXT.repeat(3).as_bytes(), 300));

/// The text of 256 byte tokens and these more, as vocab.json.
fn vocab(more: &[&str]) -> String {
    let bytes = (0..=255).map(|b| alphabet::symbol(b).to_string());
    let all = bytes.chain(more.iter().map(ToString::to_string)).zip(0u64..);
    serde_json::to_string(&all.collect::<HashMap<_, _>>()).unwrap()
}

fn ids(tokenizer: &dyn Tokenizer, text: &str) -> Vec<TokenId> {
    tokenizer.encode(text.as_bytes()).unwrap()
}

#[test]
fn a_vocabulary_is_learned_and_kept() {
    let bpe = &*SMALL;
    assert_eq!((bpe.name(), bpe.vocab_size()), ("bpe", 300));
    assert!(ids(&**bpe, " the cat").len() <= 3);
    let blob = bpe.blob();
    let again = from_tokenizer_json(&blob).unwrap();
    assert_eq!(again.blob(), blob);
    let (vocab, merges) = gpt2_files(&blob).unwrap();
    assert_eq!(from_vocab_and_merges(&vocab, &merges).unwrap().blob(), blob);
    // The library reads it, cuts the same way, and writes it down as it is here.
    let library = tokenizers::Tokenizer::from_str(std::str::from_utf8(&blob).unwrap()).unwrap();
    assert_eq!(library.to_string(false).unwrap().as_bytes(), blob);
    assert_eq!(library.encode(TEXT, false).unwrap().get_ids(), ids(&**bpe, TEXT));
}

#[test]
fn the_same_text_gives_the_same_tokens() {
    let text = TEXT.repeat(7).replace("cat", "猫t");
    let blob = learned(text.as_bytes(), 400).blob();
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| learned(text.as_bytes(), 400).blob());
        assert!(again == blob, "{threads} threads");
    }
}

#[test]
fn little_text_gives_few_tokens() {
    assert_eq!(learned(b"", 1000).vocab_size(), 256);
    assert_eq!(learned(b"abcd", 1000).vocab_size(), 256); // every pair once
    assert_eq!(learned(b"ab ab", 256).vocab_size(), 256);
    assert_eq!(learned(&[0xff; 5000], 1000).vocab_size(), 256);
    let long = learned(&[b'a'; 1 << 20], 5000);
    assert!((0..long.vocab_size() as TokenId).all(|id| long.bytes_of(id).len() <= 256));
    for size in [0, 255, Config::MAX_VOCAB + 1, usize::MAX] {
        assert!(matches!(learn(b"", size, &|_| {}), Err(Error::Tokenizer { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_bytes_come_back(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let tokens = SMALL.encode(&text).unwrap();
        prop_assert_eq!(SMALL.decode(&tokens).unwrap(), text);
    }

    #[test]
    fn text_is_cut_as_the_library_does(text in AWKWARD) {
        static LIBRARY: LazyLock<tokenizers::Tokenizer> = LazyLock::new(|| {
            let blob = String::from_utf8(SMALL.blob()).unwrap();
            tokenizers::Tokenizer::from_str(&blob).unwrap()
        });
        let tokens = SMALL.encode(text.as_bytes()).unwrap();
        let library = LIBRARY.encode(&*text, false).unwrap();
        prop_assert_eq!(library.get_ids(), &tokens);
        prop_assert_eq!(SMALL.decode(&tokens).unwrap(), text.as_bytes());
    }
}

/// `.ci/deep full` has a million.
#[test]
fn many_strings_come_back() {
    let count = std::env::var("LLM_BPE_STRINGS").map_or(20_000, |n| n.parse().unwrap());
    for i in 0..count {
        let mut rng = stream(1, b"bpe\0\0\0\0\0", i, 0);
        let mut text = Vec::new();
        for _ in 0..below(&mut rng, 6) {
            match below(&mut rng, 3) {
                0 => text.extend((0..below(&mut rng, 12)).map(|_| below(&mut rng, 256) as u8)),
                // Some bytes of text: characters are cut.
                1 => {
                    let start = below(&mut rng, TEXT.len());
                    let end = (start + below(&mut rng, 20)).min(TEXT.len());
                    text.extend(&TEXT.as_bytes()[start..end]);
                }
                _ => text.resize(text.len() + below(&mut rng, 9), b" \n'\xe7"[below(&mut rng, 4)]),
            }
        }
        assert_eq!(SMALL.decode(&SMALL.encode(&text).unwrap()).unwrap(), text, "string {i}");
    }
}

#[test]
fn pieces_change_nothing() {
    let text = TEXT.repeat(8000); // some pieces
    let whole = SMALL.encode(text.as_bytes()).unwrap();
    let lines: Vec<_> = TEXT.repeat(8).split_inclusive("end\n\n\n").map(str::to_string).collect();
    let some: Vec<TokenId> = lines.iter().flat_map(|line| ids(&**SMALL, line)).collect();
    assert!(whole.chunks(some.len()).all(|part| part == &some[..part.len()]));
    assert_eq!(SMALL.decode(&whole).unwrap(), text.as_bytes());
}

#[test]
fn bytes_that_are_no_text_are_themselves() {
    let tokens = SMALL.encode(b"the\xff\xfe cat\xe7\x8c").unwrap();
    let singles: Vec<_> = tokens.iter().map(|&t| SMALL.bytes_of(t)).collect();
    assert!(singles.contains(&&b"\xff"[..]) && singles.ends_with(&[b"\xe7", b"\x8c"]));
    assert_eq!(SMALL.bytes_of(300), b"");
    assert_eq!(SMALL.bytes_of(TokenId::MAX), b"");
    assert!(SMALL.encode(b"").unwrap().is_empty());
}

#[test]
fn long_words_take_no_longer_than_they_should() {
    let text = "ab".repeat(1 << 20);
    let tokens = SMALL.encode(text.as_bytes()).unwrap();
    assert_eq!(SMALL.decode(&tokens).unwrap(), text.as_bytes());
}

#[test]
fn files_of_several_kinds() {
    let merges = "#version: 0.2\na b\nab c\n";
    let json = from_vocab_and_merges(vocab(&["ab", "abc"]).as_bytes(), merges.as_bytes()).unwrap();
    assert_eq!(ids(&*json, "abcab"), [257, 256]);
    let mut lines: String = (0..=255).map(|b| format!("{}\r\n", alphabet::symbol(b))).collect();
    lines.push_str("ab\nabc\n");
    let text = from_vocab_and_merges(lines.as_bytes(), b"# a header\r\na b\r\n\r\nab c").unwrap();
    assert_eq!(text.blob(), json.blob());
    // A mark between documents is kept as one, and never made of text.
    let marked = vocab(&["ab", "<|endoftext|>"]);
    let marked = from_vocab_and_merges(marked.as_bytes(), b"a b").unwrap();
    assert_eq!(marked.bytes_of(257), b"<|endoftext|>");
    assert_eq!(ids(&*marked, "<|endoftext|>").len(), 13);
    assert!(String::from_utf8(marked.blob()).unwrap().contains("\"special\":true"));
    assert_eq!(gpt2_files(&marked.blob()).unwrap().1, b"#version: 0.2\na b\n");
}

/// A tokenizer.json, with one thing in it replaced.
fn json_with(from: &str, to: &str) -> Vec<u8> {
    let whole = from_vocab_and_merges(vocab(&["ab"]).as_bytes(), b"a b").unwrap().blob();
    let text = String::from_utf8(whole).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn what_others_write_is_read() {
    let plain = json_with("1.0", "1.0");
    let level = r#""pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#;
    for (from, to) in [
        (r#"[["a","b"]]"#, r#"["a b"]"#),
        (r#""continuing_subword_prefix":null"#, r#""continuing_subword_prefix":"""#),
        (r#""type":"BPE","#, ""),
        (r#""dropout":null"#, r#""dropout":0.0"#),
        (r#""post_processor":null"#, r#""post_processor":{"type":"ByteLevel"}"#),
        (
            level,
            r#""pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel","add_prefix_space":false}]}"#,
        ),
    ] {
        assert_eq!(from_tokenizer_json(&json_with(from, to)).unwrap().blob(), plain, "{to}");
    }
    let special = r#"{"id":257,"content":"<é猫>","special":true}"#;
    let added = json_with(r#""added_tokens":[]"#, &format!(r#""added_tokens":[{special}]"#));
    let added = from_tokenizer_json(&added).unwrap();
    assert_eq!(added.bytes_of(257), "<é猫>".as_bytes());
    assert_eq!(from_tokenizer_json(&added.blob()).unwrap().blob(), added.blob());
    // Words that are tokens, against the merges.
    let whole = json_with(r#""ignore_merges":false"#, r#""ignore_merges":true"#);
    let whole = String::from_utf8(whole).unwrap().replace(r#"[["a","b"]]"#, "[]");
    assert_eq!(ids(&*from_tokenizer_json(whole.as_bytes()).unwrap(), "ab ab").len(), 4);
}

/// SmolLM2's vocabulary lacks some: its model is usable, and a text with them is refused.
#[test]
fn bytes_that_hardly_any_text_has_may_be_lacking() {
    let without = |lacking: [&str; 3]| {
        let mut json = String::from_utf8(json_with("", "")).unwrap();
        for (n, byte) in lacking.into_iter().enumerate() {
            let letter = alphabet::symbol(u8::from_str_radix(byte, 16).unwrap());
            assert!(json.contains(&format!("\"{letter}\":")), "{byte}");
            json = json.replacen(&format!("\"{letter}\":"), &format!("\"ab{n}\":"), 1);
        }
        from_tokenizer_json(json.as_bytes())
    };
    let lacking = without(["04", "F1", "FF"]).unwrap();
    let text = "ab \t\u{5}\u{fffd}猫\n".as_bytes();
    assert_eq!(lacking.decode(&lacking.encode(text).unwrap()).unwrap(), text);
    for (text, byte, place) in [
        (&b"ab \x04"[..], "\\x04", 3),
        (b"\xff", "\\xFF", 0),
        ("a\u{40000}".as_bytes(), "\\xF1", 1),
    ] {
        let Err(Error::UnknownUnit { unit, position }) = lacking.encode(text) else {
            panic!("{text:?} is cut")
        };
        assert_eq!((unit.to_string(), position), (format!("the byte {byte}"), place));
    }
    for wanted in ["0A", "20", "C2", "80", "F0"] {
        let Err(Error::Tokenizer { reason, .. }) = without(["04", wanted, "FF"]) else {
            panic!("taken without {wanted}")
        };
        let reason = reason.to_string();
        assert!(reason.contains("lacks 3 of the 256 bytes, the first is 0x04"), "{reason}");
    }
}

#[test]
fn what_cannot_be_a_tokenizer_is_refused() {
    let refused = |made: Result<Arc<dyn Tokenizer>>, needle: &str| {
        let Err(Error::Tokenizer { kind, reason }) = made else { panic!("taken: {needle}") };
        let reason = reason.to_string();
        assert!(kind == "bpe" && reason.contains(needle), "{reason:?} lacks {needle:?}");
        assert!(!reason.contains(char::is_control) && !reason.ends_with('.'), "{reason:?}");
    };
    let added = |token: &str| format!(r#""added_tokens":[{token}]"#);
    let prefix = r#""add_prefix_space":false"#;
    for (from, to, needle) in [
        (r#""type":"BPE""#, r#""type":"Unigram""#, "its model is Unigram"),
        (r#""type":"BPE""#, r#""type":"a\u001bb""#, "its model is a\\u{1b}b"),
        (r#""normalizer":null"#, r#""normalizer":{"type":"NFD"}"#, "its normalizer is NFD"),
        (prefix, r#""add_prefix_space":true"#, "is ByteLevel with a space put in front"),
        (r#""use_regex":true"#, r#""use_regex":false"#, "is ByteLevel without its words"),
        (r#""ByteLevel""#, r#""Whitespace""#, "its pre-tokenizer is Whitespace"),
        (
            r#""type":"ByteLevel""#,
            r#""pretokenizers":[{"type":"Split"},{"type":"ByteLevel"}],"type":"Sequence""#,
            "its pre-tokenizer is a sequence that is not known",
        ),
        (r#""decoder":{"type":"ByteLevel""#, r#""decoder":{"type":"WordPiece""#, "its decoder is"),
        (r#""dropout":null"#, r#""dropout":0.1"#, "dropout"),
        (r#""end_of_word_suffix":null"#, r#""end_of_word_suffix":"</w>""#, "end_of_word_suffix"),
        (r#""added_tokens":[]"#, &added(r#"{"id":257,"content":"x y"}"#), "'x y' has white space"),
        (
            r#""added_tokens":[]"#,
            &added(r#"{"id":299,"content":"x y","special":true}"#),
            "'x y' is token 299, but 258 tokens have the numbers 0 to 257",
        ),
        (
            r#""added_tokens":[]"#,
            &added(r#"{"id":7,"content":"x y","special":true}"#),
            "token 7 is both 'x y' and",
        ),
        (
            r#""added_tokens":[]"#,
            &added(r#"{"id":7,"content":"ab","special":true}"#),
            "'ab' is token 256 and token 7",
        ),
        (r#""ab":256"#, r#""ab":-1"#, "not a tokenizer.json"),
        (r#""ab":256"#, r#""ab":18446744073709551615"#, "have the numbers 0 to 256"),
        (r#""ab":256"#, r#""ab":255"#, "token 255 is both"),
        (r#""ab":256"#, r#""ab":256,"ab":257"#, "'ab' is token 256 and token 257"),
        (r#""ab":256"#, r#""ab":256,"ab":256"#, "'ab' is token 256 and token 256"),
        (r#""ab":256"#, r#""猫":256"#, "token 256, '猫', is not written in"),
        (r#""ab":256"#, r#""":256"#, "token 256 has 0 bytes"),
        (r#""ab":256"#, r#""ba":256"#, "merge 1, 'a' and 'b': 'ab' is not in the vocabulary"),
        (r#"["a","b"]"#, r#"["a","bc"]"#, "merge 1, 'a' and 'bc': 'bc' is not"),
        (r#"["a","b"]"#, r#"["a","b"],["a","b"]"#, "merge 2, 'a' and 'b': they are merged before"),
        (r#"[["a","b"]]"#, r#"["a b c"]"#, "merge 1 is not two tokens"),
        (r#"[["a","b"]]"#, "7", "not a tokenizer.json"),
        (r#""a":97"#, r#""aaaa":97"#, "lacks 1 of the 256 bytes, the first is 0x61 (written 'a')"),
    ] {
        refused(from_tokenizer_json(&json_with(from, to)), needle);
    }
    for no_json in [&b""[..], b"{}", b"[]", b"\xff", &b"[".repeat(1 << 16)] {
        refused(from_tokenizer_json(no_json), "not a tokenizer.json");
    }
    let deep = format!(r#"{{"model":{{}},"decoder":{}"#, "[".repeat(1 << 20));
    refused(from_tokenizer_json(deep.as_bytes()), "recursion limit");
    refused(from_tokenizer_json(&vec![b' '; (64 << 20) + 1]), "67108865 bytes are more");

    let pair = |vocab: &str, merges: &[u8]| from_vocab_and_merges(vocab.as_bytes(), merges);
    let ab = vocab(&["ab"]);
    refused(pair(&ab, b"#version: 0.2\na b\nb  c\n"), "merges line 3 is not two tokens");
    refused(pair(&ab, b"a b\nc d\n"), "merges line 2, 'c' and 'd': 'cd' is not");
    refused(pair(&ab, b"a b\n\na b\n"), "merges line 3, 'a' and 'b': they are merged before");
    refused(pair(&ab, b"a \xff"), "merges line 1 is not UTF-8");
    refused(pair("{\"a\"", b""), "the vocabulary is not a map");
    // The C++ original's own example: ten tokens, and no text with a space could be cut.
    let toy = "a\nb\nc\nd\ne\nab\nbc\ncd\nde\nabc\n";
    let needle = "lacks 251 of the 256 bytes, the first is 0x00 (written 'Ā')";
    refused(pair(toy, b"#version: 0.2\na b\nb c\nc d\nd e\nab c\n"), needle);
    refused(pair("", b""), "lacks 256 of the 256 bytes");
    refused(pair("a\na\n", b""), "'a' is token 0 and token 1");
    refused(from_vocab_and_merges(b"a\n\xe9\n", b""), "vocabulary line 2 is not UTF-8");
    let long = "a".repeat(5000);
    refused(pair(&vocab(&[&long]), b""), "token 256 has 5000 bytes, not 1 to 4096");
    let names: Vec<String> = (0..1 << 20).map(|i| format!("t{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    refused(pair(&vocab(&names), b""), "1048832 tokens are more than 1048576");
}
