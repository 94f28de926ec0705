//! Learning from pairs of answers, from several updates of one batch of answers, and held to the start: the same bytes
//! however a run is disturbed, beside an adapter too.

use super::sandbox;
use workspace_tests::cli_support::{Sandbox, TINY};

/// A base that answers in one of two ways, and pairs of which the longer answer is the better one.
fn base() -> Sandbox {
    let sandbox = sandbox();
    let said = |i: usize| if i.is_multiple_of(2) { "a" } else { "b, I think" };
    let line =
        |i: usize| format!("{{\"prompt\": \"{}\", \"completion\": \"{}\"}}\n", i / 2 % 10, said(i));
    sandbox.write("chats.jsonl", (0..60).map(line).collect::<String>().as_bytes());
    let line = |i: usize| {
        format!("{{\"prompt\": \"{}\", \"chosen\": \"b, I think\", \"rejected\": \"a\"}}\n", i % 10)
    };
    sandbox.write("pairs.jsonl", (0..40).map(line).collect::<String>().as_bytes());
    let run = ["--data", "chats.jsonl", "--steps", "60", "--gen", "0", "--seq", "64"];
    sandbox.ok(&[&TINY[2..], &run[..], &["--lr", "1e-2", "--save", "m"]].concat());
    sandbox
}

const PAIRS: [&str; 5] = ["--load", "m", "--dpo", "--data", "pairs.jsonl"];
const ANSWERS: [&str; 10] = [
    "--load",
    "m",
    "--reward",
    "exact",
    "--data",
    "chats.jsonl",
    "--group",
    "4",
    "--answer-length",
    "6",
];
const STEPS: [&str; 14] = [
    "--steps",
    "6",
    "--eval-every",
    "2",
    "--batch",
    "2",
    "--accum",
    "2",
    "--gen",
    "0",
    "--save-every",
    "2",
    "--lr",
    "1e-2",
];

/// A run of these words has the same bytes with other threads, and killed wherever it may be.
fn disturbed(sandbox: &Sandbox, words: &[&str]) {
    let words = |out, more: &[&'static str]| -> Vec<&str> {
        [words, &STEPS, &["--out", out], more].concat()
    };
    sandbox.ok(&words("whole", &[]));
    sandbox.ok(&words("threads", &["--threads", "1"]));
    let mut run = sandbox.start(&words("killed", &["--log-every", "1"]));
    run.wait_for("at step 4");
    run.kill();
    drop(run);
    sandbox.ok(&["--load", "killed", "--gen", "0"]);
    for other in ["threads", "killed"] {
        let [one, two] = ["whole", other].map(|run| sandbox.read(format!("{run}/ckpt/last")));
        assert!(one == two, "{other}");
        for name in ["pairs.jsonl", "rewards.jsonl", "answers.jsonl"] {
            let lines = |run: &str| {
                let text = std::fs::read_to_string(sandbox.path(run).join(name));
                text.unwrap_or_default().lines().map(String::from).collect::<Vec<_>>()
            };
            let (mut whole, found) = (lines("whole"), lines(other));
            // What is measured after the last save is missing where the kill came between.
            if name == "pairs.jsonl" && other == "killed" && found.len() < whole.len() {
                whole.pop();
            }
            assert!(whole == found, "{other}/{name}");
        }
    }
}

#[test]
fn pairs_are_learned_and_going_on_is_exact() {
    let sandbox = base();
    disturbed(&sandbox, &PAIRS);
    let json = ["--message-format", "json", "--steps", "40", "--lr", "1e-3", "--out", "run"];
    let learned = sandbox.ok(&[&PAIRS[..], &json, &["--batch", "4", "--gen", "0"]].concat());
    let unseen = learned.events_of("pairs");
    let [first, last] = [&unseen[0], unseen.last().unwrap()];
    assert_eq!((first["step"].as_u64(), first["pairs"].as_u64()), (Some(0), Some(4)));
    // At the start nothing differs from it.
    assert_eq!((first["margin"].as_f64(), first["accuracy"].as_f64()), (Some(0.0), Some(0.0)));
    assert!((first["loss"].as_f64().unwrap() - std::f64::consts::LN_2).abs() < 1e-9);
    assert!(last["loss"].as_f64() < first["loss"].as_f64() && last["margin"].as_f64() > Some(0.0));
    assert_eq!((last["accuracy"].as_f64(), last["likelier"].as_f64()), (Some(1.0), Some(1.0)));
    let step = &learned.events_of("step")[0];
    assert!(["margin", "accuracy"].iter().all(|key| step[key].is_f64()), "{step}");
    let said = sandbox.ok(&["--load", "run", "--steps", "1", "--gen", "0", "--no-save"]);
    said.says(&["40 pairs of answers, 4 of them unseen", "4 unseen: loss=", "margin="]);
}

#[test]
fn several_updates_held_to_the_start_go_on_exactly() {
    let sandbox = base();
    disturbed(&sandbox, &[&ANSWERS[..], &["--updates", "3", "--beta", "0.1"]].concat());
    let run = [&ANSWERS[..], &STEPS, &["--no-save", "--log-every", "1"]].concat();
    let run = [&run[..], &["--message-format", "json"]].concat();
    let steps = |more: &[&str]| sandbox.ok(&[&run[..], more].concat()).events_of("step");
    let all = steps(&["--updates", "3", "--beta", "0.1"]);
    assert!(all[0]["kl"] == 0.0 && all[5]["kl"].as_f64() > Some(0.0), "{all:?}");
    assert!(all.iter().any(|step| step["clipped"].as_f64() > Some(0.0)), "{all:?}");
    let plain = steps(&[]);
    assert!(plain.iter().all(|step| step.get("kl").or(step.get("clipped")).is_none()));
}

/// The start is the base, which needs no copy, and what was learned is merged as ever.
#[test]
fn an_adapter_learns_from_rewards_and_pairs() {
    let sandbox = base();
    disturbed(&sandbox, &[&PAIRS[..], &["--lora", "2"]].concat());
    assert!(!sandbox.path("whole/ckpt/start").exists());
    sandbox.ok(&["export", "safetensors", "merged", "--load", "whole"]);
    sandbox.ok(&["export", "peft", "peft", "--load", "whole"]);
    sandbox.ok(&[&PAIRS[..], &STEPS, &["--lora", "2", "--save", "alone"]].concat());
    for run in ["whole", "threads", "killed"] {
        std::fs::remove_dir_all(sandbox.path(run)).unwrap();
    }
    disturbed(
        &sandbox,
        &[&ANSWERS[..], &["--lora", "2", "--updates", "2", "--beta", "0.1"]].concat(),
    );
}

#[test]
fn the_weights_of_the_start_are_found_or_asked_for() {
    let sandbox = base();
    sandbox.ok(&[&PAIRS[..], &STEPS, &["--out", "run"]].concat());
    let go_on = ["--load", "run", "--steps", "2", "--gen", "0", "--no-save"];
    sandbox.ok(&go_on);
    std::fs::rename(sandbox.path("run/ckpt/start"), sandbox.path("moved")).unwrap();
    sandbox.refuses(
        &go_on,
        65,
        &["the weights that the run began with", "name their file with --base"],
    );
    let with = |file: &'static str| [&go_on[..], &["--base", file]].concat();
    sandbox.ok(&with("moved"));
    sandbox.ok(&with("m"));
    sandbox.refuses(&with("run"), 65, &["its weights have"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let sandbox = base();
    let beside = |more: &[&'static str]| [&PAIRS[..], &["--gen", "0", "--no-save"], more].concat();
    let rewarded =
        |more: &[&'static str]| [&ANSWERS[..], &["--gen", "0", "--no-save"], more].concat();
    for (words, why) in [
        (beside(&["--group", "4"]), "--group is about answers that the model writes"),
        (beside(&["--beta", "0"]), "--beta 0 teaches nothing"),
        (beside(&["--dropout", "0.1"]), "--dropout 0.1: probabilities are compared"),
        (beside(&["--reward", "exact"]), "--reward"),
        (beside(&["--loss-on", "all"]), "leave --dpo out"),
        (rewarded(&["--clip-ratio", "0.1"]), "it needs --updates"),
        (rewarded(&["--updates", "0"]), "--updates: 0 is outside 1..=1024"),
        (
            rewarded(&["--updates", "2", "--clip-ratio", "1"]),
            "--clip-ratio: 1 is not between 0 and 1",
        ),
        (
            rewarded(&["--updates", "2", "--dropout", "0.1"]),
            "--dropout 0.1: probabilities are compared",
        ),
        (
            vec!["--load", "m", "--dpo", "--no-save"],
            "--dpo needs pairs of answers: name them with --data",
        ),
        (
            vec!["--dpo", "--data", "pairs.jsonl"],
            "--dpo needs a model that answers: name it with --load",
        ),
        (vec!["--beta", "0.1"], "--beta is about rewards and pairs"),
        (vec!["--updates", "2"], "--updates is about rewards"),
    ] {
        sandbox.refuses(&words, 2, &[why]);
    }
    sandbox.refuses(&[&PAIRS[..], &["--save", "f"]].concat(), 2, &["kept in the run's folder"]);
    let chats = ["--load", "m", "--dpo", "--data", "chats.jsonl", "--no-save"];
    sandbox.refuses(&chats, 65, &["chats.jsonl', line 1: it has no chosen and rejected"]);
    sandbox.refuses(
        &["--data", "pairs.jsonl", "--no-save"],
        65,
        &["--dpo learns which of two answers"],
    );
    // What began without the weights of its start has none to be held to.
    sandbox.ok(&[&ANSWERS[..], &STEPS, &["--out", "run"]].concat());
    let held = ["--load", "run", "--steps", "1", "--beta", "0.1", "--gen", "0"];
    sandbox.refuses(&held, 2, &["the run began without it"]);
}

/// An adapter that has learned already is held to what it was, on weights that are shared.
#[test]
fn a_trained_adapter_is_a_start_of_its_own() {
    let sandbox = base();
    let chats = ["--load", "m", "--data", "chats.jsonl", "--lora", "2", "--save", "adapter"];
    sandbox.ok(&[&chats[..], &["--steps", "4", "--lr", "1e-2", "--gen", "0"]].concat());
    let pairs = ["--load", "adapter", "--dpo", "--data", "pairs.jsonl"];
    disturbed(&sandbox, &pairs);
    let first = &sandbox.read("whole/pairs.jsonl")[..];
    assert!(
        String::from_utf8_lossy(first).contains(r#""unseen":true,"pairs":4,"loss":0.69314718"#)
    );
    let go_on = ["--load", "whole", "--steps", "2", "--gen", "0"];
    sandbox.ok(&[&go_on[..], &["--out", "elsewhere"]].concat());
    sandbox.ok(&["--load", "elsewhere", "--steps", "1", "--gen", "0", "--no-save"]);
    sandbox.ok(&["export", "peft", "peft", "--load", "elsewhere"]);
    let as_file = [&pairs[..], &["--save", "f"]].concat();
    sandbox.refuses(&as_file, 2, &["kept in the run's folder"]);
    std::fs::remove_file(sandbox.path("whole/ckpt/start")).unwrap();
    sandbox.refuses(&go_on, 65, &["whole/ckpt/start", "put it there"]);
    for run in ["whole", "threads", "killed"] {
        std::fs::remove_dir_all(sandbox.path(run)).unwrap();
    }
    let answers = [&["--load", "adapter"], &ANSWERS[2..], &["--beta", "0.1"]].concat();
    disturbed(&sandbox, &answers);
}
