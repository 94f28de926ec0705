//! Every verb with a model of today's parts.

use crate::{MODELS, RUN, sandbox};
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

/// Every number that is followed by hand is the kernel's, whatever the attention has.
#[test]
fn a_score_is_followed_by_hand() {
    let sandbox = sandbox();
    for flags in MODELS {
        sandbox.train(&[&RUN[..], &["model"], flags].concat());
        for place in [
            ["--head", "3", "--query", "9", "--key", "7"],
            ["--head", "0", "--query", "9", "--key", "0"],
        ] {
            let trace = ["trace", "--load", "model", "-p", "a small text", "--json"];
            let walk = &sandbox.ok(&[&trace[..], &place].concat()).events()[0];
            assert_eq!(walk["kernel"]["agrees"], true, "{flags:?} {walk}");
        }
    }
    let model = ["model", "--kv-heads", "2", "--positions", "rotary", "--window", "3"];
    sandbox.train(&[&RUN[..], &model].concat());
    let trace = |key| {
        let place = ["--head", "3", "--query", "4", "--key", key];
        sandbox.ok(&[&["trace", "--load", "model", "-p", "a small text"][..], &place].concat())
    };
    let near = trace("2").text();
    for line in [
        "G = 2   heads of keys and values (kv_heads); this head reads number 1",
        "k_base  = ((b*T + j)*G + g)*D = ((0*12 + 2)*2 + 1)*4 = 20  k[20..23]",
        "k  (0*12 + 2)*32 + 5*4 = 84   qkv[84..87]",
        "q at position 4: 4 rad, cos -0.6536436209, sin -0.7568024953",
        "the product of the two pairs depends on the distance alone: 2",
    ] {
        assert!(near.lines().any(|l| l.trim() == line), "no {line}\n{near}");
    }
    let far = trace("1").text();
    let outside = "mask  j = 1 <= i - W = 4 - 3: outside the window; -1e9 is written in its place";
    assert!(far.lines().any(|l| l.trim() == outside), "{far}");
}

/// With one block, what lies before the window is not read: going on writes what reading the
/// last tokens again for each new one writes.
#[test]
fn a_window_goes_on_past_the_context() {
    let sandbox = sandbox();
    for positions in ["rotary", "none"] {
        let model = ["model", "--window", "5", "--positions", positions];
        sandbox.train(&[&RUN[..], &model].concat());
        let written = |more: &[&str]| {
            let words = ["generate", "--load", "model", "-p", "a small", "-n", "60", "--json"];
            let event = sandbox.ok(&[&words[..], more].concat()).events()[0].clone();
            let logprobs = event["logprobs"].as_array().unwrap().clone();
            (event["ids"].clone(), logprobs.iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>())
        };
        let ((ids, on), (again, anew)) = (written(&[]), written(&["--slide", "1"]));
        assert_eq!(ids, again);
        assert!(on.len() == 60 && on.iter().zip(&anew).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

/// Edges of a window and heads of a group show in the maps.
#[test]
fn maps_name_groups_and_leave_blank_what_is_hidden() {
    let sandbox = trained(&["--window", "3"]);
    let maps = sandbox.ok(&["inspect", "attention", "--load", "model", "-p", "abcdef"]).text();
    for needle in ["head 1 (keys 0)", "head 2 (keys 1)", "a row sees 3 columns"] {
        assert!(maps.contains(needle), "no {needle}\n{maps}");
    }
    let last = maps.lines().find(|line| line.trim_start().starts_with("f ")).unwrap();
    let row = last.trim_start().strip_prefix("f ").unwrap();
    assert!(row.starts_with("   ") && !row.starts_with("    "), "{maps}");
    let model = sandbox.ok(&["inspect", "model", "--load", "model"]).text();
    for line in [
        "heads that read the same keys and values: 0: 0-1, 1: 2-3",
        "of a token a block keeps 2·G·D = 16 numbers, not 32",
        "rotary positions: pairs of 4 channels turn by 1 to 1.00e-2 radians a position",
        "a token sees the last 3, itself among them",
    ] {
        assert!(model.lines().any(|l| l == line), "no {line}\n{model}");
    }
}

/// What is compared: each kind's cost, and its loss in longer windows, or that they are refused.
#[test]
fn kinds_of_models_are_compared() {
    let sandbox = sandbox();
    let sizes = ["--seq", "8", "--dmodel", "16", "--layers", "1", "--batch", "2"];
    let kinds = ["--variants", "mha,gqa:2,mqa,rope,nope,window:4,llama+window:4", "--seeds", "2"];
    let run = ["compare", "--data", "text.txt", "--steps", "4", "--out", "out"];
    let text = sandbox.ok(&[&run[..], &sizes, &kinds].concat()).text();
    for needle in ["cache B/token", "loss at 4×", "refused: a table of positions"] {
        assert!(text.contains(needle), "no {needle}\n{text}");
    }
    let all: Value = serde_json::from_slice(&sandbox.read("out/compare.json")).unwrap();
    let rows = all["comparison"]["rows"].as_array().unwrap();
    let of = |i: usize| &rows[i]["costs"];
    // Four bytes, two numbers a channel: 16 channels, two groups of 4, one of 4.
    let bytes: Vec<_> = (0..7).map(|i| of(i)["cache_bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [128, 64, 32, 128, 128, 128, 128]);
    for (i, refused) in [true, true, true, false, false, true, false].into_iter().enumerate() {
        assert_eq!(of(i)["refused"], refused, "{i}");
        let lengths = of(i)["at_lengths"].as_array().unwrap();
        let times: Vec<_> = lengths.iter().map(|at| at[0].as_u64().unwrap()).collect();
        let losses: Vec<_> = lengths.iter().map(|at| at[1].as_array().unwrap().len()).collect();
        assert_eq!(times, [1, 2, 4]);
        assert_eq!(losses, if refused { [2, 0, 0] } else { [2, 2, 2] });
    }
    let page = String::from_utf8(sandbox.read("out/report.html")).unwrap();
    assert!(page.contains("at_lengths") && page.contains("refusedWhy"));
    // A run of it is a model like any other.
    sandbox.ok(&["generate", "--load", "out/llama-window-4-seed-2", "-p", "a", "-n", "5"]);
    let wrong = |names| ["compare", "--data", "text.txt", "--variants", names];
    sandbox.refuses(&wrong("mha"), 2, &["--variants mha", "two or more"]);
    sandbox.refuses(&wrong("mha,alibi"), 2, &["--variants alibi", "window:N"]);
    sandbox.refuses(&wrong("mha,gqa:3"), 2, &["--kv-heads", "3"]);
}

/// What a dry run says that a step takes is the memory of this attention.
#[test]
fn a_dry_run_knows_the_model() {
    let sandbox = sandbox();
    let parameters = |flags: &[&str]| {
        let json = ["--data", "text.txt", "--arch", "baseline", "--dry-run"];
        let json = [&json[..], &["--message-format", "json"]].concat();
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
