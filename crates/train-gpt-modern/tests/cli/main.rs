//! The command line of `train-gpt-modern` where it is not that of `train-gpt-mha`: flags of today's
//! models, and what they make.

#![allow(clippy::unwrap_used)]

mod adapters;
mod budget;
mod chats;
mod every_verb;
mod import_chats;
mod ladder;
mod others;
mod pairs;
mod questions;
mod refusals;
mod rewards;
#[cfg(unix)]
mod signals;
mod verbs;

use workspace_tests::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_train-gpt-modern"))
}

const RUN: [&str; 9] =
    ["--arch", "baseline", "--data", "text.txt", "--steps", "4", "--gen", "0", "--save"];

/// Flags of some models, none of them multi-head attention.
const MODELS: [&[&str]; 8] = [
    &["--kv-heads", "2"],
    &["--positions", "rotary", "--rope-theta", "500", "--rotary-dim", "2"],
    &["--window", "5", "--positions", "none"],
    &["--head-dim", "6", "--qk-norm", "--soft-cap", "30"],
    &["--norm", "rms", "--mlp", "relu2", "--mlp-bias", "0", "--attention-bias", "0"],
    &["--arch", "llama", "--kv-heads", "1"],
    &["--arch", "qwen3", "--window", "7"],
    &["--arch", "llama", "--ngrams", "2,3", "--ngram-rows", "300"],
];

#[test]
fn ten_and_ten_steps_are_twenty() {
    sandbox().ten_and_ten_steps_are_twenty(&["--schedule", "constant", "--arch", "llama"]);
}

/// What is printed is the same command, and says what a name stands for.
#[test]
fn flags_are_settings() {
    let sandbox = sandbox();
    for flags in MODELS {
        let print = ["--data", "text.txt", "--print-config"];
        let printed = sandbox.train(&[&print, flags].concat()).text();
        sandbox.write("run.toml", printed.as_bytes());
        let again = sandbox.ok(&["--config", "run.toml", "--print-config"]).text();
        assert_eq!(printed, again, "{flags:?}");
    }
    let words = ["--data", "text.txt", "--print-config", "--arch", "qwen3", "--kv-heads", "2"];
    let printed = sandbox.train(&words).text();
    for line in [
        "heads = 4",
        "kv_heads = 2",
        "head_dim = 8",
        "rope_theta = 1000000.0",
        "qk_norm = true",
        "attention_bias = false",
        "norm = \"rms\"",
        "mlp = \"swiglu\"",
        "mlp_bias = false",
        "positions = \"rotary\"",
    ] {
        assert!(printed.lines().any(|l| l == line), "no {line}\n{printed}");
    }
}

/// A flag that is typed beside a name wins over it.
#[test]
fn a_name_stands_for_flags() {
    let sandbox = sandbox();
    let print = |words: &[&str]| {
        let all = ["--data", "text.txt", "--init", "fan-in", "--print-config"];
        let all = [&all[..], words].concat();
        sandbox.train(&all).text()
    };
    let spelt = [
        ["--arch", "gpt2", "--norm", "rms", "--mlp", "swiglu", "--mlp-bias", "0"],
        ["--positions", "rotary", "--rope-theta", "10000", "--attention-bias", "0", "--heads", "4"],
    ];
    assert_eq!(print(&["--arch", "llama"]), print(&spelt.concat()));
    let words = ["--arch", "qwen3", "--head-dim", "4", "--qk-norm", "0", "--rope-theta", "10000"];
    let plain = print(&["--arch", "llama", "--head-dim", "4"]);
    assert_eq!(print(&words), plain);
    let other = ["--arch", "llama", "--norm", "layer", "--tied-head", "0", "--positions", "none"];
    let text = print(&other);
    let says = |line: &str| text.lines().any(|l| l == line);
    assert!(says("positions = \"none\"") && says("tied_head = false"), "{text}");
    assert!(!text.contains("rope_theta") && !text.contains("norm = \"rms\""), "{text}");
}

/// What a model is comes back from its file; what differs from it is refused by its name.
#[test]
fn a_loaded_model_has_its_attention_again() {
    let sandbox = sandbox();
    for flags in MODELS {
        sandbox.train(&[&RUN[..], &["model"], flags].concat());
        let on = ["--load", "model", "--data", "text.txt", "--steps", "1", "--no-save"];
        sandbox.ok(&on);
        sandbox.ok(&[&on[..], flags].concat());
        let generate = ["generate", "--load", "model", "-p", "the", "-n", "40"];
        assert_eq!(sandbox.ok(&generate).stdout, sandbox.ok(&generate).stdout);
    }
    let model = ["model", "--kv-heads", "2", "--window", "5", "--qk-norm"];
    sandbox.train(&[&RUN[..], &model].concat());
    let on = ["--load", "model", "--data", "text.txt", "--steps", "1", "--no-save"];
    for (flags, needles) in [
        (["--kv-heads", "4"], ["kv-heads 2 in file", "4 given"]),
        (["--window", "6"], ["window 5 in file", "6 given"]),
        (["--qk-norm", "0"], ["qk-norm 1 in file", "0 given"]),
        (["--head-dim", "8"], ["head-dim 4 in file", "8 given"]),
        (["--rope-theta", "100"], ["rope-theta none in file", "100 given"]),
        (["--norm", "rms"], ["norm layer in file", "rms given"]),
        (["--arch", "llama"], ["in file", "given"]),
    ] {
        sandbox.refuses(&[&on[..], &flags].concat(), 65, &needles);
    }
}

/// Every part changes what is learned.
#[test]
fn parts_change_what_is_learned() {
    let sandbox = sandbox();
    let losses = |flags: &[&str]| {
        let words = ["--log-every", "1", "--message-format", "json"];
        sandbox.train(&[&RUN[..], &["model"], flags, &words].concat()).losses()
    };
    let all: Vec<_> = MODELS.into_iter().chain([&[][..]]).map(losses).collect();
    for (i, one) in all.iter().enumerate() {
        assert!(one.len() == 4 && !all[..i].contains(one), "{i}");
    }
}

#[test]
fn the_help_names_its_flags() {
    let sandbox = sandbox();
    let help = sandbox.ok(&["--help"]).text();
    for flag in ["--kv-heads", "--positions", "--window", "--qk-norm", "--rope-theta", "qwen3"] {
        assert!(help.contains(flag), "{flag}");
    }
    let completions = sandbox.ok(&["completions", "bash"]).text();
    assert!(completions.contains("--kv-heads") && completions.contains("llama"));
}
