//! Looking inside a model with several heads, and switching some off.

use crate::{RUN, sandbox};
use serde_json::Value;
use workspace_tests::cli_support::{Outcome, Sandbox};

/// A sandbox with a model of two layers of two heads.
fn trained() -> Sandbox {
    let sandbox = sandbox();
    let small = ["--seq", "16", "--dmodel", "16", "--layers", "2", "--batch", "2", "--heads", "2"];
    sandbox.ok(&[&RUN[..], &["model"], &small].concat());
    sandbox
}

fn json(outcome: &Outcome) -> Value {
    let events = outcome.events();
    assert_eq!(events.len(), 1, "{outcome}");
    events[0].clone()
}

fn loss(value: &Value) -> f64 {
    value["loss"].as_f64().unwrap()
}

const PRUNE: [&str; 6] = ["inspect", "prune", "--load", "model", "--data", "text.txt"];

#[test]
fn several_heads_cost_what_one_does_but_for_the_softmax() {
    let words = ["inspect", "model", "--seq", "16", "--dmodel", "512", "--heads", "8", "--json"];
    let model = json(&sandbox().ok(&words));
    let [one, eight] = [0, 1].map(|i| &model["model"]["attention"][i]);
    assert_eq!((&one["score_macs"], &eight["score_macs"]), (&131_072.into(), &131_072.into()));
    assert_eq!((&one["softmax_elements"], &eight["softmax_elements"]), (&256.into(), &2048.into()));
    let words = ["inspect", "model", "--heads", "3"];
    sandbox().refuses(&words, 2, &["--heads", "3", "1, 2, 4, 8"]);
}

#[test]
fn maps_of_chosen_layers_and_heads() {
    let sandbox = trained();
    let words = ["inspect", "attention", "--load", "model", "-p", "the cat", "--svg", "pics"];
    let maps =
        json(&sandbox.ok(&[&words[..], &["--layer", "1", "--head", "0", "--json"]].concat()));
    let layers = maps["layers"].as_array().unwrap();
    assert_eq!((layers.len(), &layers[0]["layer"]), (1, &1.into()));
    let heads = layers[0]["heads"].as_array().unwrap();
    assert_eq!((heads.len(), &heads[0]["head"]), (1, &0.into()));
    let drawn: Vec<_> = std::fs::read_dir(sandbox.path("pics")).unwrap().collect();
    assert_eq!(drawn.len(), 1);
    sandbox.ok(&words);
    let picture = String::from_utf8(sandbox.read("pics/attention-layer-0.svg")).unwrap();
    assert!(picture.contains("head 0") && picture.contains("head 1"), "{picture}");
    let words = ["inspect", "heads", "--load", "model", "--data", "text.txt"];
    let text = sandbox.ok(&words).text();
    for head in ["0.0 ", "0.1 ", "1.0 ", "1.1 "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(head)).count(), 2, "{text}");
    }
}

/// What docs/looking_inside.md calls the columns: the words of the terminal, where it says them apart.
fn columns_of_the_page() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/looking_inside.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| column | places |")).skip(2);
    let cells = rows.map_while(|row| row.strip_prefix("| ")?.split(" |").next());
    let names = cells.flat_map(|cell| match cell.contains('`') {
        true => cell.split('`').skip(1).step_by(2).collect(),
        false => vec![cell],
    });
    let names: Vec<_> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

#[test]
fn stories_say_which_facts_are_lost() {
    let sandbox = sandbox();
    let small = ["--seq", "64", "--dmodel", "8", "--layers", "1", "--heads", "2", "--batch", "1"];
    let run = ["--steps", "1", "--gen", "0", "--save", "model", "--val-frac", "0", "-q"];
    sandbox.ok(&[&run[..], &small].concat());
    let few = ["--tokens", "400"];
    let prune = [&["inspect", "prune", "--load", "model", "--json"][..], &few].concat();
    let found = json(&sandbox.ok(&prune));
    assert_eq!(found["data"], "unseen built-in stories");
    assert!(found["facts_accuracy"].is_f64() && found["alone"][0]["facts"].is_object(), "{found}");
    let heads = [&["inspect", "heads", "--load", "model", "--json"][..], &few].concat();
    let heads = json(&sandbox.ok(&heads));
    assert!(heads["uniform"]["answer"].is_f64(), "{heads}");
    let table = sandbox.ok(&[&["inspect", "heads", "--load", "model"][..], &few].concat()).text();
    let line = table.lines().find(|line| line.starts_with("head ")).unwrap();
    let mut rest = line;
    for name in columns_of_the_page() {
        let (_, after) = rest.split_once(name).unwrap_or_else(|| panic!("{name}: {line}"));
        rest = after;
    }
    let shown = sandbox.ok(&["inspect", "attention", "--load", "model"]).text();
    assert!(shown.contains("layer 0"), "{shown}");
}

#[test]
fn heads_go_one_after_the_other() {
    let sandbox = trained();
    let shown = sandbox.ok(&[&PRUNE[..], &["--html", "page.html"]].concat());
    let text = shown.text();
    assert!(text.contains("each head alone") && text.contains("one after the other"), "{text}");
    shown.says(&["measuring on 'text.txt'", "4 of 4 off", "wrote   page.html"]);
    let found = json(&sandbox.ok(&[&PRUNE[..], &["--json", "-q"]].concat()));
    let [alone, greedy] = ["alone", "greedy"].map(|list| found[list].as_array().unwrap());
    assert_eq!((alone.len(), greedy.len()), (4, 4));
    let least = alone.iter().map(loss).fold(f64::INFINITY, f64::min);
    assert_eq!(loss(&greedy[0]), least);
    let mut order: Vec<_> =
        greedy.iter().map(|h| (h["layer"].as_u64(), h["head"].as_u64())).collect();
    order.sort();
    order.dedup();
    assert_eq!(order.len(), 4);
}

#[cfg(unix)]
#[test]
fn one_signal_ends_pruning_that_waits_for_its_input() {
    let sandbox = trained();
    let before = sandbox.everything();
    let words = ["inspect", "prune", "--load", "model", "--data", "-", "--drop", "1"];
    let mut run = sandbox.start_reading(&[&words[..], &["--save", "pruned"]].concat());
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    assert!(sandbox.everything() == before, "{outcome}");
}

#[test]
fn a_pruned_model_is_what_was_measured_and_stays_pruned() {
    let sandbox = trained();
    let drop = ["--drop-heads", "0.1", "--save", "pruned", "--json"];
    let saved = sandbox.ok(&[&PRUNE[..], &drop].concat());
    saved.says(&["saved checkpoint 'pruned' at step 4", "eval --load pruned --data text.txt"]);
    let found = json(&saved);
    assert_eq!(found["dropped"]["head_mask"], serde_json::json!([true, false, true, true]));
    let eval = |file: &str| {
        let words = ["eval", "--load", file, "--data", "text.txt", "--message-format", "json"];
        sandbox.ok(&words).events_of("eval")[0]["val_loss"].as_f64().unwrap()
    };
    assert_eq!(eval("model"), loss(&found));
    let heads = ["inspect", "heads", "--load", "model", "--data", "text.txt", "--json"];
    assert_eq!(json(&sandbox.ok(&heads))["scored"], found["scored"]);
    assert_eq!(eval("pruned"), loss(&found["dropped"]));
    assert_ne!(eval("pruned"), eval("model"));

    // It writes, with the cache, what it would write: nobody looks through the head that is off.
    let text = |file: &str| {
        let words = ["generate", "--load", file, "-p", "the", "-n", "12", "--json"];
        json(&sandbox.ok(&words))["logprobs"].clone()
    };
    assert_ne!(text("pruned"), text("model"));
    let maps = ["inspect", "attention", "--load", "pruned", "-p", "the"];
    assert!(sandbox.ok(&maps).text().contains("head 1 (off)"));
    let model = sandbox.ok(&["inspect", "model", "--load", "pruned"]).text();
    assert!(model.contains("1 switched off"), "{model}");
    let heads = ["inspect", "heads", "--load", "pruned", "--data", "text.txt"];
    assert!(sandbox.ok(&heads).text().contains("switched off"));

    // What is off stays off, and more can go.
    let again = ["inspect", "prune", "--load", "pruned", "--data", "text.txt"];
    let more = [&again[..], &["--drop", "2", "--save", "less", "--json"]].concat();
    let found = json(&sandbox.ok(&more));
    assert_eq!(found["alone"].as_array().unwrap().len(), 3);
    let mask: Vec<bool> = serde_json::from_value(found["dropped"]["head_mask"].clone()).unwrap();
    assert!(!mask[1] && mask.iter().filter(|on| **on).count() == 1, "{mask:?}");
    assert_eq!(eval("less"), loss(&found["dropped"]));
    sandbox.refuses(&[&again[..], &["--drop-heads", "0.1"]].concat(), 2, &["0.1", "off already"]);
    let last = ["inspect", "prune", "--load", "less", "--data", "text.txt", "--drop", "1"];
    sandbox.refuses(&last, 2, &["--drop 1", "no head can go"]);
    // It learns on without the heads.
    let on =
        ["--load", "less", "--data", "text.txt", "--steps", "1", "--gen", "0", "--save", "less"];
    sandbox.ok(&on);
    let model = sandbox.ok(&["inspect", "model", "--load", "less"]).text();
    assert!(model.contains("3 switched off"), "{model}");
}

#[test]
fn more_weights_than_a_file_should_hold() {
    let sandbox = sandbox();
    let sizes = ["--seq", "1024", "--dmodel", "16", "--layers", "1", "--batch", "1"];
    let text = workspace_tests::cli_support::some_text(1025);
    sandbox.write("long.txt", &text);
    sandbox.write("window.txt", &text[..1024]);
    let wide = ["--heads", "16", "--gen", "0", "--steps", "1", "--val-frac", "0"];
    sandbox.ok(&[&["--data", "long.txt", "--save", "model"][..], &sizes, &wide].concat());
    let show = ["inspect", "attention", "--load", "model", "--prompt-file", "window.txt"];
    for form in [&["--json"][..], &["--svg", "maps"], &["--html", "x.html"]] {
        let all = [&show[..], &["--last", "1024"], form].concat();
        sandbox.refuses(&all, 2, &["--last", "show fewer tokens"]);
        sandbox.ok(&[&show[..], form].concat());
    }
    sandbox.ok(&[&show[..], &["--last", "1024", "--head", "3", "--json"]].concat());
}

#[test]
fn a_model_of_one_head_a_layer_can_be_pruned_here() {
    let sandbox = sandbox();
    let small = ["--seq", "16", "--dmodel", "16", "--layers", "2", "--batch", "2", "--heads", "1"];
    sandbox.ok(&[&RUN[..], &["model"], &small].concat());
    let found =
        json(&sandbox.ok(&[&PRUNE[..], &["--drop", "1", "--save", "half", "--json"]].concat()));
    let words = ["eval", "--load", "half", "--data", "text.txt", "--message-format", "json"];
    let eval = sandbox.ok(&words).events_of("eval")[0]["val_loss"].as_f64().unwrap();
    assert_eq!(eval, loss(&found["dropped"]));
}

#[cfg(unix)]
#[test]
fn pruning_that_cannot_be() {
    let sandbox = trained();
    sandbox.write("mine.txt", b"not to be lost");
    std::fs::create_dir(sandbox.path("run")).unwrap();
    sandbox.write("run/report.html", b"");
    sandbox.write("run/metrics.jsonl", b"");
    std::os::unix::fs::symlink("model", sandbox.path("link")).unwrap();
    for (words, code, needles) in [
        (&["--drop", "0"][..], 2, &["--drop 0", "1 to 3 can go"][..]),
        (&["--drop", "4"], 2, &["--drop 4", "1 to 3 can go"]),
        (&["--drop-heads", "2.0"], 2, &["2.0", "0 to 1"]),
        (&["--drop-heads", "0.2"], 2, &["0.2", "0 to 1"]),
        (&["--drop-heads", "0.1,0.1"], 2, &["0.1", "twice"]),
        (&["--drop-heads", "0.0,0.1,1.0,1.1"], 2, &["one head at least"]),
        (&["--drop-heads", "1"], 2, &["layer.head"]),
        (&["--drop", "1", "--save", "model"], 2, &["--save 'model'", "choose another --save"]),
        (&["--drop", "1", "--save", "link"], 2, &["--save 'link'", "choose another --save"]),
        (&["--drop", "1", "--save", "mine.txt"], 73, &["mine.txt", "not a checkpoint", "pruned"]),
        (&["--drop", "1", "--save", "no/file"], 73, &["no/file", "nothing was pruned"]),
        (&["--html", "mine.txt"], 73, &["mine.txt", "not written by this program"]),
        (&["--batch", "0"], 2, &["--batch 0"]),
        (&["--drop", "1", "--save", "new", "--html", "new"], 2, &["--save and --html"]),
        (&["--html", "run/report.html"], 73, &["run/report.html", "the page of a run"]),
    ] {
        sandbox.refuses(&[&PRUNE[..], words].concat(), code, needles);
    }
    let without = ["inspect", "prune", "--load", "model"];
    sandbox.refuses(&without, 2, &["--data"]);
}

#[cfg(unix)]
#[test]
fn a_signal_stops_the_measuring() {
    let sandbox = trained();
    sandbox.write("long.txt", &workspace_tests::cli_support::some_text(4_000_000));
    let words =
        ["inspect", "prune", "--load", "model", "--data", "long.txt", "--tokens", "9999999"];
    let mut run = sandbox.start(&[&words[..], &["--drop", "1", "--save", "x"]].concat());
    run.wait_for("measuring on");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["nothing was saved"]);
    assert!(!sandbox.path("x").exists() && !sandbox.path("x.lock").exists());
}
