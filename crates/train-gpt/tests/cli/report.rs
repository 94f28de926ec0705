//! The page that a run leaves in its folder.

use crate::sandbox;
use serde_json::Value;
use workspace_tests::cli_support::{Sandbox, TINY, holds};

const RUN: [&str; 8] = ["--data", "text.txt", "--steps", "6", "--out", "mine", "--gen", "20"];

/// What the page shows.
fn data(sandbox: &Sandbox) -> Value {
    let page = String::from_utf8(sandbox.read("mine/report.html")).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn last_step(page: &Value) -> u64 {
    page["curves"]["train"].as_array().unwrap().last().unwrap()[0].as_u64().unwrap()
}

fn steps_of_samples(page: &Value) -> Vec<u64> {
    let samples = page["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample["step"].as_u64().unwrap()).collect()
}

#[test]
fn a_run_leaves_a_page_that_shows_it() {
    let sandbox = sandbox();
    let run = sandbox.train(&[&RUN[..], &["--sample-every", "2", "--prompt", "the <b>"]].concat());
    run.says(&["report  mine/report.html"]);
    let page = data(&sandbox);
    assert_eq!(page["title"], "mine");
    assert_eq!(last_step(&page), 6);
    assert_eq!(steps_of_samples(&page), [2, 4, 6]);
    assert_eq!(page["samples"][2]["prompt"], "the <b>");
    // What was printed last is what the page shows last.
    let text = page["samples"][2]["text"].as_str().unwrap();
    assert!(run.text().ends_with(&format!("the <b>{text}\n")), "{run}");
    assert_eq!(page["attention"]["tokens"].as_array().unwrap().len(), 16);
    assert_eq!(page["attention"]["layers"][0][0][0], serde_json::json!([10000]));
    // So little is measured whole each time: the last loss is the end of the line.
    let curves = &page["curves"];
    assert_eq!((&curves["val"][0][0], &curves["final_val"]), (&6.into(), &Value::Null));
    assert_eq!(curves["lr"].as_array().unwrap().len(), 6);
    let facts = page["facts"].to_string();
    for needle in ["text.txt", "Validation loss", "mine/ckpt/last", "6 / 6", "L 1 · C 16 · H 1"] {
        assert!(holds(&facts.replace("\\\\", "/"), needle), "no {needle} in {facts}");
    }
    assert_eq!(page["notes"], serde_json::json!([]));
}

#[test]
fn a_run_that_goes_on_keeps_its_samples() {
    let sandbox = sandbox();
    sandbox.train(&RUN);
    let on = ["--load", "mine", "--out", "mine", "--data", "text.txt", "--steps", "3"];
    sandbox.ok(&[&on[..], &["--gen", "5", "--message-format", "json"]].concat());
    let page = data(&sandbox);
    assert_eq!((last_step(&page), steps_of_samples(&page)), (9, vec![6, 9]));
}

#[test]
fn a_run_that_diverges_leaves_its_curve() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "50", "--out", "mine", "--warmup", "0"];
    let wild = ["--lr", "1e30", "--clip", "0"];
    let outcome = sandbox.run(&[&TINY[..], &words, &wild].concat());
    assert_eq!(outcome.code, Some(3), "{outcome}");
    outcome.says(&["report  mine/report.html"]);
    assert!(outcome.stderr.lines().last().unwrap().starts_with("error: "), "{outcome}");
    let page = data(&sandbox);
    let said = page["notes"][0]["en"].as_str().unwrap();
    assert!(outcome.stderr.contains(said) && said.contains("step"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_one_too() {
    let sandbox = sandbox();
    let long = ["--data", "text.txt", "--steps", "10000000", "--out", "mine"];
    let mut run = sandbox.start(&[&TINY[..], &long].concat());
    run.wait_for("step 10 ");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["report  mine/report.html"]);
    let page = data(&sandbox);
    assert!(last_step(&page) >= 10);
    assert!(page["notes"][0]["en"].as_str().unwrap().starts_with("Interrupted at step "));
}

#[test]
fn the_end_by_the_clock_and_by_patience_are_said() {
    for (words, needle) in [
        (&["--max-time", "0.0001s"][..], "the time was up"),
        (&["--patience", "1", "--eval-every", "1", "--lr", "1e-30"], "--patience"),
    ] {
        let sandbox = sandbox();
        sandbox.train(&[&RUN[..], words].concat());
        let note = data(&sandbox)["notes"][0]["en"].to_string();
        assert!(note.contains(needle), "{note}");
    }
}

#[test]
fn a_page_that_cannot_be_written_costs_nothing_else() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.path("mine/report.html/taken")).unwrap();
    let run = sandbox.train(&RUN);
    run.says(&["no report: ", "mine/report.html", "\nnext "]);
    assert!(sandbox.path("mine/ckpt/last").exists());
}
