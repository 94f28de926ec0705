//! `--tokenizer`: bytes, or the characters of the text.

use crate::sandbox;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::model::SingleHead;
use std::sync::Arc;
use workspace_tests::cli_support::{Outcome, Sandbox, some_text};

/// Whether the program has BPE.
const BPE: bool = cfg!(feature = "bpe");

const CHARS: [&str; 4] = ["--data", "text.txt", "--tokenizer", "char"];

/// A run on text with characters of one to four bytes, saved as `model`.
fn trained() -> Sandbox {
    let sandbox = sandbox();
    let text = String::from_utf8(some_text(3000)).unwrap();
    sandbox.write("text.txt", text.replace("cat", "猫🐈é").replace('a', "\u{1b}").as_bytes());
    train(&sandbox, &["--steps", "4", "--save", "model", "-q", "--gen", "0"]);
    sandbox
}

fn train(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    sandbox.train(&[&CHARS, words].concat())
}

#[test]
fn characters_are_the_vocabulary() {
    let sandbox = sandbox();
    sandbox.write("text.txt", "naïve 猫\n".repeat(60).as_bytes());
    let outcome = train(&sandbox, &["--steps", "2", "--gen", "20"]);
    // n a ï v e space 猫 line-break
    outcome.says(&["8 char tokens", "2 × 16 tokens", "ln 8"]);
    outcome.prints(&["nats per token", "bits per byte"]);
    let bytes = sandbox.train(&["--data", "text.txt", "--steps", "2"]);
    bytes.says(&["2 × 16 bytes", "ln 256"]);
    bytes.prints(&["nats per byte"]);
    assert!(!bytes.stderr.contains("token"), "{bytes}");
}

#[test]
fn a_checkpoint_brings_its_vocabulary_along() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "2", "--save", "on"];
    sandbox.ok(&on).says(&["char tokens"]);
    sandbox.ok(&[&on[..], &["--tokenizer", "char"]].concat());
    let other = [&on[..], &["--tokenizer", "byte"]].concat();
    sandbox.refuses(&other, 65, &["model", "tokenizer char", "byte"]);
    sandbox.train(&["--data", "text.txt", "--steps", "1", "--save", "bytes"]);
    let other = ["--load", "bytes", "--data", "text.txt", "--steps", "1", "--tokenizer", "char"];
    sandbox.refuses(&other, 65, &["bytes", "tokenizer byte", "char"]);
}

#[test]
fn ten_and_ten_steps_are_twenty() {
    sandbox().ten_and_ten_steps_are_twenty(&["--tokenizer", "char", "--schedule", "constant"]);
}

#[test]
fn text_comes_in_whole_characters() {
    let sandbox = trained();
    let write = |words: &[&str]| {
        let all = ["generate", "--load", "model", "-n", "200", "--temp", "3"];
        sandbox.ok(&[&all[..], words].concat())
    };
    let safe = write(&["-p", "the 猫"]);
    assert!(safe.stdout.starts_with("the 猫".as_bytes()), "{safe}");
    assert!(std::str::from_utf8(&safe.stdout).is_ok() && !safe.stdout.contains(&0x1b), "{safe}");
    assert!(safe.text().contains('🐈') && safe.text().contains("\\x1B"), "{safe}");
    let raw = write(&["-p", "the", "--raw"]);
    assert_eq!(raw.text().chars().count(), 3 + 200 + 1);
    let ascii = write(&["-p", "the", "--ascii-only"]);
    assert!(ascii.stdout.is_ascii() && !ascii.text().contains("\\x"), "{ascii}");
    assert!(write(&["-p", "the", "--escape-bytes"]).stdout.is_ascii());
    let table = write(&["-p", "the", "--print-next-top", "30"]).text();
    assert!(table.contains("'猫'") && table.contains("'\\x1B'") && table.contains("'\\n'"));
    let json = write(&["-p", "the", "--message-format", "json"]);
    assert_eq!(json.events_of("sample")[0]["text"].as_str().unwrap().chars().count(), 200);
}

#[test]
fn a_prompt_of_unknown_characters_is_refused() {
    let sandbox = trained();
    for (prompt, named) in
        [("the Q", "'Q' (U+0051) at byte 4"), ("\u{7}", "'\\u{7}' (U+0007)"), ("ü", "(U+00FC)")]
    {
        let needles = ["--prompt", named];
        sandbox.refuses(&["generate", "--load", "model", "-p", prompt], 65, &needles);
        let train = ["--load", "model", "--data", "text.txt", "--steps", "1", "--prompt", prompt];
        sandbox.refuses(&train, 65, &needles);
    }
    // No prompt is no error, whether there are line breaks or not.
    sandbox.write("line", &b"abc".repeat(200));
    let words = ["--data", "line", "--tokenizer", "char", "--steps", "1", "--save", "line.ckpt"];
    // Nor is one suggested that would be.
    sandbox.train(&words).says(&["generate --load line.ckpt -n 200"]);
    sandbox.ok(&["generate", "--load", "line.ckpt", "-n", "4"]);
    sandbox.ok(&["generate", "--load", "line.ckpt", "-n", "4", "-p", ""]);
}

#[test]
fn the_whole_text_is_the_vocabulary_and_other_text_must_fit() {
    let sandbox = sandbox();
    // A character that only the validation part has.
    sandbox.write("late", &[&some_text(2000)[..], "猫".as_bytes()].concat());
    let new = ["--data", "late", "--tokenizer", "char", "--steps", "1", "--save", "model"];
    sandbox.train(&new);
    sandbox.write("other", b"the cat\nDog");
    let needles = ["'other'", "'D' (U+0044)", "at byte 8"];
    sandbox.refuses(&["eval", "--load", "model", "--data", "other"], 65, &needles);
    // In one of several files: its own name, and the place in it.
    let two = ["eval", "--load", "model", "--data", "late", "--data", "other"];
    sandbox.refuses(&two, 65, &needles);
    let on = ["--load", "model", "--data", "other", "--steps", "1", "--allow-data-change"];
    sandbox.refuses(&on, 65, &needles);
}

#[test]
fn loss_is_told_per_token_and_per_byte() {
    let sandbox = trained();
    let eval = ["eval", "--load", "model", "--data", "text.txt"];
    let text = sandbox.ok(&eval).text();
    for needle in ["nats per token", "perplexity ", "bits per byte ", "top-1 "] {
        assert!(text.contains(needle), "no {needle}\n{text}");
    }
    let event = &sandbox.ok(&[&eval[..], &["--message-format", "json"]].concat()).events()[0];
    let number = |field: &str| event[field].as_f64().unwrap();
    let text = String::from_utf8(sandbox.read("text.txt")).unwrap();
    assert_eq!(number("scored") as usize, text.chars().count() - 1);
    let scored = text.len() - text.chars().next().unwrap().len_utf8();
    let bits = number("val_loss") * number("scored") / std::f64::consts::LN_2 / scored as f64;
    assert!((number("bits_per_byte") - bits).abs() < 1e-9, "{event}");
}

#[test]
fn probes_name_tokens() {
    let sandbox = trained();
    let probe = ["--load", "model", "--data", "text.txt", "--sanity-next-from-data", "40"];
    let text = sandbox.ok(&[&probe[..], &["--sanity-top", "99"]].concat()).text();
    for needle in ["'猫'", "'🐈'", "'\\x1B'", "'\\n'", "Sanity top1 accuracy: "] {
        assert!(text.contains(needle), "no {needle}\n{text}");
    }
    let json = sandbox.ok(&[&probe[..], &["--message-format", "json"]].concat());
    let tokens = json.events_of("probe");
    assert_eq!(tokens.len(), 40);
    assert!(tokens.iter().all(|e| e["target"].as_u64().unwrap() < 30), "{json}");
}

#[test]
fn bytes_that_are_no_text_are_characters_too() {
    let sandbox = sandbox();
    let all: Vec<u8> = (0..3000).map(|i| (i * i % 251) as u8).collect();
    sandbox.write("bytes", &all);
    let words = ["--data", "bytes", "--tokenizer", "char", "--steps", "2", "--gen", "50"];
    sandbox.refuses(&words, 65, &["'bytes' is no text", "--data-as bytes"]);
    sandbox.train(&[&words[..], &["--data-as", "bytes"]].concat()).says(&["char tokens"]);
}

#[test]
fn stories_can_be_learned_in_characters() {
    let small = ["--seq", "256", "--dmodel", "8", "--layers", "1", "--batch", "1", "--steps", "1"];
    let sandbox = sandbox();
    let words = [&small[..], &["--tokenizer", "char", "--save", "m", "--message-format", "json"]];
    let outcome = sandbox.ok(&words.concat());
    let done = &outcome.events_of("done")[0];
    assert!(done["facts"].as_object().unwrap().len() >= 6, "{outcome}");
    assert!(outcome.events_of("start")[0]["expected_loss"].as_f64().unwrap() < 5.0);
    sandbox.ok(&["--load", "m", "--steps", "1", "--no-save", "--gen", "0"]);
    assert!(sandbox.ok(&["eval", "--load", "m"]).text().contains("nats per token"));
}

#[test]
fn a_checkpoint_whose_tokenizer_cannot_be_is_refused() {
    let sandbox = trained();
    let with = |kind: &str, blob: &[u8]| {
        let checkpoint = Checkpoint::load(&sandbox.path("model")).unwrap();
        let attention = SingleHead::from_spec(&checkpoint.meta.attention).unwrap();
        let trainer = checkpoint.into_trainer(Arc::new(attention)).unwrap();
        let spec = TokenizerSpec { kind: kind.into(), blob: blob.into() };
        save(&sandbox.path("bad"), &trainer, &spec, true).unwrap();
    };
    for (kind, blob, why) in [
        ("words\x1b", &b""[..], "words\\u{1b} tokenizer: this program does not have it"),
        ("byte", b"", "byte tokenizer with 256 tokens"),
        ("byte", b"x", "byte tokenizer: 1 bytes"),
        ("char", b"\x01a\x01b", "char tokenizer with 2 tokens"),
        ("char", b"\x01b\x01a", "at byte 2: characters out of order"),
        ("char", b"", "no characters"),
        ("bpe", b"{}", if BPE { "not a tokenizer.json" } else { "built without BPE" }),
    ] {
        with(kind, blob);
        for words in [
            &["generate", "--load", "bad"][..],
            &["eval", "--load", "bad", "--data", "text.txt"],
            &["--load", "bad", "--data", "text.txt", "--steps", "1"],
        ] {
            sandbox.refuses(words, 65, &["checkpoint 'bad'", why]);
        }
    }
}

#[cfg(not(feature = "bpe"))]
#[test]
fn a_program_without_bpe_says_so() {
    let needles = ["built without BPE tokenizers (cargo feature bpe)"];
    for kind in ["bpe", "tokenizer.json"] {
        sandbox().refuses(&["--data", "text.txt", "--tokenizer", kind], 2, &needles);
    }
}
