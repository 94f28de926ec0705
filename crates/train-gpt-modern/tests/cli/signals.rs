//! A signal ends every verb while it reads, or makes numbers of what it has read.

use crate::chats::chats;
use crate::sandbox;
use std::time::{Duration, Instant};
use workspace_tests::cli_support::{Running, Sandbox};

/// From the signal to the end, on a machine that has much else to do.
const SOON: Duration = Duration::from_secs(5);

/// Verbs that read their standard input to its end.
const READING: [&[&str]; 10] = [
    &["--data", "-", "--no-save"],
    &["--load", "model", "--data", "-", "--no-save"],
    &["generate", "--load", "model", "--prompt-file", "-"],
    &["eval", "--load", "model", "--data", "-"],
    &["inspect", "heads", "--load", "model", "--data", "-"],
    &["inspect", "prune", "--load", "model", "--data", "-"],
    &["inspect", "attention", "--load", "model", "--prompt-file", "-"],
    &["compare", "--data", "-", "--heads", "1,2"],
    &["tokenizer", "train", "--data", "-", "--save", "t.json"],
    &["tokenizer", "encode", "--load", "model", "--file", "-"],
];

/// Verbs that have much to read.
const LONG: [&[&str]; 5] = [
    &["--data", "chats.jsonl", "--no-save", "--gen", "0"],
    &["eval", "--load", "model", "--data", "chats.jsonl"],
    &["inspect", "heads", "--load", "model", "--data", "chats.jsonl"],
    &["inspect", "prune", "--load", "model", "--data", "chats.jsonl"],
    &["compare", "--data", "chats.jsonl", "--heads", "1,2"],
];

fn ends_soon(mut run: Running, (name, number): (&str, i32), words: &[&str]) {
    run.signal(name);
    let start = Instant::now();
    while !run.has_ended() {
        assert!(start.elapsed() < SOON, "SIG{name} {words:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let outcome = run.end();
    // Who has no handler is ended by the signal itself: a shell says the same number.
    assert!(outcome.code.is_none_or(|code| code == 128 + number), "SIG{name} {outcome}");
}

fn with_a_model() -> Sandbox {
    let sandbox = sandbox();
    sandbox.train(&["--data", "text.txt", "--steps", "1", "--gen", "0", "--save", "model"]);
    sandbox
}

#[test]
fn whoever_waits_for_input_ends() {
    let sandbox = with_a_model();
    let before = sandbox.everything();
    for words in READING {
        for signal in [("INT", 2), ("TERM", 15)] {
            ends_soon(sandbox.start_reading(words), signal, words);
        }
    }
    assert!(sandbox.everything() == before);
}

#[test]
fn whoever_has_much_to_read_ends() {
    let sandbox = with_a_model();
    sandbox.write("chats.jsonl", chats(40_000).as_bytes());
    for words in LONG {
        let run = sandbox.start(words);
        std::thread::sleep(Duration::from_millis(700));
        ends_soon(run, ("INT", 2), words);
    }
}
