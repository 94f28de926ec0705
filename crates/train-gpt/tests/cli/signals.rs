//! Ctrl-C and its relatives, and two runs at once.

use crate::sandbox;
use workspace_tests::cli_support::{Sandbox, TINY};

/// More steps than any test waits for.
const LONG: [&str; 8] =
    ["--data", "text.txt", "--steps", "10000000", "--save", "model", "--save-every", "0"];

fn long() -> Vec<&'static str> {
    [&TINY[..], &LONG].concat()
}

#[cfg(unix)]
#[test]
fn a_stopped_run_is_saved() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let sandbox = sandbox();
        let mut run = sandbox.start(&long());
        run.wait_for("step 10 ");
        run.signal(name);
        let outcome = run.end();
        assert_eq!(outcome.code, Some(code), "SIG{name}\n{outcome}");
        outcome.says(&["interrupted at step", "saved 'model'", "--load model"]);
        sandbox.ok(&["generate", "--load", "model", "-n", "1"]);
        assert!(!sandbox.path("model.lock").exists());
    }
}

#[cfg(unix)]
#[test]
fn what_was_ignored_stays_ignored() {
    let sandbox = sandbox();
    let some = ["--data", "text.txt", "--steps", "1000", "--gen", "0", "--save", "model"];
    let mut run = sandbox.start_ignoring("HUP INT", &[&TINY[..], &some].concat());
    run.wait_for("step 10 ");
    run.signal("HUP");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome.says(&["saved checkpoint 'model' at step 1000"]);

    let mut run = sandbox.start_ignoring("HUP INT", &long());
    run.wait_for("step 10 ");
    run.signal("TERM");
    assert_eq!(run.end().code, Some(143));
}

#[cfg(unix)]
#[test]
fn one_signal_ends_a_program_that_waits_for_its_input() {
    let sandbox = crate::trained();
    let before = sandbox.everything();
    for words in [
        &["eval", "--load", "model", "--data", "-"][..],
        &["generate", "--load", "model", "--prompt-file", "-"],
        &["inspect", "heads", "--load", "model", "--data", "-"],
    ] {
        for (name, code) in [("INT", 130), ("TERM", 143)] {
            let mut run = sandbox.start_reading(words);
            run.signal(name);
            let outcome = run.end();
            assert_eq!(outcome.code, Some(code), "SIG{name} {outcome}");
        }
    }
    assert!(sandbox.everything() == before);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_to_the_same_end() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "3000", "--gen", "0", "--log-every", "100"];
    sandbox.train(&[&run[..], &["--save", "whole"]].concat());
    let words = [&TINY[..], &run, &["--save", "parts"]].concat();
    let mut part = sandbox.start(&words);
    part.wait_for("step 100 ");
    part.signal("INT");
    assert_eq!(part.end().code, Some(130));
    assert!(sandbox.read("parts") != sandbox.read("whole"), "the signal came too late");
    let on = ["--load", "parts", "--save", "parts", "--data", "text.txt", "--gen", "0"];
    sandbox.ok(&on).says(&["at step 3000"]);
    assert!(sandbox.read("parts") == sandbox.read("whole"));
}

/// A text that takes long to score, and one step of a run that is judged on it.
#[cfg(unix)]
fn long_measurement(sandbox: &Sandbox) -> Vec<&'static str> {
    sandbox.write("val.txt", &b"once upon a time, ".repeat(200_000));
    let run = ["--data", "text.txt", "--val", "val.txt", "--steps", "1", "--eval-every", "0"];
    let wide = ["--seq", "16", "--dmodel", "128", "--layers", "4", "--batch", "2"];
    [&wide[..], &run, &["--save", "model"]].concat()
}

#[cfg(unix)]
#[test]
fn what_was_learned_is_saved_before_it_is_judged() {
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let sandbox = sandbox();
        let mut run = sandbox.start(&long_measurement(&sandbox));
        run.wait_for("saved checkpoint 'model' at step 1");
        run.signal(name);
        let outcome = run.end();
        assert_eq!(outcome.code, code, "{outcome}");
        assert!(!outcome.stderr.contains("result"), "{outcome}");
        if name == "INT" {
            outcome.says(&["of 262,144 tokens", "interrupted at step 1, saved 'model'"]);
        }
        sandbox.ok(&["generate", "--load", "model", "-n", "1"]);
    }
}

#[cfg(unix)]
#[test]
fn a_long_measurement_says_how_far_it_is_and_ends_with_a_signal() {
    let sandbox = sandbox();
    long_measurement(&sandbox);
    sandbox.train(&["--data", "text.txt", "--steps", "1", "--save", "model", "-q"]);
    sandbox.write("longer.txt", &b"once upon a time, ".repeat(3_000_000));
    let eval = ["eval", "--load", "model", "--data", "longer.txt", "--batch", "64"];
    let mut eval = sandbox.start(&eval);
    eval.wait_for("of 53,999,999 tokens");
    eval.signal("INT");
    let outcome = eval.end();
    assert_eq!((outcome.code, &outcome.stdout[..]), (Some(130), &b""[..]), "{outcome}");
    outcome.says(&["the measurement was cut after", "of 53,999,999 tokens"]);
}

#[cfg(unix)]
#[test]
fn nothing_to_save_is_said() {
    let sandbox = sandbox();
    let mut run = sandbox.start(&[&TINY[..], &LONG[..4], &["--no-save"]].concat());
    run.wait_for("step 10 ");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130));
    outcome.says(&["nothing saved"]);
}

#[test]
fn two_runs_do_not_write_one_file() {
    let sandbox = sandbox();
    let mut first = sandbox.start(&long());
    first.wait_for("step 10 ");
    sandbox.refuses(&long(), 75, &["model", "in use"]);
    // Nor under another name.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("model", sandbox.path("link")).unwrap();
        let link = ["--data", "text.txt", "--steps", "3", "--save", "link"];
        sandbox.refuses(&[&TINY[..], &link].concat(), 75, &["link", "in use"]);
    }
    first.kill();
    first.end();
    train_again(&sandbox);
}

#[test]
fn a_killed_run_leaves_no_lock() {
    let sandbox = sandbox();
    let often = [&TINY[..], &LONG[..6], &["--save-every", "1"]].concat();
    let mut first = sandbox.start(&often);
    first.wait_for("step 10 ");
    first.kill();
    assert_eq!(first.end().code, if cfg!(unix) { None } else { Some(1) });
    sandbox.ok(&["generate", "--load", "model", "-n", "1"]);
    train_again(&sandbox);
    let files: Vec<_> = sandbox.everything().into_keys().collect();
    assert_eq!(files, [sandbox.path("model"), sandbox.path("text.txt")]);
}

fn train_again(sandbox: &Sandbox) {
    sandbox.train(&["--data", "text.txt", "--steps", "1", "--save", "model"]);
}

#[cfg(unix)]
#[test]
fn names_cannot_control_the_terminal() {
    let sandbox = sandbox();
    let mut run = sandbox.start(&[&TINY[..], &LONG[..4], &["--save", "a\x1b[31mb"]].concat());
    run.wait_for("step 10 ");
    run.signal("INT");
    let outcome = run.end();
    outcome.says(&["interrupted at step"]);
    assert!(outcome.stderr.lines().all(|line| !line.contains(char::is_control)), "{outcome}");
}
