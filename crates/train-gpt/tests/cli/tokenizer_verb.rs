//! `tokenizer train`, `encode`, `decode` and `info`.

use crate::{sandbox, trained};
use workspace_tests::cli_support::{Sandbox, some_text};

/// A sandbox with `tok.json`.
fn learned() -> Sandbox {
    let sandbox = sandbox();
    let text = String::from_utf8(some_text(4000)).unwrap().replace("mat", "猫🐈");
    sandbox.write("text.txt", text.as_bytes());
    let words = ["tokenizer", "train", "--data", "text.txt", "--vocab-size", "270", "--save"];
    let outcome = sandbox.ok(&[&words[..], &["tok.json"]].concat());
    outcome.says(&["bpe     270 tokens learned from", "saved   tok.json", "--tokenizer tok.json"]);
    assert!(outcome.stdout.is_empty());
    sandbox
}

#[test]
fn text_to_numbers_and_back() {
    let sandbox = learned();
    let encode = ["tokenizer", "encode", "--tokenizer", "tok.json"];
    let decode = ["tokenizer", "decode", "--tokenizer", "tok.json"];
    let input = "the cat 猫🐈 naïve\r\n\u{1b}[31m\0".as_bytes();
    let input = [input, b"\xff\xfe"].concat();
    let ids = sandbox.run_with_input(&encode, &input);
    assert_eq!((ids.code, ids.stderr.as_str()), (Some(0), ""));
    let raw = sandbox.run_with_input(&[&decode[..], &["--raw"]].concat(), &ids.stdout);
    assert!(raw.stdout == input, "{raw}");
    let safe = sandbox.run_with_input(&decode, &ids.stdout).text();
    assert_eq!(safe, "the cat 猫🐈 naïve\\x0D\n\\x1B[31m\\x00\\xFF\\xFE\n");
    // As an argument, from a file, as JSON.
    let words = sandbox.ok(&[&encode[..], &["the cat"]].concat());
    assert_eq!(words.text().split(' ').count(), 2, "{words}");
    let ids = words.text();
    let back: Vec<&str> = decode.into_iter().chain(ids.split_whitespace()).collect();
    assert_eq!(sandbox.ok(&back).text(), "the cat\n");
    sandbox.write("some", b"the cat");
    assert_eq!(sandbox.ok(&[&encode[..], &["--file", "some"]].concat()).text(), ids);
    let json = sandbox.ok(&[&encode[..], &["the cat", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["tokens"], serde_json::json!(["the", " cat"]));
    let list = sandbox.run_with_input(&decode, json["ids"].to_string().as_bytes());
    assert_eq!(list.text(), "the cat\n");
    assert_eq!(sandbox.run_with_input(&encode, b"").text(), "\n");
    assert_eq!(sandbox.ok(&[&encode[..], &["-x"]].concat()).code, Some(0));
}

#[test]
fn every_kind_can_be_used() {
    let sandbox = trained();
    sandbox.write("naïve", "naïve 猫".repeat(100).as_bytes());
    sandbox.train(&["--data", "naïve", "--tokenizer", "char", "--steps", "1", "--save", "chars"]);
    let ids = |words: &[&str]| sandbox.ok(&[&["tokenizer", "encode"], words].concat()).text();
    assert_eq!(ids(&["--tokenizer", "byte", "ab"]), "97 98\n");
    assert_eq!(ids(&["--load", "model", "ab"]), "97 98\n");
    assert_eq!(ids(&["--load", "chars", "naïve"]), "3 1 5 4 2\n");
    let unknown = ["tokenizer", "encode", "--load", "chars", "Q"];
    sandbox.refuses(&unknown, 65, &["'Q' (U+0051) at byte 0"]);
    let info = sandbox.ok(&["tokenizer", "info", "--load", "chars", "--data", "naïve"]).text();
    for needle in ["tokenizer        char", "tokens           7", "bytes per token  1.4", "'猫'"] {
        assert!(info.contains(needle), "{info}");
    }
}

#[test]
fn what_there_is_to_know() {
    let sandbox = learned();
    let info = ["tokenizer", "info", "--tokenizer", "tok.json"];
    let text = sandbox.ok(&[&info[..], &["--data", "text.txt"]].concat()).text();
    let hash = blake3::hash(&sandbox.read("tok.json")).to_hex();
    for needle in ["tokenizer        bpe", "tokens           270", hash.as_str(), "bytes per token"]
    {
        assert!(text.contains(needle), "no {needle}\n{text}");
    }
    assert!(text.lines().any(|line| line.contains(" B  ' ")), "{text}");
    let json = sandbox.ok(&[&info[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["vocab_size"], &json["data_tokens"]),
        (&270.into(), &serde_json::Value::Null)
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let sandbox = learned();
    let tok = ["--tokenizer", "tok.json"];
    let verb = |words: &[&'static str], more: &[&'static str]| -> Vec<&'static str> {
        [&["tokenizer"], words, more].concat()
    };
    for (words, code, needles) in [
        (verb(&["encode", "x"], &[]), 2, &["which tokenizer?", "--load"][..]),
        (verb(&["encode", "x", "--tokenizer", "bpe"], &[]), 2, &["made of a text"]),
        (verb(&["encode", "x", "--tokenizer", "char"], &[]), 2, &["made of a text"]),
        (verb(&["encode", "x", "--bpe-vocab", "v"], &[]), 2, &["add --bpe-merges"]),
        (verb(&["encode", "x", "--load", "no"], &[]), 66, &["cannot read 'no'"]),
        (
            verb(&["encode", "x", "--load", "text.txt"], &[]),
            65,
            &["'text.txt'", "not a checkpoint"],
        ),
        (verb(&["encode", "--file", "no"], &tok), 66, &["cannot read 'no'"]),
        (verb(&["encode", "--file", "."], &tok), 66, &["cannot read '.'"]),
        (verb(&["decode", "7x"], &tok), 2, &["'7x' is no token number"]),
        (verb(&["decode", "1", "270"], &tok), 65, &["token 270 at position 1", "0 to 269"]),
        (verb(&["info", "--data", "no"], &tok), 66, &["cannot read 'no'"]),
        (verb(&["train", "--data", "no", "--save", "x"], &[]), 66, &["cannot read 'no'"]),
        (verb(&["train", "--save", "text.txt"], &[]), 73, &["exists and is not a tokenizer"]),
        (verb(&["train", "--save", "no/x"], &[]), 73, &["'no/x'"]),
        (verb(&["train", "--save", "x", "--vocab-size", "9"], &[]), 2, &["--vocab-size 9"]),
        (verb(&["train"], &[]), 2, &["--save"]),
        (verb(&[], &[]), 2, &["a verb is missing: train, encode, decode, info"]),
        (verb(&["encod", "x"], &[]), 2, &["'encod'", "the nearest verb is encode"]),
    ] {
        sandbox.refuses(&words, code, needles);
    }
    let bad = sandbox.run_with_input(&["tokenizer", "decode", "--tokenizer", "byte"], b"12 \x1b");
    assert_eq!(bad.code, Some(65));
    bad.says_one_error(&["standard input: ", "is no token number"]);
    // An existing one is replaced.
    let words = ["tokenizer", "train", "--data", "text.txt", "--vocab-size", "260"];
    sandbox.ok(&[&words[..], &["--save", "tok.json", "-q"]].concat());
    let info = sandbox.ok(&["tokenizer", "info", "--tokenizer", "tok.json"]).text();
    assert!(info.contains("tokens           260"), "{info}");
}

/// What cannot be written is refused with the flag of this verb.
#[test]
fn a_tokenizer_that_cannot_be_saved_is_refused_in_its_own_words() {
    let sandbox = sandbox();
    for (save, why) in [("nowhere/t.json", "no such file"), ("text.txt", "is not a tokenizer")] {
        let words = ["tokenizer", "train", "--data", "text.txt", "--save", save];
        let needles = [save, why, "nothing was learned, choose another --save"];
        assert!(!sandbox.refuses(&words, 73, &needles).stderr.contains("--out"));
    }
}
