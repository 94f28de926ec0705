//! Less memory than a command would like, and data without an end.

use crate::sandbox;
use workspace_tests::cli_support::TINY;
#[cfg(feature = "bpe")]
use workspace_tests::cli_support::some_text;

#[test]
fn a_stream_without_an_end_is_read_up_to_a_bound() {
    let sandbox = sandbox();
    let words = [&TINY[..], &["--threads", "1", "--data", "-", "--steps", "1"]].concat();
    let endless = "yes | (ulimit -v 600000; exec \"$0\" \"$@\")";
    let outcome = sandbox.run_by_script(endless, &words);
    assert_eq!(outcome.code, Some(66), "{outcome}");
    outcome.says_one_error(&["'-'", "goes on after", "put it into a file"]);
}

/// How large the first thread's stack is, is for the system to say; no program needs much of it.
#[test]
fn a_small_stack_is_enough() {
    let sandbox = sandbox();
    let small = "ulimit -s 256; exec \"$0\" \"$@\"";
    let run = ["--data", "text.txt", "--steps", "2", "--gen", "4", "--save", "model"];
    let write = ["generate", "--load", "model", "-n", "4"];
    for words in [&["--version"][..], &["--help"], &[&TINY[..], &run].concat(), &write] {
        let outcome = sandbox.run_by_script(small, words);
        assert_eq!(outcome.code, Some(0), "{outcome}");
    }
    let outcome = sandbox.run_by_script(small, &["--no-such-flag"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
}

/// Little address space is no reason to abort, or to take long: it is enough, or it is refused.
#[cfg(feature = "bpe")]
#[test]
fn tokens_are_made_or_refused_under_any_limit() {
    let sandbox = sandbox();
    sandbox.write("long", &some_text(300_000));
    sandbox.ok(&[
        "tokenizer",
        "train",
        "--data",
        "long",
        "--vocab-size",
        "300",
        "--save",
        "t.json",
    ]);
    let encode = ["tokenizer", "encode", "--tokenizer", "t.json", "--file", "long"];
    let run =
        ["--data", "long", "--tokenizer", "t.json", "--steps", "1", "--gen", "0", "--no-save"];
    let mut codes = Vec::new();
    // A debug build alone takes 41,000 of them.
    for limit in (48_000..268_000).step_by(22_000) {
        let script = format!("ulimit -v {limit}; exec \"$0\" \"$@\"");
        for words in [encode.to_vec(), [&TINY[..], &run].concat()] {
            let outcome = sandbox.run_by_script(&script, &words);
            assert!(matches!(outcome.code, Some(0 | 71)), "{limit}: {outcome}");
            codes.push(outcome.code);
        }
    }
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(71)), "{codes:?}");
}

#[cfg(feature = "bpe")]
#[test]
fn a_vocabulary_that_has_no_room_is_refused_before_it_is_learned() {
    let sandbox = sandbox();
    // Words that all differ: each is kept.
    let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
    let word =
        |n: u32| (0..7).map(move |i| letter(n.wrapping_mul(2_654_435_761) >> (4 * i))).chain([' ']);
    let text: String = (0..700_000).flat_map(word).collect();
    sandbox.write("words", text.as_bytes());
    let little = "ulimit -v 300000; exec \"$0\" \"$@\"";
    let learn = ["tokenizer", "train", "--threads", "1", "--data", "words", "--save", "bpe.json"];
    let run = ["--threads", "1", "--data", "words", "--tokenizer", "bpe", "--steps", "1"];
    for words in [&learn[..], &run] {
        let outcome = sandbox.run_by_script(little, words);
        assert_eq!(outcome.code, Some(71), "{outcome}");
        outcome.says_one_error(&["memory", "available", "--data"]);
        assert!(!sandbox.path("bpe.json").exists());
    }
}
