//! The program runs: the baseline without a flag and with one head, the variant with more.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_way-one")).args(words).output().unwrap()
}

fn text(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn one_head_is_the_baseline_and_more_are_the_variant() {
    let (plain, one, four) = (text(&[]), text(&["--heads", "1"]), text(&["--heads", "4"]));
    assert_eq!(plain, one);
    assert!(one.starts_with("single-head attention, heads: 1\n"), "{one}");
    assert!(four.starts_with("multi-head attention, heads: 4\n"), "{four}");
    let losses = |text: &str| -> Vec<f32> {
        text.lines().skip(1).map(|l| l.split("loss ").nth(1).unwrap().parse().unwrap()).collect()
    };
    for text in [&one, &four] {
        let losses = losses(text);
        assert_eq!(losses.len(), 4);
        assert!(losses[3] < losses[0] - 1.0, "{losses:?}");
    }
    assert_ne!(losses(&one), losses(&four));
}

#[test]
fn what_cannot_be_is_one_line() {
    for (words, reason) in [
        (&["--heads", "5"][..], "5 heads do not divide"),
        (&["--heads", "0"], "0 heads do not divide"),
        (&["--heads", "many"], "the only flag is --heads"),
        (&["--steps", "3"], "the only flag is --heads"),
    ] {
        let output = run(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error}");
        assert!(error.contains(reason), "{error}");
    }
}
