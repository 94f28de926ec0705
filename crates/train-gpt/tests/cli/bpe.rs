//! `--tokenizer bpe`, and tokenizers from files.

use crate::sandbox;
use llm_core::checkpoint::Checkpoint;
use workspace_tests::cli_support::{Outcome, Sandbox, TINY, some_text};

const BPE: [&str; 6] = ["--data", "text.txt", "--tokenizer", "bpe", "--vocab-size", "270"];

/// A run on text with characters of several bytes and bytes that are no text, saved as `model`.
fn trained() -> Sandbox {
    let sandbox = sandbox();
    let text = String::from_utf8(some_text(4000)).unwrap();
    let text = text.replace("sat", "sät").replace("mat", "猫🐈");
    sandbox.write("text.txt", &[text.as_bytes(), b"\xff\xfe the cat"].concat());
    sandbox.train(&[&BPE[..], &["--steps", "4", "--save", "model", "-q", "--gen", "0"]].concat());
    sandbox
}

/// A tokenizer.json of another text, as `tok.json`.
fn learn(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    sandbox
        .ok(&[&["tokenizer", "train", "--data", "text.txt", "--save", "tok.json"], words].concat())
}

#[test]
fn a_vocabulary_is_learned_from_the_training_part() {
    let sandbox = sandbox();
    sandbox.write("text.txt", &[&some_text(3600)[..], &[b'q'; 400]].concat());
    let outcome = sandbox.train(&[&BPE[..4], &["--steps", "2", "--save", "m"]].concat());
    outcome.says(&["tokens, not 1,024: no other pair comes twice in 3.6 kB", "bpe tokens"]);
    outcome.says(&["2 × 16 tokens"]);
    outcome.prints(&["nats per token", "bits per byte"]);
    let meta = Checkpoint::load(&sandbox.path("m")).unwrap().meta;
    assert_eq!(meta.tokenizer.kind, "bpe");
    assert!(!String::from_utf8(meta.tokenizer.blob).unwrap().contains("\"qq\""));
    let few =
        sandbox.train(&[&BPE[..], &["--steps", "1", "--eval-every", "1", "--no-save"]].concat());
    few.says(&["bpe     270 tokens learned from 3.6 kB in ", "270 bpe tokens", "ln 270"]);
}

#[test]
fn ten_and_ten_steps_are_twenty() {
    let bpe = ["--tokenizer", "bpe", "--vocab-size", "280", "--schedule", "constant"];
    let sandbox = sandbox();
    // The flag is for a new run; the checkpoint brings its own vocabulary along.
    sandbox.ten_and_ten_steps_are_twenty(&bpe);
}

#[test]
fn a_checkpoint_brings_its_vocabulary_along() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "2", "--save", "on"];
    sandbox.ok(&on).says(&["270 bpe tokens"]);
    // A text may have fewer tokens than were asked for, and the same flags must do again.
    for size in ["270", "1024"] {
        let same = ["--tokenizer", "bpe", "--vocab-size", size];
        sandbox.ok(&[&on[..], &same].concat());
    }
    sandbox.write("other.txt", &some_text(900));
    let words = ["tokenizer", "train", "--data", "other.txt", "--vocab-size", "270"];
    sandbox.ok(&[&words[..], &["--save", "tok.json"]].concat());
    for (other, needle) in [
        (&["--tokenizer", "byte"][..], "tokenizer bpe in file, byte given"),
        (&["--tokenizer", "char"], "tokenizer bpe in file, char given"),
        (&["--tokenizer", "bpe", "--vocab-size", "260"], "with 270 tokens in file, bpe with 260"),
        (&["--tokenizer", "tok.json"], "with 270 tokens in file, bpe with 270 tokens, but others"),
    ] {
        sandbox.refuses(&[&on[..], other].concat(), 65, &["'model'", needle]);
    }
    let blob = Checkpoint::load(&sandbox.path("model")).unwrap().meta.tokenizer.blob;
    sandbox.write("same.json", &blob);
    sandbox.ok(&[&on[..], &["--tokenizer", "same.json"]].concat());
    let absent = [&on[..], &["--tokenizer", "absent.json"]].concat();
    sandbox.refuses(&absent, 66, &["'absent.json'"]);
}

#[test]
fn text_and_tables_come_in_tokens() {
    let sandbox = trained();
    let write = |words: &[&str]| {
        let all =
            ["generate", "--load", "model", "-n", "300", "--temp", "3", "-p", "the 猫Q\u{1b}"];
        sandbox.ok(&[&all[..], words].concat())
    };
    let safe = write(&[]);
    assert!(safe.text().starts_with("the 猫Q\\x1B"), "{safe}");
    assert!(std::str::from_utf8(&safe.stdout).is_ok() && !safe.stdout.contains(&0x1b), "{safe}");
    assert!(write(&["--raw"]).stdout.starts_with("the 猫Q\u{1b}".as_bytes()));
    let ascii = ["generate", "--load", "model", "-n", "300", "--temp", "3", "--ascii-only"];
    assert!(sandbox.ok(&ascii).stdout.is_ascii());
    assert!(write(&["--print-next-top", "300"]).text().contains("'cat'"));
    let probe = ["--load", "model", "--data", "text.txt", "--sanity-next-from-data", "20"];
    let probes = sandbox.ok(&[&probe[..], &["--sanity-top", "300"]].concat()).text();
    assert!(probes.contains("Sanity top1 accuracy: ") && probes.contains("'cat'"), "{probes}");
}

#[test]
fn loss_is_told_per_token_and_per_byte() {
    let sandbox = trained();
    let eval = ["eval", "--load", "model", "--data", "text.txt", "--message-format", "json"];
    let event = &sandbox.ok(&eval).events()[0];
    let number = |field: &str| event[field].as_f64().unwrap();
    let info = ["tokenizer", "info", "--load", "model", "--data", "text.txt", "--json"];
    let info: serde_json::Value = serde_json::from_slice(&sandbox.ok(&info).stdout).unwrap();
    assert_eq!(number("scored") + 1.0, info["data_tokens"].as_f64().unwrap());
    // The first token is not scored.
    let first = ["tokenizer", "encode", "--load", "model", "--file", "text.txt", "--json"];
    let first: serde_json::Value = serde_json::from_slice(&sandbox.ok(&first).stdout).unwrap();
    let unscored = first["tokens"][0].as_str().unwrap().len();
    let scored = (sandbox.read("text.txt").len() - unscored) as f64;
    let bits = number("val_loss") * number("scored") / std::f64::consts::LN_2 / scored;
    assert!((number("bits_per_byte") - bits).abs() < 1e-9, "{event}");
    let words = ["--steps", "4", "--eval-every", "2", "--no-save", "--gen", "0"];
    sandbox.train(&[&BPE[..], &words].concat()).says(&["eval  step 2  val_loss=", "  bits/byte="]);
}

#[test]
fn stories_can_be_learned_in_tokens() {
    let small = ["--seq", "128", "--dmodel", "8", "--layers", "1", "--batch", "1", "--steps", "1"];
    let sandbox = sandbox();
    let bpe = ["--tokenizer", "bpe", "--vocab-size", "320", "--save", "m"];
    let outcome = sandbox.ok(&[&small[..], &bpe, &["--message-format", "json"]].concat());
    let done = &outcome.events_of("done")[0];
    assert!(done["facts"].as_object().unwrap().len() >= 6, "{outcome}");
    let floor = outcome.events_of("start")[0]["entropy_floor"].as_f64().unwrap();
    // The stories' entropy, in nats: so many per byte, more per token.
    let bytes = sandbox.ok(&[&small[..], &["--no-save", "--message-format", "json"]].concat());
    let per_byte = bytes.events_of("start")[0]["entropy_floor"].as_f64().unwrap();
    assert!(floor > 1.2 * per_byte && floor < 20.0 * per_byte, "{floor} {per_byte}");
    sandbox.ok(&["--load", "m", "--steps", "1", "--no-save", "--gen", "0"]);
    assert!(sandbox.ok(&["eval", "--load", "m"]).text().contains("nats per token"));
}

#[test]
fn a_tokenizer_of_one_s_own() {
    let sandbox = sandbox();
    learn(&sandbox, &["--vocab-size", "265"]);
    let new = ["--data", "text.txt", "--steps", "2", "--gen", "0", "--save"];
    sandbox.train(&[&new[..], &["a", "--tokenizer", "tok.json"]].concat()).says(&["265 bpe"]);
    let (vocab, merges) = gpt2_files(&sandbox.read("tok.json"));
    sandbox.write("vocab.json", vocab.as_bytes());
    sandbox.write("merges.txt", merges.as_bytes());
    let pair = ["--bpe-vocab", "vocab.json", "--bpe-merges", "merges.txt"];
    sandbox.train(&[&new[..], &["b", "--tokenizer", "bpe"], &pair].concat());
    assert!(sandbox.read("a") == sandbox.read("b"));
    sandbox
        .ok(&[&["--load", "a", "--data", "text.txt", "--steps", "1", "--no-save"], &pair[..]]
            .concat());
}

/// GPT-2's two files, taken out of a tokenizer.json by somebody else's hand.
fn gpt2_files(file: &[u8]) -> (String, String) {
    let file: serde_json::Value = serde_json::from_slice(file).unwrap();
    let model = &file["model"];
    let pairs = model["merges"].as_array().unwrap().iter();
    let word = |word: &serde_json::Value| word.as_str().unwrap().to_string();
    let lines = pairs.map(|pair| format!("{} {}\n", word(&pair[0]), word(&pair[1])));
    (model["vocab"].to_string(), format!("#version: 0.2\n{}", lines.collect::<String>()))
}

#[test]
fn flags_that_cannot_be() {
    let sandbox = sandbox();
    sandbox.write("v.txt", b"a\nb\nc\nd\ne\nab\nbc\ncd\nde\nabc\n");
    sandbox.write("m.txt", b"#version: 0.2\na b\nb c\nc d\nd e\nab c\n");
    sandbox.write("uni.json", br#"{"model":{"type":"Unigram","vocab":[]}}"#);
    let pair = ["--bpe-vocab", "v.txt", "--bpe-merges", "m.txt"];
    for (words, code, needles) in [
        (&["--bpe-vocab", "v.txt"][..], 2, &["--bpe-vocab", "add --bpe-merges"][..]),
        (&["--bpe-merges", "m.txt"], 2, &["--bpe-merges", "add --bpe-vocab"]),
        (&["--vocab-size", "270"], 2, &["--vocab-size 270", "needs --tokenizer bpe"]),
        (&["--tokenizer", "bpe", "--vocab-size", "255"], 2, &["--vocab-size 255 is outside 256"]),
        (&["--tokenizer", "bpe", "--vocab-size", "1048577"], 2, &["outside 256..=1048576"]),
        (&["--tokenizer", "bites"], 2, &["--tokenizer bites", "byte, char, bpe"]),
        (&["--tokenizer", "char", "--vocab-size", "270"], 2, &["needs --tokenizer bpe"]),
        (&[&pair[..], &["--tokenizer", "char"]].concat(), 2, &["names another"]),
        (&[&pair[..], &["--vocab-size", "270"]].concat(), 2, &["--vocab-size 270"]),
        (&pair, 65, &["'v.txt' and 'm.txt'", "lacks 251 of the 256 bytes", "0x00"]),
        (&["--bpe-vocab", "no", "--bpe-merges", "m.txt"], 66, &["cannot read 'no'"]),
        (&["--tokenizer", "./no"], 66, &["cannot read './no'"]),
        (&["--tokenizer", "uni.json"], 65, &["'uni.json'", "its model is Unigram"]),
        (&["--tokenizer", "text.txt"], 65, &["'text.txt'", "not a tokenizer.json"]),
        (
            &["--tokenizer", "bpe", "--vocab-size", "1000000", "--dmodel", "16384"],
            71,
            &["--dmodel"],
        ),
    ] {
        let all = [&["--data", "text.txt", "--steps", "1"], words].concat();
        sandbox.refuses(&all, code, needles);
    }
}

#[test]
fn a_large_text_is_read_in_parts() {
    let sandbox = sandbox();
    let words = [&TINY[..], &BPE, &["--steps", "3", "--gen", "0", "--save"]].concat();
    let run = |name: &str, limit: &str| {
        let mut command = sandbox.command(&[&words[..], &[name]].concat());
        let outcome =
            Outcome::new(&words, command.env("LLM_DATA_IN_MEMORY", limit).output().unwrap());
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert!(!outcome.stderr.contains("from the disk"), "{outcome}");
    };
    run("whole", "4000000");
    run("parts", "1000");
    assert!(sandbox.read("whole") == sandbox.read("parts"));
}

#[test]
fn what_is_printed_makes_the_same_run() {
    let sandbox = sandbox();
    learn(&sandbox, &[]);
    let (vocab, merges) = gpt2_files(&sandbox.read("tok.json"));
    sandbox.write("v", vocab.as_bytes());
    sandbox.write("m", merges.as_bytes());
    for words in [
        &["--tokenizer", "bpe"][..],
        &["--tokenizer", "bpe", "--vocab-size", "270"],
        &["--tokenizer", "./tok.json"],
        &["--bpe-vocab", "v", "--bpe-merges", "m"],
    ] {
        let run = ["--data", "text.txt", "--steps", "2", "--gen", "0", "--save", "one"];
        let words = [&TINY[..], &run, words].concat();
        let printed = sandbox.ok(&[&words[..], &["--print-config"]].concat());
        assert!(printed.stderr.is_empty(), "{printed}");
        sandbox.write("printed.toml", &printed.stdout);
        let again = sandbox.ok(&["--config", "printed.toml", "--print-config"]);
        assert_eq!(again.text(), printed.text());
        sandbox.ok(&words);
        sandbox.ok(&["--config", "printed.toml", "--save", "two"]);
        assert!(sandbox.read("one") == sandbox.read("two"), "{words:?}");
    }
}
