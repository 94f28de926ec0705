//! How flags are written.

use crate::{sandbox, trained};

const RUN: [&str; 6] = ["--data", "text.txt", "--steps", "2", "--gen", "3"];

#[test]
fn booleans() {
    for (words, quiet) in [
        (&["--quiet"][..], true),
        (&["-q"], true),
        (&["--quiet", "1"], true),
        (&["--quiet=1"], true),
        (&["--quiet", "true"], true),
        (&["--quiet=true"], true),
        (&["--quiet", "0"], false),
        (&["--quiet=0"], false),
        (&["--quiet", "false"], false),
        (&["--quiet=false"], false),
        (&[], false),
    ] {
        let outcome = sandbox().train(&[&RUN[..], words].concat());
        assert_eq!(outcome.stderr.is_empty(), quiet, "{outcome}");
        assert!(!outcome.stdout.is_empty(), "{outcome}");
    }
    sandbox().refuses(&["--quiet=perhaps"], 2, &["--quiet", "perhaps"]);
}

#[test]
fn aliases_of_training() {
    let sandbox = sandbox();
    for (name, value, aliases) in [
        ("--batch", "3", &["--batch-size"][..]),
        ("--seq", "8", &["--seq-len", "--ctx", "--block-size"]),
        ("--dmodel", "24", &["--d-model", "--n-embd"]),
        ("--layers", "2", &["--n-layers", "--n-layer"]),
        ("--heads", "1", &["--n-heads", "--n-head"]),
        ("--steps", "7", &["--max-steps", "--max-iters"]),
        ("--lr", "0.5", &["--learning-rate"]),
    ] {
        // Small but for what is tried: each plan times a step.
        let small = [("--batch", "2"), ("--seq", "16"), ("--dmodel", "16"), ("--layers", "1")];
        let small = small.into_iter().filter(|(flag, _)| *flag != name);
        let small: Vec<&str> = small.flat_map(|(flag, value)| [flag, value]).collect();
        let planned = |words: &[&str]| {
            let dry = ["--data", "text.txt", "--dry-run"];
            let said = sandbox.ok(&[&dry, &small[..], words].concat()).stderr;
            // What is resident differs by a page or two from run to run, and so does the time.
            let without_memory = |l: &str| l.split(" · about ").next().map(str::to_string);
            let lines = said.lines().filter(|line| !line.starts_with("time "));
            lines.filter_map(without_memory).collect::<Vec<_>>()
        };
        let plan = |flag: &str| planned(&[flag, value]);
        let default = planned(&[]);
        assert_eq!(plan(name) == default, name == "--heads", "{name} {value} has no effect");
        for alias in aliases {
            assert_eq!(plan(alias), plan(name));
        }
    }
}

#[test]
fn aliases_of_writing() {
    let sandbox = trained();
    let write = |words: &[&str]| {
        sandbox.ok(&[&["generate", "--load", "model", "-p", "the"], words].concat()).stdout
    };
    let first = write(&["--gen", "9", "--temp", "2", "--topk", "5"]);
    assert_eq!(first, write(&["-n", "9", "--temperature", "2", "--top-k", "5"]));
    assert_eq!(first, write(&["--max-tokens=9", "--temperature=2", "--top-k=5"]));
}

#[test]
fn a_preset_and_a_dry_run() {
    let sandbox = sandbox();
    let before = sandbox.everything();
    let words = ["--preset", "original", "--data", "text.txt", "--dry-run"];
    let outcome = sandbox.ok(&words);
    outcome.says(&[
        "1 layer",
        "width 64",
        "context 64",
        "200 steps of 4 × 64",
        "lr 0.0003 (constant)",
    ]);
    assert!(sandbox.everything() == before, "a dry run left something");
    sandbox.ok(&[&words[..], &["--layers", "2"]].concat()).says(&["2 layers"]);
}

#[test]
fn help_and_version_are_results() {
    for (words, needle) in [
        (&["--help"][..], "--steps"),
        (&["-h"], "--steps"),
        (&["--version"], "train-gpt 0"),
        (&["generate", "--help"], "--prompt"),
        (&["eval", "--help"], "--data"),
    ] {
        let outcome = sandbox().ok(words);
        assert!(outcome.text().contains(needle) && outcome.stderr.is_empty(), "{outcome}");
    }
}

#[test]
fn completions_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = sandbox().ok(&["completions", shell]);
        for needle in ["train-gpt", "steps", "generate"] {
            assert!(outcome.text().contains(needle), "{shell}: no {needle}");
        }
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn manual_pages_for_the_program_and_its_verbs() {
    let sandbox = sandbox();
    sandbox.ok(&["man", "man/man1"]);
    let page = |name: &str| String::from_utf8(sandbox.read(name)).unwrap();
    assert!(page("man/man1/train-gpt.1").contains(".TH train-gpt 1"));
    assert!(page("man/man1/train-gpt-generate.1").contains("\\-\\-prompt"));
    let refused = sandbox.run(&["man", "/dev/null/man"]);
    assert_eq!(refused.code, Some(74), "{refused}");
}
