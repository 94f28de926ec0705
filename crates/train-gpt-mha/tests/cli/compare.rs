//! `compare`: the same training with different numbers of heads.

use crate::sandbox;
use serde_json::Value;
use workspace_tests::cli_support::{Sandbox, TINY};

const FILES: [&str; 4] = ["compare.csv", "compare.json", "compare.svg", "report.html"];

/// Two numbers of heads, two seeds, few steps.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = ["--heads", "1,4", "--seeds", "2", "--steps", "5"];
    [&["compare"][..], &TINY, &short, more].concat()
}

fn json(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_slice(&sandbox.read(file)).unwrap()
}

#[test]
fn the_same_training_with_other_heads() {
    let sandbox = sandbox();
    let done = sandbox.ok(&words(&["--data", "text.txt", "--out", "out"]));
    done.says(&["run 1/4  heads 1  seed 1 ", "run 4/4  heads 4  seed 2 ", "min for the other 3"]);
    done.says(&["written out/compare.json", "report  out/report.html"]);
    let text = done.text();
    for needle in
        ["heads     D   parameters", "sample standard deviation", "Rule: ", "Validation loss: "]
    {
        assert!(text.contains(needle), "no {needle}\n{done}");
    }
    let mut files: Vec<_> = std::fs::read_dir(sandbox.path("out")).unwrap().collect();
    files.sort_by_key(|file| file.as_ref().unwrap().file_name());
    let files: Vec<_> = files.into_iter().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, FILES);
    let result = json(&sandbox, "out/compare.json");
    assert_eq!(result["complete"], true);
    let said = result["comparison"]["conclusion"].as_array().unwrap();
    for (lang, page) in [("en", "looking_inside.md"), ("zh", "looking_inside.zh-CN.md")] {
        for sentence in [said.first(), said.last()] {
            quoted(&sentence.unwrap()[lang], page);
        }
    }
    let rows = &result["comparison"]["rows"];
    assert_eq!(rows[0]["parameters"], rows[1]["parameters"]);
    let dims: Vec<_> = [0, 1].map(|i| (&rows[i]["n_heads"], &rows[i]["head_dim"])).into();
    assert_eq!(dims, [(&1.into(), &16.into()), (&4.into(), &4.into())]);
    assert_eq!(rows[0]["seeds"], serde_json::json!([1, 2]));
    assert_ne!(rows[0]["loss"], rows[1]["loss"]);
    let table = String::from_utf8(sandbox.read("out/compare.csv")).unwrap();
    assert_eq!(table.lines().count(), 5);
    let svg = String::from_utf8(sandbox.read("out/compare.svg")).unwrap();
    assert!(svg.contains("validation loss") && !svg.contains("NaN") && !svg.contains("inf"));
}

/// The page quotes a sentence word for word, of three seeds where the test has two.
fn quoted(sentence: &Value, page: &str) {
    let words = |text: &str| text.split_whitespace().collect::<String>();
    let path = workspace_tests::workspace().join("docs").join(page);
    let page = std::fs::read_to_string(path).unwrap();
    let sentence = sentence.as_str().unwrap().replace('2', "3");
    assert!(words(&page).contains(&words(&sentence)), "{sentence}");
}

/// A run of the comparison is the run of the trainer with these heads and this seed.
#[test]
fn the_numbers_are_those_of_training() {
    let sandbox = sandbox();
    for out in ["out", "again"] {
        sandbox.ok(&words(&["--data", "text.txt", "--out", out, "--seed", "7", "-q"]));
    }
    let result = json(&sandbox, "out/compare.json");
    let run = &result["runs"][3];
    assert_eq!((&run["heads"], &run["seed"]), (&4.into(), &8.into()));
    let losses = |result: &Value| -> Vec<Value> {
        let runs = result["runs"].as_array().unwrap();
        runs.iter().map(|run| run["val_loss"].clone()).collect()
    };
    assert_eq!(losses(&json(&sandbox, "again/compare.json")), losses(&result));
    let alone = ["--data", "text.txt", "--steps", "5", "--heads", "4", "--seed", "8", "--no-save"];
    let done = sandbox.train(&[&alone[..], &["--gen", "0", "--message-format", "json"]].concat());
    assert_eq!(done.events_of("done")[0]["val_loss"], run["val_loss"]);
}

#[test]
fn stories_have_facts_a_floor_and_predictors_that_do_not_read() {
    let sandbox = sandbox();
    let words = words(&["--json"]);
    let words: Vec<_> = words.into_iter().map(|w| if w == "16" { "64" } else { w }).collect();
    let done = sandbox.ok(&words);
    let start = &done.events_of("start")[0];
    assert!(start["entropy_floor"].as_f64().unwrap() > 0.0, "{start}");
    assert_eq!(start["path"], "runs/compare-001");
    let runs = done.events_of("run");
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run["facts"].as_object().is_some_and(|facts| !facts.is_empty())));
    let end = &done.events_of("done")[0];
    assert_eq!(end["without_reading"].as_array().unwrap().len(), 2);
    let conclusion = end["conclusion"].to_string();
    assert!(
        conclusion.contains("Facts of kind other-person") && conclusion.contains("规则"),
        "{end}"
    );
    sandbox.ok(&words).events_of("start").iter().for_each(|start| {
        assert_eq!(start["path"], "runs/compare-002");
    });
}

#[test]
fn an_interrupted_comparison_writes_what_is_complete() {
    let sandbox = sandbox();
    let many = ["--heads", "1,4", "--seeds", "1000", "--steps", "5", "--out", "out"];
    let words = [&["compare", "--data", "text.txt"][..], &TINY, &many].concat();
    let mut run = sandbox.start(&words);
    run.wait_for("run 3/2000 ");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["interrupted: ", " of 2000 runs are complete, in 'out'"]);
    let result = json(&sandbox, "out/compare.json");
    assert_eq!(result["complete"], false);
    assert!(result["runs"].as_array().unwrap().len() >= 3);
    let said = result["comparison"]["conclusion"].to_string();
    assert!(said.contains("Nothing is concluded") && said.contains("不下结论"), "{said}");
}

#[test]
fn an_interrupted_first_run_leaves_nothing() {
    let sandbox = sandbox();
    let long = ["--data", "text.txt", "--steps", "10000000", "--heads", "1,2"];
    let before = sandbox.everything();
    let mut run = sandbox.start(&[&["compare", "--out", "out"][..], &TINY, &long].concat());
    run.wait_for("runs    ");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["interrupted: nothing is written"]);
    assert!(sandbox.everything() == before);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let sandbox = sandbox();
    let refused = |more: &[&str], code, needles: &[&str]| {
        let words = [&["compare"][..], &TINY, &["--data", "text.txt"], more].concat();
        sandbox.refuses(&words, code, needles);
    };
    refused(&["--heads", "1,3"], 2, &["--heads", "3", "16"]);
    refused(&["--heads", "0,1"], 2, &["--heads", "0"]);
    refused(&["--heads", ""], 2, &["--heads", "empty"]);
    refused(&["--heads", "1,,2"], 2, &["--heads", "empty"]);
    refused(&["--heads", "4"], 2, &["--heads 4", "two or more"]);
    refused(&["--heads", "1,2,1"], 2, &["--heads", "1 is there twice"]);
    refused(&["--heads", "1,x"], 2, &["--heads x"]);
    refused(&["--seeds", "0"], 2, &["--seeds 0"]);
    refused(&["--seed", "18446744073709551615"], 2, &["--seed 18446744073709551615"]);
    refused(&["--steps", "0"], 2, &["--steps 0"]);
    refused(&["--load", "x"], 2, &["--load", "new models"]);
    refused(&["--save", "x"], 2, &["--save", "--out"]);
    refused(&["--max-time", "1s"], 2, &["--max-time", "--steps"]);
    refused(&["--patience", "3"], 2, &["--patience", "--steps"]);
    refused(&["--skip-spikes", "6"], 2, &["--skip-spikes", "--steps"]);
    refused(&["--val-frac", "0"], 2, &["validation data"]);
    refused(&["--out", "text.txt"], 73, &["text.txt"]);
    std::fs::create_dir(sandbox.path("full")).unwrap();
    sandbox.write("full/thesis", b"years of work");
    refused(
        &["--out", "full"],
        73,
        &["full", "not empty", "nothing was trained, choose another --out"],
    );
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.ok(&words(&["--data", "text.txt", "--out", "empty", "-q"]));
    refused(&["--out", "empty"], 73, &["empty", "not empty"]);
    sandbox.refuses(&["compare", "--dmodel", "15"], 2, &["--dmodel 15", "--heads"]);
    sandbox.refuses(&["compare", "--data", "missing"], 66, &["missing"]);
}
