//! What a terminal would obey, and what a program would wait or stumble over.

use crate::{sandbox, trained};
#[cfg(unix)]
use std::process::Command;
use workspace_tests::cli_support::{Outcome, TINY};

/// DEL, C1, an override of the direction: what JSON leaves as it is.
#[cfg(unix)]
const NAME: &str = "a\x1b[31mb\x7fc\u{9b}1m\u{202e}d";

/// Neither output has a character that a terminal obeys.
fn is_clean(outcome: &Outcome) {
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!outcome.text().contains(obeyed), "{outcome}");
    assert!(!outcome.stderr.contains(obeyed), "{outcome}");
}

#[cfg(unix)] // which has names of any characters
#[test]
fn no_name_controls_the_terminal() {
    let sandbox = trained();
    sandbox.write(NAME, &b"some text to read ".repeat(40));
    let heads = ["inspect", "heads", "--load", "model", "--data", NAME];
    is_clean(&sandbox.ok(&heads));
    let json = sandbox.ok(&[&heads[..], &["--json"]].concat());
    is_clean(&json);
    assert_eq!(json.events()[0]["data"], format!("'{NAME}'"));

    let run = ["--data", NAME, "--steps", "1", "--gen", "0", "--out", NAME, "--message-format"];
    std::fs::remove_file(sandbox.path(NAME)).unwrap();
    sandbox.write("text", &b"some text to read ".repeat(40));
    let run = [&TINY[..], &["--data", "text"], &run[2..], &["json"]].concat();
    let json = sandbox.ok(&run);
    is_clean(&json);
    assert_eq!(json.events_of("saved")[0]["path"], format!("{NAME}/ckpt/last"));
    sandbox.write(format!("{NAME}/metrics.csv"), b"no log");
    let on = ["--load", NAME, "--out", NAME, "--data", "text", "--steps", "1", "--gen", "0"];
    let outcome = sandbox.ok(&on);
    outcome.says(&["is not a log"]);
    is_clean(&outcome);
}

#[test]
fn a_text_in_json_is_the_same_text_without_control() {
    let sandbox = trained();
    let text = "x\x7f\u{9b}\u{202e}\u{2028}";
    let outcome = sandbox.ok(&["generate", "--load", "model", "-n", "1", "--json", "-p", text]);
    is_clean(&outcome);
    assert_eq!(outcome.events()[0]["prompt"], text);
    let samples = ["--data", "text.txt", "--steps", "1", "--gen", "1", "--out", "run", "-p", text];
    sandbox.train(&samples);
    let kept = String::from_utf8(sandbox.read("run/samples.jsonl")).unwrap();
    assert!(kept.is_ascii(), "{kept}");
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_is_not_waited_for() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "1", "--gen", "0"];
    sandbox.train(&[&run[..], &["--out", "run"]].concat());
    let fifo = |name: &str| {
        let made = Command::new("mkfifo").arg(sandbox.path(name)).status().unwrap();
        assert!(made.success());
    };
    std::fs::remove_file(sandbox.path("run/ckpt/best.json")).unwrap();
    fifo("run/ckpt/best.json");
    sandbox.ok(&[&run[..], &["--load", "run", "--save", "model"]].concat());
    if cfg!(feature = "bpe") {
        fifo("vocab.json");
        let files = ["--bpe-vocab", "vocab.json", "--bpe-merges", "text.txt"];
        let bpe = [&TINY[..], &["--data", "text.txt", "--tokenizer", "bpe"], &files].concat();
        sandbox.refuses(&bpe, 66, &["vocab.json", "not a regular file"]);
    }
}

#[test]
fn a_stack_is_as_large_as_the_work_needs() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "2", "--gen", "5", "--save", "model"];
    let mut command = sandbox.command(&[&TINY[..], &words].concat());
    let outcome = Outcome::new(&words, command.env("RUST_MIN_STACK", "1").output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome}");
}

#[test]
fn a_negative_number_is_a_value_in_every_verb() {
    let sandbox = trained();
    for words in [
        &["inspect", "attention", "--load", "model", "-p", "the", "--layer", "-1"][..],
        &["inspect", "heads", "--load", "model", "--tokens", "-1"],
        &["tokenizer", "train", "--data", "text.txt", "--save", "bpe", "--vocab-size", "-1"],
    ] {
        let flag = words[words.len() - 2];
        let outcome = sandbox.refuses(words, 2, &[flag, "-1"]);
        assert!(!outcome.stderr.contains("unexpected argument"), "{outcome}");
    }
}
