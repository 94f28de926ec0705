//! `--message-format json`.

use crate::sandbox;
use serde_json::Value;
use workspace_tests::cli_support::native;

const TEXT: [&str; 8] =
    ["--data", "text.txt", "--steps", "6", "--log-every", "1", "--message-format", "json"];

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|e| e["event"].as_str().unwrap()).collect()
}

#[test]
fn standard_output_holds_the_events_and_nothing_else() {
    let words = [&TEXT[..], &["--save", "m", "--save-every", "3", "--eval-every", "2"]].concat();
    let outcome = sandbox().train(&words);
    let events = outcome.events();
    let expected = "start step step eval step saved step eval step step saved eval sample done";
    assert_eq!(kinds(&events).join(" "), expected, "{outcome}");

    let number = |e: &Value, fields: &[&str]| fields.iter().all(|f| e[f].is_number());
    for event in &events {
        let fields = match event["event"].as_str().unwrap() {
            "start" => &["seed", "threads", "parameters", "heads", "steps", "expected_loss"][..],
            "step" => &["step", "loss", "lr", "grad_norm", "tokens_per_s"],
            "eval" => &["step", "val_loss"],
            "saved" => &["step"],
            "done" => &["step", "val_loss", "seconds"],
            _ => &["step"],
        };
        assert!(number(event, fields), "{event} without one of {fields:?}");
    }
    assert_eq!(outcome.events_of("saved")[0]["path"], "m");
    assert_eq!(outcome.events_of("done")[0]["checkpoint"], "m");
    assert!(outcome.events_of("sample")[0]["text"].is_string());
    assert_eq!(outcome.losses().iter().map(|l| l.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_same_seed_gives_the_same_losses_to_the_bit() {
    let losses = |more: &[&str]| sandbox().train(&[&TEXT[..], more].concat()).losses();
    let one = losses(&["--seed", "5"]);
    assert_eq!(one, losses(&["--seed", "5", "--threads", "1", "--no-save", "--eval-every", "1"]));
    assert_ne!(one, losses(&["--seed", "6"]));
}

#[test]
fn stories_come_with_facts() {
    let small = ["--seq", "256", "--dmodel", "8", "--layers", "1", "--batch", "1", "--steps", "1"];
    let outcome = sandbox().ok(&[&small[..], &["--message-format", "json", "-q"]].concat());
    assert_eq!(outcome.stderr, "");
    for kind in ["eval", "done"] {
        let event = &outcome.events_of(kind)[0];
        let facts = event["facts"].as_object().unwrap();
        assert!(facts.len() >= 6, "{event}");
        assert!(facts.values().all(|share| (0.0..=1.0).contains(&share.as_f64().unwrap())));
        assert!(event["facts_accuracy"].is_number());
    }
    assert!(outcome.events_of("start")[0]["entropy_floor"].is_number());
}

#[test]
fn every_flag_that_prints_keeps_to_json() {
    let more = ["--sanity-next-from-data", "2", "--print-next-top", "3", "--raw", "--gen", "5"];
    let each = ["--print-next-top-each-step", "--prompt", "the"];
    let outcome = sandbox().train(&[&TEXT[..], &more, &each].concat());
    assert_eq!(outcome.events_of("probe").len(), 2);
    let sample = &outcome.events_of("sample")[0];
    assert_eq!(sample["prompt"], "the");
    let next = sample["next"].as_array().unwrap();
    assert_eq!(next.len(), 1 + sample["ids"].as_array().unwrap().len());
    for tokens in next.iter().map(|tokens| tokens.as_array().unwrap()) {
        let p: Vec<f64> = tokens.iter().map(|token| token["p"].as_f64().unwrap()).collect();
        assert!(p.len() == 3 && p.is_sorted_by(|a, b| a >= b) && p[0] <= 1.0, "{p:?}");
        assert!(tokens.iter().all(|token| token["id"].is_u64() && token["text"].is_string()));
    }
}

#[test]
fn verbs_speak_json_too() {
    let sandbox = crate::trained();
    let json = ["--load", "model", "--message-format", "json"];
    let sample = sandbox.ok(&[&["generate"], &json[..], &["-p", "the", "-n", "5"]].concat());
    assert_eq!(kinds(&sample.events()), ["sample"]);
    let eval = sandbox.ok(&[&["eval"], &json[..], &["--data", "text.txt"]].concat());
    assert_eq!(kinds(&eval.events()), ["eval"]);
    assert!(eval.events()[0]["val_loss"].as_f64().unwrap() > 0.0);
}

/// Where one object a line is asked for, nothing else is printed, whatever the verb.
#[test]
fn every_verb_that_prints_keeps_to_lines_of_json() {
    let sandbox = sandbox();
    sandbox.train(&["--data", "text.txt", "--steps", "2", "--out", "run", "--gen", "0"]);
    let json = ["--message-format", "json"];
    let small = ["--layers", "1", "--dmodel", "16", "--seq", "16", "--batch", "2", "--steps", "2"];
    let bench = [&["bench", "--workload", "w2"][..], &small, &json].concat();
    let lines = |words: &[&str]| -> Vec<Value> {
        let text = sandbox.ok(words).text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let measured = lines(&bench);
    assert_eq!((measured.len(), &measured[0]["workload"]), (1, &"w2-own".into()));
    let words = ["tokenizer", "decode", "--tokenizer", "byte", "104", "105"];
    let decoded = lines(&[&words[..], &json].concat());
    assert_eq!(decoded, [serde_json::json!({ "ids": [104, 105], "text": "hi" })]);
    let page = sandbox.ok(&[&["report", "run"][..], &json].concat()).events();
    assert_eq!(
        page,
        [serde_json::json!({ "event": "written", "path": native("run/report.html") })]
    );
    let words = ["--data", "text.txt", "--steps", "3", "--overfit", "--log-every", "0"];
    let overfit = sandbox.train(&[&words[..], &json].concat());
    let found = &overfit.events_of("overfit")[0];
    assert_eq!((&found["tokens"], &found["learned"]), (&32.into(), &false.into()));
}

/// What a command is run for is printed however quiet it is to be.
#[test]
fn results_stand_on_standard_output() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "3", "-q"];
    let learned = sandbox.train(&[&words[..], &["--overfit"]].concat());
    assert!(learned.text().starts_with("overfit loss of one batch"), "{learned}");
    let planned = sandbox.train(&[&words[..], &["--dry-run"]].concat());
    assert!(planned.text().starts_with("time    about"), "{planned}");
}
