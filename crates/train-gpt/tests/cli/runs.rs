//! Several runs: listed, and shown on a page, also after a kill.

use super::sandbox;
use serde_json::Value;
use std::time::{Duration, Instant};
use workspace_tests::cli_support::{Sandbox, TINY, native};

const TEXT: [&str; 6] = ["--data", "text.txt", "--gen", "0", "-q", "--steps"];

fn trained(sandbox: &Sandbox, steps: &str, more: &[&str]) {
    sandbox.ok(&[&TINY[..], &TEXT, &[steps], more].concat());
}

/// A run that was killed on its way.
fn killed(sandbox: &Sandbox, folder: &str, more: &[&str]) {
    let endless = ["--data", "text.txt", "--steps", "10000000", "--out", folder];
    let mut run = sandbox.start(&[&TINY[..], &endless, more].concat());
    run.wait_for("step 20 ");
    // Its log is written about once a second.
    let begin = Instant::now();
    while sandbox.read(format!("{folder}/metrics.csv")).len() < 1000 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no log");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill();
    run.end();
}

fn listed(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let text = sandbox.ok(&[&["runs", "--json"], words].concat()).text();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn page(sandbox: &Sandbox, file: &str) -> Value {
    let html = String::from_utf8(sandbox.read(file)).unwrap();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn runs_are_listed_with_what_came_of_them() {
    let sandbox = sandbox();
    sandbox.ok(&["runs"]).says(&["no runs here"]);
    trained(&sandbox, "6", &[]);
    trained(&sandbox, "3", &["--lr", "1e-5"]);
    killed(&sandbox, "runs/003", &["--save-every", "0", "--eval-every", "0"]);
    let runs = listed(&sandbox, &[]);
    let of = |key: &str| runs.iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("path"), ["runs/001", "runs/002", "runs/003"].map(native));
    assert_eq!(of("state"), ["done", "done", "cut off"]);
    assert_eq!(
        (&runs[0]["step"], &runs[0]["steps"], &runs[0]["d_model"]),
        (&6.into(), &6.into(), &16.into())
    );
    for key in ["started", "processor", "kernels", "version", "data"] {
        assert!(!runs[0][key].as_str().unwrap().is_empty(), "{key}");
    }
    assert!(runs[0]["seconds"].as_f64().unwrap() > 0.0 && runs[0]["mfu"].is_null());
    assert!(runs[2]["step"].as_u64().unwrap() > 0 && runs[2]["result"].is_null(), "{}", runs[2]);
    let by_loss = listed(&sandbox, &["--sort", "loss"]);
    assert_eq!(by_loss[0]["path"], native("runs/001"));
    let table = sandbox.ok(&["runs"]).text();
    assert!(table.starts_with("run ") && table.lines().count() == 5, "{table}");
    assert!(table.contains('*') && table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert_eq!(listed(&sandbox, &["runs/002"])[0]["path"], "runs/002");
    // Of other unseen text the lowest loss is another.
    trained(&sandbox, "3", &["--val-frac", "0.3", "--out", "runs/004"]);
    assert!(!sandbox.ok(&["runs", "runs/001", "runs/004"]).text().contains('*'));
    sandbox.refuses(&["runs", "nowhere"], 66, &["nowhere"]);
    // What another program wrote, or nobody understands, is no reason to stop.
    sandbox.write("runs/001/run.json", b"{\"steps\": \"many\"}");
    assert_eq!(listed(&sandbox, &[])[0]["step"], 6);
}

#[test]
fn a_killed_run_gets_its_page() {
    let sandbox = sandbox();
    killed(&sandbox, "saved", &["--save-every", "5", "--eval-every", "5"]);
    killed(&sandbox, "unsaved", &["--save-every", "0", "--eval-every", "0"]);
    let done = sandbox.ok(&["report", "saved"]);
    assert_eq!(done.text(), native("saved/report.html\n"));
    let saved = page(&sandbox, "saved/report.html");
    assert!(saved["curves"]["train"].as_array().unwrap().len() >= 20);
    assert!(saved["attention"]["layers"].is_array() && !saved["heads"].is_null());
    let note = saved["notes"][0].to_string();
    assert!(note.contains("cut off") && note.contains("被强行终止"), "{note}");
    sandbox.ok(&["report", "unsaved"]).says(&["no checkpoint was saved"]);
    let unsaved = page(&sandbox, "unsaved/report.html");
    assert!(unsaved["attention"].is_null() && !unsaved["facts"].as_array().unwrap().is_empty());
    // Moved text is said; the page is made all the same.
    std::fs::rename(sandbox.path("text.txt"), sandbox.path("moved.txt")).unwrap();
    sandbox.ok(&["report", "saved", "--html", "own.html"]).says(&["without a text", "text.txt"]);
    assert!(page(&sandbox, "own.html")["attention"].is_null());
    let foreign = ["report", "saved", "--html", "moved.txt"];
    sandbox.refuses(&foreign, 73, &["moved.txt", "no page", "choose another --html"]);
    sandbox.refuses(&["report", "nowhere"], 66, &["nowhere", "no such file"]);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses(&["report", "empty"], 66, &["empty", "no run"]);
}

#[test]
fn several_runs_on_one_page_with_the_settings_in_which_they_differ() {
    let sandbox = sandbox();
    trained(&sandbox, "4", &["--eval-every", "2"]);
    trained(&sandbox, "4", &["--eval-every", "2", "--lr", "2e-2", "--seed", "2"]);
    assert_eq!(sandbox.ok(&["report", "runs"]).text(), native("runs/report.html\n"));
    let runs = &page(&sandbox, "runs/report.html")["runs"];
    assert_eq!(runs["differing"], serde_json::json!(["lr", "seed"]));
    assert_eq!(runs["rows"][1]["settings"], serde_json::json!(["0.02", "2"]));
    assert_eq!(runs["rows"][0]["name"], native("runs/001"));
    assert!(!runs["rows"][0]["val"].as_array().unwrap().is_empty());
    sandbox.ok(&["report", "runs/002", "runs/001", "--html", "both.html"]);
    assert_eq!(page(&sandbox, "both.html")["runs"]["rows"][0]["name"], "runs/002");
}

/// The page is there while the run goes, and says so.
#[cfg(unix)]
#[test]
fn a_page_grows_while_its_run_goes() {
    let sandbox = sandbox();
    let endless = ["--data", "text.txt", "--steps", "10000000", "--out", "run"];
    let variables = [("LLM_PAGE_MS", "1")];
    let mut run = sandbox.start_with(&[&TINY[..], &endless].concat(), &variables);
    run.wait_for("step 50 ");
    assert_eq!(listed(&sandbox, &["run"])[0]["state"], "running");
    let first = page(&sandbox, "run/report.html")["curves"]["train"].as_array().unwrap().len();
    assert!(sandbox.path("run/loss.svg").exists());
    run.wait_for("step 500 ");
    assert!(page(&sandbox, "run/report.html")["curves"]["train"].as_array().unwrap().len() > first);
    run.signal("INT");
    assert_eq!(run.end().code, Some(130));
    assert_eq!(listed(&sandbox, &["run"])[0]["state"], "interrupted");
}

#[test]
fn a_dry_run_says_how_long_the_run_will_take() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "100", "--dry-run"];
    sandbox.train(&words).prints(&["time    about ", "100 steps of "]);
    let json = sandbox.train(&[&words[..], &["--message-format", "json"]].concat());
    let estimate = &json.events_of("estimate")[0];
    assert!(estimate["seconds"].as_f64().unwrap() > 0.0, "{estimate}");
    let long = ["--data", "text.txt", "--steps", "1000000000", "--dry-run"];
    let limited = sandbox.train(&[&long[..], &["--max-time", "1s"]].concat());
    limited.prints(&["then --max-time ends it"]);
    assert!(!sandbox.path("runs").exists());
}
