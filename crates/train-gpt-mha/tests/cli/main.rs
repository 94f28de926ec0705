//! The command line of `train-gpt-mha` where it is not that of `train-gpt`: heads.

#![allow(clippy::unwrap_used)]

mod compare;
mod inspect;
mod lang;
mod nano_gpt;
mod numbers;
#[cfg(unix)] // a shell types their commands
mod pages;
mod several_processes;
mod trace;
mod web;

use workspace_tests::cli_support::{Sandbox, as_multi_head};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_train-gpt-mha"))
}

const RUN: [&str; 7] = ["--data", "text.txt", "--steps", "4", "--gen", "0", "--save"];

#[test]
fn four_heads_unless_said_otherwise() {
    let sandbox = sandbox();
    for (words, heads) in [
        (&[][..], 4),
        (&["--heads", "2"], 2),
        (&["--n-heads", "8"], 8),
        (&["--n-head=16"], 16),
        (&["--heads", "1"], 1),
    ] {
        let json = ["--dry-run", "--message-format", "json"];
        let start = sandbox.train(&[&["--data", "text.txt"], words, &json].concat());
        assert_eq!(start.events_of("start")[0]["heads"], heads, "{start}");
    }
}

#[test]
fn heads_are_a_setting() {
    let sandbox = sandbox();
    sandbox.write("run.toml", b"[model]\nheads = 2\n");
    for (words, heads) in [(&[][..], "heads = 2"), (&["--n-heads", "8"], "heads = 8")] {
        let config = ["--data", "text.txt", "--config", "run.toml", "--print-config"];
        let printed = sandbox.train(&[&config, words].concat());
        assert!(printed.text().lines().any(|line| line == heads), "{printed}");
    }
}

#[test]
fn heads_must_divide_the_width() {
    for (heads, width, divisors) in [
        ("3", "64", "1, 2, 4, 8, 16, 32, 64"),
        ("0", "6", "1, 2, 3, 6"),
        ("128", "64", "1, 2, 4, 8, 16, 32, 64"),
        ("2", "7", "1, 7"),
    ] {
        let words = ["--heads", heads, "--dmodel", width];
        sandbox().refuses(&words, 2, &["--heads", heads, width, divisors]);
    }
}

#[test]
fn a_loaded_model_has_its_heads_again() {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["model", "--heads", "2"]].concat());
    let on = ["--load", "model", "--data", "text.txt", "--steps", "1", "--no-save"];
    sandbox.ok(&on).says(&["2 heads"]);
    sandbox.ok(&[&on[..], &["--heads", "2"]].concat()).says(&["2 heads"]);
    let other = [&on[..], &["--heads", "8"]].concat();
    sandbox.refuses(&other, 65, &["model", "heads 2", "8"]);
    let text = |words: &[&str]| sandbox.ok(words).stdout;
    let words = ["generate", "--load", "model", "-p", "the", "-n", "20"];
    assert_eq!(text(&words), text(&words));
}

#[test]
fn heads_change_what_is_learned() {
    let sandbox = sandbox();
    let losses = |heads| {
        let words = ["--heads", heads, "--log-every", "1", "--message-format", "json"];
        sandbox.train(&[&RUN[..], &["model"], &words].concat()).losses()
    };
    assert_ne!(losses("1"), losses("4"));
}

/// What the tests of `train-gpt` take for a multi-head checkpoint is one.
#[test]
fn a_checkpoint_that_names_heads_is_opened() {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["single", "--heads", "1"]].concat());
    as_multi_head(&sandbox.path("single"), &sandbox.path("four"), 4);
    let on = ["--load", "four", "--data", "text.txt", "--steps", "1", "--no-save"];
    sandbox.ok(&on).says(&["4 heads"]);
}

#[test]
fn ten_and_ten_steps_are_twenty() {
    let cosine = ["--schedule", "cosine", "--decay-steps", "20"];
    for schedule in [&["--schedule", "constant"][..], &cosine] {
        sandbox().ten_and_ten_steps_are_twenty(schedule);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_to_the_same_end() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "1500", "--gen", "0"];
    sandbox.train(&[&run[..], &["--save", "whole"]].concat());
    let mut part = sandbox
        .start(&[&workspace_tests::cli_support::TINY[..], &run, &["--save", "parts"]].concat());
    part.wait_for("step 50 ");
    part.signal("INT");
    let outcome = part.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["train-gpt-mha --load parts"]);
    sandbox.ok(&["--load", "parts", "--save", "parts", "--data", "text.txt", "--gen", "0"]);
    assert!(sandbox.read("parts") == sandbox.read("whole"));
}

#[test]
fn its_own_name_is_in_what_it_says() {
    let sandbox = sandbox();
    let help = sandbox.ok(&["--help"]).text();
    assert!(help.contains("--heads") && help.contains("train-gpt-mha generate"), "{help}");
    sandbox.refuses(&["--hedas", "4"], 2, &["--hedas", "train-gpt-mha --help"]);
    let completions = sandbox.ok(&["completions", "bash"]).text();
    assert!(completions.contains("train-gpt-mha") && completions.contains("--heads"));
}

#[test]
fn several_heads_go_to_hugging_face_and_come_back() {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["model", "--arch", "gpt2"]].concat());
    sandbox.ok(&["export", "hf", "--load", "model", "out"]);
    sandbox.ok(&["import", "hf", "out", "--save", "back"]).says(&["4 heads"]);
    let text = |file| sandbox.ok(&["generate", "--load", file, "-p", "the", "-n", "20"]).stdout;
    assert_eq!(text("model"), text("back"));
    let words = ["import", "hf", "out", "--save", "back", "--heads", "2"];
    sandbox.refuses(&words, 65, &["4 heads", "--heads 2"]);
    sandbox.ok(&["import", "hf", "out", "--save", "back", "--heads", "4"]);
}
