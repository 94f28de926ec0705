//! `compare`: the same training with different numbers of heads.

use crate::sandbox;
use serde_json::Value;
use workspace_tests::cli_support::{Sandbox, TINY, native};

const FILES: [&str; 10] = [
    "compare.csv",
    "compare.json",
    "compare.svg",
    "heads-1-seed-1",
    "heads-1-seed-2",
    "heads-1-seed-3",
    "heads-4-seed-1",
    "heads-4-seed-2",
    "heads-4-seed-3",
    "report.html",
];

/// Two numbers of heads, three seeds, few steps.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = ["--heads", "1,4", "--seeds", "3", "--steps", "5"];
    [&["compare"][..], &TINY, &short, more].concat()
}

fn json(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_slice(&sandbox.read(file)).unwrap()
}

#[test]
fn the_same_training_with_other_heads() {
    let sandbox = sandbox();
    let done = sandbox.ok(&words(&["--data", "text.txt", "--out", "out"]));
    done.says(&["run 1/6  heads 1  seed 1 ", "run 6/6  heads 4  seed 3 ", " s for the other 5"]);
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
    assert_eq!(rows[0]["seeds"], serde_json::json!([1, 2, 3]));
    assert_ne!(rows[0]["loss"], rows[1]["loss"]);
    let table = String::from_utf8(sandbox.read("out/compare.csv")).unwrap();
    assert_eq!(table.lines().count(), 7);
    let svg = String::from_utf8(sandbox.read("out/compare.svg")).unwrap();
    assert!(svg.contains("validation loss") && !svg.contains("NaN") && !svg.contains("inf"));
}

/// The page quotes a sentence word for word, with other numbers.
fn quoted(sentence: &Value, page: &str) {
    let is_word = |c: &char| !c.is_whitespace() && !c.is_ascii_digit();
    let words = |text: &str| text.chars().filter(is_word).collect::<String>();
    let path = workspace_tests::workspace().join("docs").join(page);
    let page = std::fs::read_to_string(path).unwrap();
    let sentence = sentence.as_str().unwrap();
    assert!(words(&page).contains(&words(sentence)), "{sentence}");
}

/// Equals against equals: other seeds, nothing else, each in a folder of its own.
#[test]
fn equals_are_compared_with_equals() {
    let sandbox = sandbox();
    let aa = ["compare", "--data", "text.txt", "--aa", "3", "--steps", "5", "--out", "aa"];
    let done = sandbox.ok(&[&aa[..], &TINY].concat());
    done.says(&[
        "run 1/6  half a  seed 1 ",
        "run 2/6  half b  seed 4 ",
        "run 6/6  half b  seed 6 ",
    ]);
    let result = json(&sandbox, "aa/compare.json");
    let differences = result["comparison"]["differences"].as_array().unwrap();
    assert_eq!((differences.len(), &differences[0]["seeds"]), (1, &3.into()), "{differences:?}");
    assert!(differences[0]["p"].as_f64().is_some_and(|p| p > 0.0 && p <= 1.0));
    for wrong in
        [&["--aa", "0"][..], &["--aa", "2", "--seeds", "3"], &["--aa", "2", "--heads", "1,2"]]
    {
        let words = [&["compare", "--data", "text.txt"][..], &TINY, wrong].concat();
        assert_eq!(sandbox.run(&words).code, Some(2), "{wrong:?}");
    }
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
    assert_eq!(start["path"], native("runs/compare-001"));
    let runs = done.events_of("run");
    assert_eq!(runs.len(), 6);
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

#[cfg(unix)]
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

#[cfg(unix)]
#[test]
fn an_interrupted_first_run_is_kept() {
    let sandbox = sandbox();
    let long = ["--data", "text.txt", "--steps", "10000000", "--heads", "1,2"];
    let mut run = sandbox.start(&[&["compare", "--out", "out"][..], &TINY, &long].concat());
    run.wait_for("runs    ");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["interrupted: 0 of 6 runs are complete", "--load out/heads-1-seed-1"]);
    sandbox.ok(&["--load", "out/heads-1-seed-1", "--steps", "1", "--gen", "0"]);
}

/// Three rates with two seeds each, from one command; the best is found by `runs`.
#[test]
fn any_setting_can_be_varied() {
    let sandbox = sandbox();
    let vary = ["--vary", "lr=1e-3,1e-2", "--vary", "clip=0,1", "--seeds", "2", "--steps", "4"];
    let words = [&["compare", "--data", "text.txt", "--out", "out"][..], &TINY, &vary].concat();
    let done = sandbox.ok(&words);
    done.says(&["compare lr 1e-3, 1e-2 · clip 0, 1 · seeds 1–2"]);
    done.says(&["run 1/8  lr 1e-3  clip 0  seed 1 ", "run 8/8  lr 1e-2  clip 1  seed 2 "]);
    done.prints(&[
        "lr/clip ",
        "1e-2/1 ",
        "compared with the first, seed by seed",
        "lr 1e-2, clip 1",
    ]);
    let result = json(&sandbox, "out/compare.json");
    let rows = result["comparison"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[2]["values"], "1e-2/0");
    assert_eq!(result["runs"][7]["settings"], serde_json::json!({"lr": "1e-2", "clip": "1"}));
    let table = String::from_utf8(sandbox.read("out/compare.csv")).unwrap();
    let (head, last) = (table.lines().next().unwrap(), table.lines().last().unwrap());
    assert!(head.ends_with(",lr,clip,path"), "{head}");
    assert!(last.ends_with(&native(",1e-2,1,out/lr-1e-2-clip-1-seed-2")), "{last}");
    // Each of them is a run of its own.
    let alone =
        ["--data", "text.txt", "--steps", "4", "--lr", "1e-2", "--clip", "0", "--seed", "2"];
    let alone = sandbox.train(&[&alone[..], &["--out", "alone", "--gen", "0"]].concat());
    assert_eq!(alone.code, Some(0));
    let state = |run: &str| sandbox.read(format!("{run}/ckpt/last"));
    assert!(state("alone") == state("out/lr-1e-2-clip-0-seed-2"));
    let listed = sandbox.ok(&["runs", "out", "--sort", "loss", "--json"]).text();
    let best: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(listed.lines().count(), 8);
    assert!(best["path"].as_str().unwrap().contains("lr-1e-2"), "{best}");
    // A page about its runs does not replace that of the comparison.
    assert_eq!(sandbox.ok(&["report", "out"]).text(), "out/runs.html\n");
    // With several numbers of heads, and on other windows.
    let more = ["--heads", "1,2", "--vary", "seq=8,16", "--seeds", "1", "--steps", "2", "-q"];
    let tiny = ["--dmodel", "16", "--layers", "1", "--batch", "2"];
    let words = [&["compare", "--data", "text.txt", "--out", "both"][..], &tiny, &more].concat();
    sandbox.ok(&words);
    assert!(sandbox.path("both/seq-8-heads-2-seed-1/report.html").exists());
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
    refused(&["--vary", "lr"], 2, &["--vary lr", "lr=1e-3,3e-3"]);
    refused(&["--vary", "lr=1e-3"], 2, &["--vary lr=1e-3", "two or more"]);
    refused(&["--vary", "lr=1,x"], 2, &["--lr x"]);
    refused(&["--vary", "dmodel=16,17", "--heads", "4"], 2, &["--dmodel"]);
    refused(&["--vary", "batch=1,2", "--batch", "2"], 2, &["--batch"]);
    refused(&["--vary", "lr=1,2", "--vary", "lr=3,4"], 2, &["--vary lr", "twice"]);
    refused(&["--vary", "tokenizer=byte,char"], 2, &["--vary", "only settings"]);
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
    refused(&["--out", "empty"], 73, &["empty", "another comparison lies there"]);
    sandbox.refuses(&["compare", "--dmodel", "15"], 2, &["--dmodel 15", "--heads"]);
    sandbox.refuses(&["compare", "--data", "missing"], 66, &["missing"]);
}

/// What was done before it was cut is not done again, what was not is, and a run in between goes on.
#[test]
fn a_comparison_that_was_cut_goes_on() {
    let sandbox = sandbox();
    let flags = |name| {
        let vary = ["--vary", "lr=1e-3,1e-2,1e30", "--seeds", "2", "--steps", "6", "--out", name];
        [&["compare", "--data", "text.txt", "--heads", "4"][..], &TINY, &vary].concat()
    };
    let table = |name: &str| {
        let table = String::from_utf8(sandbox.read(format!("{name}/compare.csv"))).unwrap();
        // Without seconds and paths.
        let cells = |line: &str| line.split(',').map(String::from).collect::<Vec<_>>();
        let same = |line: Vec<String>| [&line[..4], &line[5..line.len() - 1]].concat();
        table.lines().map(|line| same(cells(line))).collect::<Vec<_>>()
    };
    sandbox.ok(&flags("whole"));
    sandbox.ok(&flags("cut"));
    let state = |name: &str| sandbox.read(format!("{name}/ckpt/last"));
    std::fs::remove_dir_all(sandbox.path("cut/lr-1e-2-seed-1")).unwrap();
    std::fs::remove_dir_all(sandbox.path("cut/lr-1e-3-seed-2/ckpt")).unwrap();
    std::fs::remove_file(sandbox.path("cut/compare.csv")).unwrap();
    let kept = std::fs::metadata(sandbox.path("cut/lr-1e-3-seed-1/ckpt/last")).unwrap();
    sandbox.ok(&flags("cut")).says(&["goes on where the comparison in 'cut' was cut"]);
    let again = std::fs::metadata(sandbox.path("cut/lr-1e-3-seed-1/ckpt/last")).unwrap();
    assert_eq!(kept.modified().unwrap(), again.modified().unwrap());
    assert_eq!(table("whole"), table("cut"));
    for run in ["lr-1e-3-seed-1", "lr-1e-3-seed-2", "lr-1e-2-seed-1", "lr-1e-2-seed-2"] {
        assert!(state(&format!("whole/{run}")) == state(&format!("cut/{run}")), "{run}");
    }
    let [whole, cut] = ["whole", "cut"].map(|name| json(&sandbox, &format!("{name}/compare.json")));
    assert_eq!(whole["comparison"]["conclusion"], cut["comparison"]["conclusion"]);
    let other = [&flags("cut")[..], &["--clip", "2"]].concat();
    sandbox.refuses(&other, 73, &["cut", "another comparison lies there"]);
}

/// A setting with which training runs away is a result, and no end of the others.
#[test]
fn a_run_that_diverges_ends_no_comparison() {
    let sandbox = sandbox();
    let varied = |lr, more: &[&str]| {
        let words =
            ["compare", "--data", "text.txt", "--seeds", "2", "--steps", "5", "--heads", "4"];
        sandbox.run(&[&words[..], &TINY, &["--warmup", "0", "--vary", lr], more].concat())
    };
    let done = varied("lr=1e30,1e-3,2e-3", &["--out", "out"]);
    assert_eq!(done.code, Some(0), "{done}");
    done.says(&["run 1/6  lr 1e30  seed 1  diverged: ", "run 6/6  lr 2e-3  seed 2  val_loss="]);
    done.prints(&["With lr 1e30 2 of 2 runs diverged: it is not compared.", "Validation loss: "]);
    let result = json(&sandbox, "out/compare.json");
    assert_eq!((&result["complete"], result["runs"].as_array().unwrap().len()), (&true.into(), 4));
    let diverged = result["diverged"].as_array().unwrap();
    assert_eq!(diverged.len(), 2);
    assert_eq!(diverged[1]["seed"], 2);
    assert_eq!(diverged[1]["settings"]["lr"], "1e30");
    // The page's table has them, too.
    let page = String::from_utf8(sandbox.read("out/report.html")).unwrap();
    assert!(page.contains("lr-1e30-seed-2"), "{page}");
    assert!(sandbox.path("out/report.html").exists() && sandbox.path("out/compare.svg").exists());

    // Steps of two sizes see unequally many tokens.
    varied("accum=1,2", &["--out", "unequal"]).prints(&["from 160 to 320: that is a part of"]);

    let lines = varied("lr=1e-3,1e30", &["--out", "lines", "--json"]);
    assert_eq!(lines.events_of("diverged")[0]["number"], 2);
    assert_eq!(lines.events_of("done")[0]["complete"], true);

    let none = varied("lr=1e30,1e31", &["--out", "none"]);
    assert_eq!(none.code, Some(3), "{none}");
    none.says(&["0 of 4 runs are complete"]);
}

/// What is said at the beginning is true of the first training.
#[test]
fn the_head_of_a_comparison_is_that_of_its_first_run() {
    let sandbox = sandbox();
    let words = ["compare", "--data", "text.txt", "--seeds", "1", "--heads", "4", "--threads", "1"];
    let sizes = ["--seq", "16", "--layers", "1", "--batch", "2", "--lr", "1e-3"];
    let varied = ["--vary", "dmodel=32,16", "--vary", "steps=3,2", "--json", "--out", "out"];
    let done = sandbox.ok(&[&words[..], &sizes, &varied].concat());
    let start = &done.events_of("start")[0];
    let runs = done.events_of("run");
    assert_eq!((&start["steps"], &start["parameters"]), (&3.into(), &runs[0]["parameters"]));
    assert_ne!(runs[0]["parameters"], runs[2]["parameters"]);
    let again = [&words[..], &sizes, &varied[..4], &["--out", "again"]].concat();
    sandbox.ok(&again).says(&["width 32", "4 of 3 steps", "1 thread\n"]);
}
