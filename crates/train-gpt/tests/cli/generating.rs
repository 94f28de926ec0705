//! Text from a model, and its score.

use crate::{sandbox, trained};
#[cfg(unix)]
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
use workspace_tests::cli_support::Outcome;

const WRITE: [&str; 3] = ["generate", "--load", "model"];

#[test]
fn greedy_text_is_one_and_drawn_text_follows_the_seed() {
    let sandbox = trained();
    let write = |words: &[&str]| sandbox.ok(&[&WRITE[..], &["-n", "40"], words].concat()).stdout;
    assert_eq!(write(&["--temp", "0"]), write(&["--temp", "0", "--seed", "9"]));
    assert_eq!(write(&["--seed", "3"]), write(&["--seed", "3", "--threads", "1"]));
    assert_ne!(write(&["--seed", "3"]), write(&["--seed", "4"]));
    assert_eq!(write(&["--topk", "1"]), write(&["--temp", "0"]));
}

/// The sample after training, that of a saved run, and that of a run that is gone on with.
#[test]
fn every_text_without_a_prompt_begins_as_those_that_were_learned() {
    let sandbox = sandbox();
    let small = ["--seq", "64", "--dmodel", "16", "--layers", "1", "--batch", "2"];
    let some = ["--steps", "1", "--gen", "3", "--message-format", "json", "--save", "m"];
    sandbox.write("ends.txt", &b"one text<|endoftext|>another one<|endoftext|>".repeat(40));
    let text = ["--data", "text.txt"];
    let marked = ["--data", "ends.txt", "--end-of-text", "marked"];
    let begins = |prompt: &str| match prompt {
        "\n" => "a line break",
        "" => "an end",
        words if words.split(' ').count() == 2 => "a story's words",
        other => panic!("{other:?}"),
    };
    for (data, as_these) in
        [(&[][..], "a story's words"), (&text, "a line break"), (&marked, "an end")]
    {
        let trained = sandbox.ok(&[&small[..], &some, data].concat());
        let written = sandbox.ok(&["generate", "--load", "m", "-n", "3", "--json"]);
        let again = &data[..data.len().min(2)];
        let more = ["--load", "m", "--schedule", "constant"];
        let more = sandbox.ok(&[&more[..], &some, again].concat());
        let samples = [trained, written, more].map(|told| told.events_of("sample")[0].clone());
        for sample in &samples {
            assert_eq!(begins(sample["prompt"].as_str().unwrap()), as_these, "{data:?}");
            assert_eq!(sample["prompt_ids"], samples[0]["prompt_ids"], "{data:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn prompts_of_all_kinds() {
    let sandbox = trained();
    let long = String::from_utf8(workspace_tests::cli_support::some_text(300)).unwrap();
    for (prompt, shown) in [
        (&b"the cat"[..], &b"the cat"[..]),
        (b"-n is no flag here", b"-n is no flag here"),
        ("naïve 猫".as_bytes(), "naïve 猫".as_bytes()),
        (b"bad \xff\xfe\x1b[31m", b"bad \\xFF\\xFE\\x1B[31m"),
        (long.as_bytes(), long.as_bytes()),
    ] {
        let words = WRITE.map(OsStr::new).into_iter();
        let rest = [OsStr::new("-n"), OsStr::new("5"), OsStr::new("-p"), OsStr::from_bytes(prompt)];
        let outcome = sandbox.ok(&words.chain(rest).collect::<Vec<_>>());
        assert!(outcome.stdout.starts_with(shown), "{outcome}");
        assert_eq!(outcome.stderr.contains("the last 16"), prompt.len() > 16, "{outcome}");
    }
    assert!(!sandbox.ok(&[&WRITE[..], &["-p", "", "-n", "5"]].concat()).stdout.is_empty());
}

#[test]
fn text_cannot_control_the_terminal_unless_raw() {
    let sandbox = trained();
    let write = |words: &[&str]| {
        let all = ["-n", "600", "--temp", "5", "-p", "\x1b[2J"];
        sandbox.ok(&[&WRITE[..], &all, words].concat())
    };
    let safe = write(&[]).text();
    assert!(safe.chars().all(|c| !c.is_control() || "\n\t".contains(c)), "{safe:?}");
    let escaped = write(&["--escape-bytes"]);
    assert!(escaped.stdout.iter().all(|b| matches!(b, b'\n' | b' '..=b'~')), "{escaped}");
    let raw = write(&["--raw"]);
    assert!(raw.stdout.starts_with(b"\x1b[2J") && raw.stdout.len() == 4 + 600 + 1, "{raw}");
    let ascii = write(&["--ascii-only", "--raw"]);
    let allowed = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    assert!(ascii.stdout[4..].iter().all(allowed), "{ascii}");
}

#[test]
fn next_token_tables() {
    let outcome = trained().ok(&[&WRITE[..], &["-n", "3", "--print-next-top", "4"]].concat());
    assert!(outcome.text().starts_with("Top-4 next tokens"), "{outcome}");
    assert!(outcome.text().contains("   4. id="), "{outcome}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let sandbox = trained();
    let mut child = sandbox.command(&[&WRITE[..], &["-n", "100000"]].concat()).spawn().unwrap();
    drop(child.stdout.take()); // as `head -c 10` does when it has enough
    let outcome = Outcome::new(&WRITE, child.wait_with_output().unwrap());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome}");
}

#[test]
fn training_goes_on_and_saves_when_the_reader_leaves() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "20", "--save", "m", "--message-format", "json"];
    let words = [&words[..], &["--seq", "16", "--dmodel", "16", "--layers", "1"]].concat();
    let mut child = sandbox.command(&words).spawn().unwrap();
    drop(child.stdout.take());
    let outcome = Outcome::new(&words, child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome}");
    sandbox.ok(&["--load", "m", "--gen", "1"]).says(&["at step 20"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let sandbox = trained();
    for words in [&["generate", "--load", "model"][..], &["completions", "bash"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            sandbox.command(words).stdout(std::process::Stdio::from(full)).output().unwrap();
        let outcome = Outcome::new(words, output);
        assert_eq!(outcome.code, Some(74), "{outcome}");
        outcome.says_one_error(&["standard output"]);
    }
}

#[test]
fn eval_prints_four_numbers_and_takes_short_files() {
    let sandbox = trained();
    sandbox.write("short", b"the");
    for file in ["text.txt", "short"] {
        let text = sandbox.ok(&["eval", "--load", "model", "--data", file]).text();
        for needle in ["loss ", "perplexity ", "bits per byte ", "top-1 "] {
            assert!(text.contains(needle), "{file}: no {needle}\n{text}");
        }
    }
    sandbox.write("one", b"t");
    sandbox.refuses(&["eval", "--load", "model", "--data", "one"], 65, &["one"]);
    sandbox.refuses(&["eval", "--load", "model"], 2, &["--data"]);
    let zero = ["eval", "--load", "model", "--data", "text.txt", "--batch", "0"];
    sandbox.refuses(&zero, 2, &["--batch"]);
    sandbox.refuses(&["eval", "--load", "model", "--data", "missing"], 66, &["missing"]);
}

#[test]
fn eval_does_not_depend_on_the_batch() {
    let sandbox = trained();
    let loss = |words: &[&str]| {
        let all = ["eval", "--load", "model", "--data", "text.txt", "--message-format", "json"];
        sandbox.ok(&[&all[..], words].concat()).events()[0]["val_loss"].as_f64().unwrap()
    };
    assert!((loss(&["--batch", "1"]) - loss(&["--batch-size", "7"])).abs() < 1e-6);
}

/// A model that was made small writes the same text on any number of threads, and what it loses is
/// told beside f32.
#[test]
fn small_weights_write_and_are_measured_beside_f32() {
    let sandbox = trained();
    let write = |words: &[&str]| sandbox.ok(&[&WRITE[..], &["-n", "40"], words].concat()).stdout;
    let exact = write(&["--temp", "1"]);
    assert_eq!(write(&["--temp", "1", "--weights", "f32"]), exact);
    assert_ne!(write(&["--temp", "1", "--weights", "q4"]), exact);
    let eval = ["eval", "--load", "model", "--data", "text.txt"];
    let json = |words: &[&str]| {
        let all = [&eval[..], &["--message-format", "json"], words].concat();
        sandbox.ok(&all).events_of("eval")[0].clone()
    };
    let plain = json(&[]);
    assert!(plain.get("f32_loss").is_none() && plain.get("weights").is_none());
    for kind in ["bf16", "q8", "q4"] {
        let one = write(&["--weights", kind, "--threads", "1"]);
        assert_eq!(write(&["--weights", kind, "--threads", "2"]), one, "{kind}");
        let text = sandbox.ok(&[&eval[..], &["--weights", kind]].concat()).text();
        assert!(text.contains(&format!("{kind} changes it by ")), "{text}");
        assert!(text.contains("same choice "), "{text}");
        let event = json(&["--weights", kind]);
        assert_eq!((&event["weights"], &event["f32_loss"]), (&kind.into(), &plain["val_loss"]));
        assert_ne!(event["val_loss"], plain["val_loss"]);
        assert!(event["same_first_choice"].as_f64().unwrap() > 0.5, "{event}");
    }
    sandbox.refuses(&[&WRITE[..], &["--weights", "q5"]].concat(), 2, &["--weights", "q8"]);
}
