//! Bad input: one line each, and nothing written.

use crate::{RUN, sandbox};
use workspace_tests::cli_support::TINY;

#[test]
fn what_does_not_fit_is_refused_by_its_flag() {
    let sandbox = sandbox();
    let before = sandbox.everything();
    for (words, needles) in [
        (&["--kv-heads", "3"][..], &["--kv-heads", "3 do not divide 4 heads", "1, 2, 4"][..]),
        (&["--kv-heads", "0"], &["--kv-heads", "0 do not divide"]),
        (&["--kv-heads", "8"], &["--kv-heads", "8 do not divide 4"]),
        (&["--window", "0"], &["--window", "0 positions"]),
        (&["--positions", "rotary", "--rotary-dim", "3"], &["--rotary-dim", "in pairs"]),
        (&["--positions", "rotary", "--rotary-dim", "32"], &["--rotary-dim", "32", "of 16"]),
        (&["--positions", "rotary", "--rotary-dim", "0"], &["--rotary-dim", "0"]),
        (&["--positions", "rotary", "--head-dim", "5"], &["--head-dim", "5", "in pairs"]),
        (&["--positions", "rotary", "--rope-theta", "1"], &["--rope-theta", "above 1"]),
        (&["--positions", "rotary", "--rope-theta", "nan"], &["--rope-theta"]),
        (&["--rope-theta", "100"], &["--rope-theta", "--positions rotary"]),
        (&["--arch", "llama", "--positions", "none", "--rotary-dim", "2"], &["--rotary-dim"]),
        (&["--head-dim", "0"], &["--head-dim", "0"]),
        (&["--head-dim", "1000000000000"], &["--head-dim"]),
        (&["--heads", "3"], &["--heads", "3 heads do not divide"]),
        (&["--mlp", "swiglu", "--activation", "gelu"], &["--activation"]),
        (&["--arch", "bert"], &["--arch", "bert", "llama"]),
        (&["--norm", "batch"], &["--norm", "batch"]),
    ] {
        sandbox.refuses(words, 2, needles);
        let model = [&["inspect", "model"], words].concat();
        sandbox.refuses(&model, 2, &needles[..1]);
    }
    assert_eq!(sandbox.everything(), before);
}

/// The smallest and the largest that fit.
#[test]
fn edges_are_taken() {
    let sandbox = sandbox();
    for words in [
        &["--window", "1"][..],
        &["--window", "9999999"],
        &["--kv-heads", "4"],
        &["--arch", "baseline", "--heads", "3", "--head-dim", "5"],
        &["--positions", "rotary", "--rotary-dim", "4"],
        &["--positions", "rotary", "--rotary-dim", "2", "--head-dim", "3"],
    ] {
        sandbox.train(&[&["--data", "text.txt", "--dry-run"], words].concat());
        sandbox.train(&[&RUN[..], &["model"], words].concat()); // and can be saved
    }
}

/// Lists of n-grams: in any order, each number once, and what is not a number is refused by its name.
#[test]
fn lists_of_n_grams_are_judged() {
    let sandbox = sandbox();
    let train = |list: &str| {
        [&RUN[..], &["model", "--ngrams", list, "--ngram-rows", "50"]].concat().join(" ")
    };
    for list in ["3,2", "2,3,2,3"] {
        sandbox.train(&train(list).split(' ').collect::<Vec<_>>());
        let inspected = sandbox.ok(&["inspect", "model", "--load", "model"]).text();
        assert!(
            inspected.contains("ngrams=2,3") || inspected.contains("ngrams 2,3"),
            "{inspected}"
        );
    }
    let refused = |list: &str, needles: &[&str]| {
        let words = train(list);
        let words: Vec<_> = TINY.into_iter().chain(words.split(' ')).collect();
        sandbox.refuses(&words, 2, needles);
    };
    refused("1", &["--ngrams", "2..=8"]);
    refused("9", &["--ngrams", "2..=8"]);
    refused("2;3", &["--ngrams", "2;3"]);
    refused("2,", &["--ngrams"]);
    for (verb, needle) in [("hf", "tables of n-grams"), ("gguf", "tables of n-grams")] {
        sandbox.refuses(&["export", verb, "--load", "model", "out"], 65, &[needle]);
    }
    sandbox.ok(&["export", "safetensors", "--load", "model", "own"]);
    sandbox.ok(&["import", "safetensors", "own", "--save", "again"]);
    let text = ["-p", "the", "-n", "30", "--seed", "2"];
    let [one, again] = ["model", "again"]
        .map(|model| sandbox.ok(&[&["generate", "--load", model], &text[..]].concat()).stdout);
    assert_eq!(one, again);
}
