//! Bad input: one clear line, the right exit code, nothing changed, nothing printed.

use crate::{sandbox, trained};
#[cfg(unix)]
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
use workspace_tests::cli_support::TINY;

#[test]
fn flags_that_cannot_be() {
    for (words, needles) in [
        (&["--steps", "1.5"][..], &["--steps", "1.5"][..]),
        (&["--steps", "-1"], &["--steps", "-1"]),
        (&["--stesp", "3"], &["--stesp"]),
        (&["trian"], &["trian"]),
        (&["generate"], &["--load"]),
        (&["generate", "--load", "text.txt", "--steps", "3"], &["--steps"]),
        (&["--lr", "nan"], &["--lr", "NaN"]),
        (&["--lr", "inf"], &["--lr", "inf"]),
        (&["--lr", "0"], &["--lr", "0"]),
        (&["--lr", "-0.1"], &["--lr", "-0.1"]),
        (&["--min-lr", "1"], &["--min-lr", "1"]),
        (&["--temp", "-1"], &["--temp", "-1"]),
        (&["--temp", "nan"], &["--temp", "NaN"]),
        (&["--clip", "-1"], &["--clip", "-1"]),
        (&["--clip", "nan"], &["--clip"]),
        (&["--val-frac", "1"], &["--val-frac", "1"]),
        (&["--val-frac", "-0.1"], &["--val-frac", "-0.1"]),
        (&["--beta1", "1"], &["--beta1", "1"]),
        (&["--beta2", "nan"], &["--beta2"]),
        (&["--weight-decay", "-1"], &["--weight-decay", "-1"]),
        (&["--threads", "0"], &["--threads", "0"]),
        (&["--threads", "999999"], &["--threads", "999999"]),
        (&["--batch", "0"], &["--batch", "0"]),
        (&["--seq", "0"], &["--seq", "0"]),
        (&["--dmodel", "0"], &["--dmodel", "0"]),
        (&["--layers", "0"], &["--layers", "0"]),
        (&["--dmodel", "16385"], &["--dmodel", "16385", "16384"]),
        (&["--layers", "513"], &["--layers", "513", "512"]),
        (&["--seq", "65537"], &["--seq", "65537", "65536"]),
        (&["--dmodel", "18446744073709551616"], &["--dmodel"]),
        (&["--seed", "-1"], &["--seed"]),
        (&["--schedule", "cosinus"], &["--schedule", "cosinus"]),
        (&["--preset", "nobody"], &["--preset", "nobody"]),
        (&["--tokenizer", "words"], &["--tokenizer", "words"]),
        (&["--message-format", "xml"], &["--message-format", "xml"]),
        (&["--save", "a", "--out", "b"], &["--save", "--out"]),
        (&["--heads", "4"], &["--heads 4", "train-gpt-mha"]),
        (&["--heads", "0"], &["--heads 0"]),
        (&["--allow-data-change"], &["--allow-data-change", "--load"]),
        (&["completions", "tcsh"], &["tcsh"]),
        (&["--decay-steps", "18446744073709551615"], &["--decay-steps"]),
        (&["--sanity-next-from-data", "18446744073709551615"], &["--sanity-next-from-data"]),
        (&["--min-acc", "0.5"], &["--min-acc", "--sanity-next-from-data"]),
        (&["--slide", "999"], &["--slide 999"]),
        (&["bench", "--steps", "0"], &["--steps 0"]),
        (&["bench", "--batch", "0"], &["--batch 0"]),
    ] {
        sandbox().refuses(words, 2, needles);
    }
}

#[test]
fn more_memory_than_there_is() {
    let terabytes = ["--batch", "1000000", "--seq", "65536", "--dmodel", "1024"];
    let outcome = sandbox().refuses(&terabytes, 71, &["memory", "available", "--batch"]);
    assert!(!outcome.stderr.contains("internal"));
    sandbox().refuses(&["--dmodel", "16384", "--layers", "2"], 71, &["memory", "--dmodel"]);
}

#[test]
fn data_that_cannot_be_read_or_used() {
    let sandbox = sandbox();
    sandbox.write("empty", b"");
    sandbox.write("ten", b"0123456789");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for (file, code, needles) in [
        ("missing", 66, &["'missing'"][..]),
        ("missing/deeper", 66, &["'missing/deeper'"]),
        ("text.txt/deeper", 66, &["'text.txt/deeper'"]),
        ("folder", 66, &["'folder'", "folder"]),
        ("/dev/null", 66, &["'/dev/null'"]),
        ("empty", 65, &["'empty'", "empty"]),
        ("-", 65, &["standard input"]),
        ("ten", 65, &["'ten'", "9", "65", "--seq"]),
    ] {
        sandbox.refuses(&["--data", file], code, needles);
    }
}

#[test]
fn checkpoints_that_cannot_be_read_or_used() {
    let sandbox = trained();
    let good = sandbox.read("model");
    let mut damaged = good.clone();
    let middle = good.len() / 2;
    damaged[middle] ^= 1;
    let mut header = good.clone();
    header[50] ^= 0x40;
    let mut older = good.clone();
    older[8] = 1;
    let mut newer = good.clone();
    newer[8] = 99;
    for (file, bytes, needle) in [
        ("truncated", &good[..good.len() - 1], "bytes"),
        ("stump", &good[..20], "too short"),
        ("empty", b"", "too short"),
        ("appended", &[&good[..], b"x"].concat(), "bytes"),
        ("damaged", &damaged, "checksum"),
        ("header", &header, "checksum"),
        ("older", &older, "format 1, which is no longer read; the programs of commit ba6595f"),
        ("newer", &newer, "format 99"),
        ("foreign", &sandbox.read("text.txt"), "not a checkpoint"),
    ] {
        sandbox.write(file, bytes);
        let shown = format!("'{file}'");
        for words in [
            &["--load", file, "--data", "text.txt", "--steps", "1", "--save", "model"][..],
            &["generate", "--load", file],
            &["eval", "--load", file, "--data", "text.txt"],
        ] {
            sandbox.refuses(words, 65, &["checkpoint", &shown, needle]);
        }
    }
    // What to do: another copy, or what else the run has saved.
    sandbox.refuses(&["--load", "truncated"], 65, &["not whole", "another copy"]);
    let run = ["--data", "text.txt", "--steps", "4", "--eval-every", "2", "--keep", "1"];
    sandbox.train(&[&run[..], &["--save-every", "2", "--out", "run", "--gen", "0"]].concat());
    sandbox.write("run/ckpt/last", &good[..5000]);
    let refused =
        sandbox.refuses(&["--load", "run"], 65, &["5000 bytes", "the run has also saved"]);
    refused.says(&["'run/ckpt/best', 'run/ckpt/step-"]);
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for (file, needle) in [("missing", "missing"), ("folder", "folder"), ("/proc/nothing", "/proc")]
    {
        for words in [&["--load", file][..], &["generate", "--load", file]] {
            sandbox.refuses(words, 66, &[needle]);
        }
    }
}

#[test]
fn output_that_cannot_be_written_is_found_out_before_training() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for (flag, target) in [
        ("--save", "missing/model"),
        ("--save", "folder"),
        ("--save", "folder/"),
        ("--save", "text.txt/model"),
        ("--save", "/proc/model"),
        ("--save", "/dev/full"),
        ("--save", ""),
        ("--out", "text.txt"),
        ("--out", "/proc/run"),
    ] {
        let words = [&TINY[..], &["--data", "text.txt", "--steps", "2", flag, target]].concat();
        // An empty value is a usage error.
        let code = if target.is_empty() { 2 } else { 73 };
        sandbox.refuses(&words, code, &[if target.is_empty() { flag } else { target }]);
    }
    sandbox.write("runs", b"a file");
    sandbox.refuses(&["--data", "text.txt", "--steps", "2"], 73, &["runs"]);
}

#[cfg(unix)]
#[test]
fn names_cannot_control_the_terminal() {
    let sandbox = sandbox();
    for name in
        [&b"a\x1b[31mb\nc"[..], "x\u{202e}y".as_bytes(), b"bad\xffutf8", "\u{9b}1m".as_bytes()]
    {
        let name = OsStr::from_bytes(name);
        for (flag, code) in [("--data", 66), ("--load", 66)] {
            sandbox.refuses(&[OsStr::new(flag), name], code, &[]);
        }
        sandbox.refuses(&[name], 2, &[]);
        sandbox.refuses(&[OsStr::new("--steps"), name], 2, &[]);
        // As a target it is a name like any other, and every message stays clean.
        let words = ["--data", "text.txt", "--steps", "1", "--gen", "0", "--seq", "16", "--out"];
        let words = words.map(OsStr::new).into_iter().chain([name]).collect::<Vec<_>>();
        let outcome = sandbox.ok(&words);
        let clean = |c: char| !c.is_control() && !matches!(c, '\u{202e}');
        assert!(outcome.stderr.lines().all(|line| line.chars().all(clean)), "{outcome}");
    }
}

#[test]
fn a_run_that_diverges_ends_with_3_and_keeps_the_old_checkpoint() {
    let sandbox = trained();
    let old = sandbox.read("model");
    let words = ["--data", "text.txt", "--steps", "50", "--lr", "1e30", "--clip", "0"];
    let outcome = sandbox.run(&[&TINY[..], &words, &["--warmup", "0", "--save", "model"]].concat());
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let last = outcome.stderr.lines().last().unwrap();
    assert!(last.starts_with("error: ") && last.contains("step"), "{outcome}");
    assert!(sandbox.read("model") == old);
}

#[test]
fn heads_are_compared_by_the_other_program() {
    let sandbox = sandbox();
    sandbox.refuses(&["compare", "--heads", "1,2"], 2, &["compare", "train-gpt-mha compare"]);
    let help = sandbox.ok(&["--help"]).text();
    let has = |verb: &str| help.lines().any(|line| line.starts_with(&format!("  {verb} ")));
    assert!(has("bench") && !has("compare"), "{help}");
}
