//! Numbers that run away end a run; what was good before stays.

use crate::sandbox;
use std::collections::BTreeMap;
use std::path::PathBuf;
use workspace_tests::cli_support::Sandbox;

/// A run of six steps in the folder `z`.
fn a_good_run() -> Sandbox {
    let sandbox = sandbox();
    let text = ["--data", "text.txt", "--gen", "0"];
    sandbox.train(&[&text[..], &["--steps", "6", "--schedule", "constant", "--out", "z"]].concat());
    sandbox
}

fn checkpoints(sandbox: &Sandbox) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let all = sandbox.everything().into_iter();
    let ckpt = sandbox.path("z/ckpt");
    all.filter(|(path, content)| path.starts_with(&ckpt) && content.is_some()).collect()
}

/// Rates from "still finite" to "out of the range of f32", with and without measurements and saves
/// on the way, to the folder of the good run.
#[test]
fn a_useless_state_replaces_nothing() {
    for (rate, more) in [
        ("1e20", &["--steps", "1"][..]),
        ("1e20", &["--steps", "2", "--save-every", "1"]),
        ("1e20", &["--steps", "2", "--eval-every", "1"]),
        ("1e20", &["--steps", "1", "--val-frac", "0"]),
        ("1e20", &["--steps", "9", "--max-time", "0.001s"]),
        ("3e38", &["--steps", "1"]),
        ("3e38", &["--steps", "3", "--save-every", "1", "--keep", "2"]),
    ] {
        let sandbox = a_good_run();
        let before = checkpoints(&sandbox);
        assert_eq!(before.len(), 3, "last, best, best.json");
        let on = ["--load", "z", "--out", "z", "--data", "text.txt", "--lr", rate];
        let outcome = sandbox.run(&[&on[..], more].concat());
        assert_eq!(outcome.code, Some(3), "{outcome}");
        outcome.says(&["'z/ckpt/last' is unchanged", "lower --lr"]);
        assert!(!outcome.stderr.contains("make room"), "{outcome}");
        assert!(checkpoints(&sandbox) == before, "{outcome}");
        sandbox.ok(&["generate", "--load", "z", "-p", "the", "-n", "4"]);
    }
}

/// A new run that runs away at once leaves no file that cannot write a token.
#[test]
fn a_useless_state_is_not_kept_at_all() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "3", "--save-every", "1", "--out", "new"];
    let tiny = &workspace_tests::cli_support::TINY[..];
    let outcome = sandbox
        .run(&[tiny, &words, &["--lr", "1e25", "--warmup", "0", "--init", "fan-in"]].concat());
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(!sandbox.path("new/ckpt/last").exists() && !sandbox.path("new/ckpt/best").exists());
}
