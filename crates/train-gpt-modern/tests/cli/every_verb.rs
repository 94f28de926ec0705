//! Every verb with every kind of model, heads of a width that is not C/H among them: each works,
//! or is refused by one line, and all tell the same sizes.

use crate::{MODELS, sandbox};
use llm_core::base::thousands;
use workspace_tests::cli_support::{Sandbox, TINY};

/// Heads that are together narrower or wider than the model; some do not divide its width.
const OWN_WIDTH: [&[&str]; 4] = [
    &["--arch", "baseline", "--heads", "3", "--head-dim", "5"],
    &["--kv-heads", "1", "--head-dim", "32"],
    &["--heads", "5", "--head-dim", "2", "--positions", "rotary", "--qk-norm"],
    &["--arch", "qwen3", "--heads", "3", "--head-dim", "6", "--kv-heads", "1"],
];

/// Verbs that every model has.
const VERBS: [&[&str]; 10] = [
    &["generate", "--load", "run", "-p", "the", "-n", "30"],
    &["eval", "--load", "run", "--data", "text.txt"],
    &["inspect", "model", "--load", "run"],
    &["inspect", "attention", "--load", "run", "-p", "the cat"],
    &["inspect", "heads", "--load", "run", "--data", "text.txt"],
    &["inspect", "prune", "--load", "run", "--data", "text.txt", "--drop", "1", "--save", "less"],
    &["trace", "--load", "run", "-p", "a small text", "--head", "1", "--query", "3", "--key", "2"],
    &["report", "run"],
    &["runs"],
    &["--load", "run", "--steps", "2", "--gen", "3"],
];

/// Formats of others, which may not know such a model.
const EXPORTS: [&[&str]; 3] = [
    &["export", "safetensors", "--load", "less", "own"],
    &["export", "hf", "--load", "less", "hf"],
    &["export", "gguf", "--load", "less", "gguf"],
];

#[test]
fn every_verb_works_with_every_model() {
    for flags in MODELS.iter().chain(&OWN_WIDTH) {
        let sandbox = sandbox();
        let run = ["--data", "text.txt", "--steps", "4", "--save-every", "2", "--gen", "0"];
        let words = [&run[..], &["--out", "run", "--message-format", "json"], flags].concat();
        let trained = sandbox.train(&words);
        sizes(&sandbox, &trained.events_of("start")[0]["parameters"].as_u64().unwrap(), flags);
        for verb in VERBS {
            sandbox.ok(verb);
        }
        for export in EXPORTS {
            let done = sandbox.run(export);
            match done.code {
                Some(0) => {}
                Some(65) => done.says_one_error(&["less"]),
                _ => panic!("{flags:?}\n{done}"),
            }
        }
        sandbox.ok(&["import", "safetensors", "own", "--save", "back"]);
        let text = |file| sandbox.ok(&["generate", "--load", file, "-p", "t", "-n", "9"]).stdout;
        assert_eq!(text("less"), text("back"), "{flags:?}");
    }
}

/// The number of weights, and D, as the page of the run, `inspect model` and `compare` tell them.
fn sizes(sandbox: &Sandbox, parameters: &u64, flags: &[&str]) {
    let shown = sandbox.ok(&["inspect", "model", "--load", "run", "--json"]).events();
    let model = &shown[0]["model"];
    assert_eq!(model["parameters"], *parameters, "{flags:?}");
    let page = String::from_utf8(sandbox.read("run/report.html")).unwrap();
    let head_dim = &model["head_dim"];
    for needle in [thousands(*parameters), format!("D {head_dim} ·")] {
        assert!(page.contains(&needle), "no {needle} on the page: {flags:?}");
    }
    let compare = ["compare", "--data", "text.txt", "--steps", "2", "--seeds", "1", "--vary"];
    let words = [&compare[..], &["lr=0.1,0.2", "--out", "both", "--json", "-q"]].concat();
    let compared = sandbox.ok(&[&words[..], &TINY, flags].concat());
    assert_eq!(compared.events_of("start")[0]["parameters"], *parameters, "{flags:?}");
    for run in compared.events_of("run") {
        assert_eq!([&run["parameters"], &run["head_dim"]], [&model["parameters"], head_dim]);
    }
}
