//! Every verb with a model of today's parts.

use crate::{RUN, sandbox};
use serde_json::Value;
use workspace_tests::cli_support::Sandbox;

const LLAMA: [&str; 6] = ["--arch", "llama", "--kv-heads", "2", "--heads", "4"];

fn trained(more: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["model"], &LLAMA, more].concat());
    sandbox
}

#[test]
fn a_model_is_written_scored_and_looked_into() {
    let sandbox = trained(&[]);
    sandbox.ok(&["eval", "--load", "model", "--data", "text.txt"]);
    sandbox.ok(&["generate", "--load", "model", "-p", "the", "-n", "40"]);
    let inspected = sandbox.ok(&["inspect", "model", "--load", "model"]).text();
    for needle in ["H=4 heads of D=4", "norm rms", "mlp swiglu", "positions rotary", "[16, 32]"] {
        assert!(inspected.contains(needle), "no {needle}\n{inspected}");
    }
    let fresh = [&["inspect", "model", "--dmodel", "16"][..], &LLAMA].concat();
    assert!(sandbox.ok(&fresh).text().contains("[16, 32]"));
    sandbox.ok(&["inspect", "attention", "--load", "model", "-p", "the cat"]);
    sandbox.ok(&["inspect", "heads", "--load", "model", "--data", "text.txt"]);
    let prune = ["inspect", "prune", "--load", "model", "--data", "text.txt", "--drop", "1"];
    sandbox.ok(&[&prune[..], &["--save", "less"]].concat());
    sandbox.ok(&["generate", "--load", "less", "-p", "the", "-n", "5"]);
}

#[test]
fn a_model_goes_out_under_its_own_names_and_comes_back() {
    let sandbox = trained(&["--window", "6", "--qk-norm"]);
    sandbox.ok(&["export", "safetensors", "--load", "model", "out"]);
    sandbox.ok(&["import", "safetensors", "out", "--save", "back"]).says(&["4 heads"]);
    let text = |file| sandbox.ok(&["generate", "--load", file, "-p", "the", "-n", "20"]).stdout;
    assert_eq!(text("model"), text("back"));
}

/// What a dry run says that a step takes is the memory of this attention.
#[test]
fn a_dry_run_knows_the_model() {
    let sandbox = sandbox();
    let parameters = |flags: &[&str]| {
        let json = ["--data", "text.txt", "--dry-run", "--message-format", "json"];
        let start = sandbox.train(&[&json[..], flags].concat());
        start.events_of("start")[0]["parameters"].as_u64().unwrap()
    };
    // Two groups of D = 4 in place of four: 2·2·4 columns less, with their biases.
    assert_eq!(parameters(&[]) - parameters(&["--kv-heads", "2"]), (16 + 1) * 16);
    assert_eq!(parameters(&["--qk-norm"]) - parameters(&[]), 2 * 4);
    assert_eq!(parameters(&[]) - parameters(&["--positions", "none"]), 16 * 16);
}

#[test]
fn speed_is_measured_by_the_name_of_a_model() {
    let sandbox = sandbox();
    let sizes = ["--dmodel", "16", "--layers", "1", "--seq", "16", "--batch", "2", "--vocab", "9"];
    let bench = ["bench", "--workload", "w1", "--steps", "1", "--json"];
    let flops = |flags: &[&str]| {
        let done = sandbox.ok(&[&bench[..], &sizes, flags].concat());
        let line: Value = serde_json::from_str(done.text().lines().next().unwrap()).unwrap();
        line["gflops"].as_f64().unwrap() * line["ms_per_step"].as_f64().unwrap()
    };
    let (plain, llama) = (flops(&[]), flops(&["--arch", "llama"]));
    assert!((llama / plain - 1.0).abs() < 0.1, "{llama} {plain}");
    assert!(flops(&["--arch", "llama", "--kv-heads", "1"]) < llama);
    sandbox.refuses(&[&bench[..], &["--kv-heads", "3"]].concat(), 2, &["--kv-heads", "3"]);
}
