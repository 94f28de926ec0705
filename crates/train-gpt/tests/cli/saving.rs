//! Where a run is saved, and that nothing is ever lost by it.

use crate::{sandbox, trained};
use std::path::Path;
use std::process::Command;

#[test]
fn the_first_run_says_what_to_type_next_and_that_works() {
    let sandbox = sandbox();
    let first = sandbox.ok(&["--steps", "3"]);
    first.says(&["saved checkpoint 'runs/001/ckpt/last' at step 3", "generate --load runs/001"]);
    let saved = sandbox.read("runs/001/ckpt/last");

    let program = Path::new(env!("CARGO_BIN_EXE_train-gpt"));
    let (_, next) = first.stderr.split_once("\nnext ").unwrap();
    let commands: Vec<&str> = next.lines().map(str::trim).collect();
    assert!(commands.iter().all(|c| c.starts_with("train-gpt ")), "{commands:?}");
    // Its steps are many: one command that trains is enough of a test with few.
    let commands = commands.iter().map(|c| c.replace("--steps 500", "--steps 1"));
    for command in commands {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &command]).current_dir(sandbox.path(""));
        let output = shell.env("PATH", program.parent().unwrap()).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
    assert!(sandbox.read("runs/001/ckpt/last") == saved, "going on overwrote the first run");
}

#[test]
fn every_run_gets_the_next_free_number() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.path("runs/002")).unwrap();
    for expected in ["runs/001", "runs/003", "runs/004"] {
        let before = sandbox.everything();
        sandbox.train(&["--data", "text.txt", "--steps", "1"]).says(&[expected]);
        let after = sandbox.everything();
        assert!(before.iter().all(|(path, content)| after.get(path) == Some(content)));
        assert!(after.contains_key(&sandbox.path(expected).join("ckpt/last")));
    }
}

#[test]
fn a_file_a_folder_or_nothing() {
    for (words, file) in [
        (&["--save", "model.ckpt"][..], Some("model.ckpt")),
        (&["--out", "a/b"], Some("a/b/ckpt/last")),
        (&["--no-save"], None),
        (&["--no-save", "--save", "model.ckpt"], None),
        (&["--steps", "0"], None),
    ] {
        let sandbox = sandbox();
        let steps = if words.contains(&"--steps") { &[][..] } else { &["--steps", "2"] };
        let outcome = sandbox.train(&[&["--data", "text.txt"], steps, words].concat());
        let made: Vec<_> = sandbox.everything().into_iter().filter(|f| f.1.is_some()).collect();
        let made: Vec<_> =
            made.iter().map(|f| f.0.strip_prefix(sandbox.path("")).unwrap()).collect();
        let expected: Vec<_> = file.into_iter().chain(["text.txt"]).map(Path::new).collect();
        assert_eq!(made, expected, "{outcome}");
        if let Some(file) = file {
            outcome.says(&[&format!("saved checkpoint '{file}' at step 2")]);
        }
    }
}

#[test]
fn a_run_in_its_folder_is_not_replaced_by_another() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "2", "--out", "mine"];
    sandbox.train(&words);
    sandbox.refuses(&words, 73, &["mine", "--load"]);
    // The run itself may go on there.
    sandbox.train(&["--load", "mine", "--data", "text.txt", "--steps", "2", "--out", "mine"]);
    sandbox.ok(&["--load", "mine", "--gen", "1"]).says(&["at step 4"]);
}

#[test]
fn a_file_of_ones_choice_is_replaced_by_the_new_run_only_when_that_is_saved() {
    let sandbox = trained();
    let old = sandbox.read("model");
    sandbox.refuses(&["--save", "model", "--data", "missing"], 66, &["missing"]);
    sandbox.train(&["--data", "text.txt", "--steps", "5", "--save", "model"]);
    assert!(sandbox.read("model") != old);
}

#[test]
fn without_the_optimizer_the_file_is_smaller_and_loads() {
    let sandbox = trained();
    let without = ["--data", "text.txt", "--steps", "4", "--save", "small", "--save-opt", "0"];
    sandbox.train(&without);
    assert!(2 * sandbox.read("small").len() < sandbox.read("model").len());
    sandbox.ok(&["generate", "--load", "small", "-n", "3"]);
    sandbox.ok(&["--load", "small", "--data", "text.txt", "--steps", "1"]);
}

#[test]
fn a_probe_outside_the_data_costs_no_trained_step() {
    for words in [["--sanity-offset", "999999"], ["--sanity-ctx", "0"]] {
        let sandbox = sandbox();
        let probe = ["--data", "text.txt", "--steps", "3", "--sanity-next-from-data", "1"];
        let words = [&workspace_tests::cli_support::TINY[..], &probe, &words].concat();
        sandbox.refuses(&words, 2, &["--sanity-"]);
    }
}
