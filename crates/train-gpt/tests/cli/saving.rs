//! Where a run is saved, and that nothing is ever lost by it.

use crate::{sandbox, trained};
use std::path::Path;
use std::process::Command;
use workspace_tests::cli_support::{Outcome, Sandbox, TINY};

#[test]
fn the_first_run_says_what_to_type_next_and_that_works() {
    let sandbox = sandbox();
    let first = sandbox.ok(&["--steps", "3", "--dmodel", "16", "--seq", "64"]);
    first.says(&["saved checkpoint 'runs/001/ckpt/last' at step 3", "generate --load runs/001"]);
    type_what_comes_next(&sandbox, &first);
    let runs = std::fs::read_dir(sandbox.path("runs")).unwrap().count();
    assert_eq!(runs, 1, "going on with a run's folder made another");
    assert_eq!(sandbox.read("runs/001/metrics.csv").iter().filter(|&&b| b == b'\n').count(), 1 + 4);
}

#[test]
fn what_to_type_next_names_odd_files_so_that_a_shell_understands() {
    for name in ["my run", "it's", "-dash"] {
        let sandbox = sandbox();
        let out = format!("--out={name}");
        let run = sandbox.train(&["--data", "text.txt", "--steps", "1", &out]);
        type_what_comes_next(&sandbox, &run);
    }
}

/// Types the commands after `next`, in a shell that does not find the program by its bare name: it
/// was started by its path, as `cargo run` does.
fn type_what_comes_next(sandbox: &Sandbox, outcome: &Outcome) {
    let (_, next) = outcome.stderr.split_once("\nnext ").unwrap();
    let commands: Vec<&str> = next.lines().map(str::trim).collect();
    assert_eq!(commands.len(), 2, "{outcome}");
    for command in commands {
        // Its steps are many; a few are enough of a test.
        let command = command.replace("--steps 500", "--steps 1");
        let output = shell(&command).current_dir(sandbox.path("")).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
}

#[cfg(not(windows))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut shell = Command::new("cmd");
    shell.raw_arg(format!("/S /C \"{command}\""));
    shell
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
    let folder = ["ckpt/best", "ckpt/best.json", "ckpt/last", "config.toml", "loss.svg"];
    let more = ["metrics.csv", "metrics.jsonl", "report.html", "run.json", "samples.jsonl"];
    let folder = [&folder[..], &more].concat();
    for (words, file, all) in [
        (&["--save", "model.ckpt"][..], Some("model.ckpt"), vec!["model.ckpt".to_string()]),
        (
            &["--out", "a/b"],
            Some("a/b/ckpt/last"),
            folder.iter().map(|name| format!("a/b/{name}")).collect(),
        ),
        (&["--no-save"], None, vec![]),
        (&["--no-save", "--save", "model.ckpt"], None, vec![]),
        (&["--steps", "0"], None, vec![]),
    ] {
        let sandbox = sandbox();
        let steps = if words.contains(&"--steps") { &[][..] } else { &["--steps", "2"] };
        let outcome = sandbox.train(&[&["--data", "text.txt"], steps, words].concat());
        let made: Vec<_> = sandbox.everything().into_iter().filter(|f| f.1.is_some()).collect();
        let made: Vec<_> =
            made.iter().map(|f| f.0.strip_prefix(sandbox.path("")).unwrap()).collect();
        let all = all.iter().map(String::as_str).chain(["text.txt"]);
        let expected: Vec<_> = all.map(Path::new).collect();
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
fn a_file_that_is_no_checkpoint_is_not_replaced() {
    let sandbox = sandbox();
    sandbox.write("thesis.doc", b"years of work");
    for file in ["text.txt", "./text.txt", "thesis.doc"] {
        let words = ["--data", "text.txt", "--steps", "1", "--save", file];
        sandbox.refuses(&[&TINY[..], &words].concat(), 73, &[file]);
    }
    sandbox.write("empty", b""); // as mktemp makes it
    sandbox.train(&["--data", "text.txt", "--steps", "1", "--save", "empty"]);
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
        let words = [&TINY[..], &probe, &words].concat();
        sandbox.refuses(&words, 2, &["--sanity-"]);
    }
}
