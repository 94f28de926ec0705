//! Accumulation, dropout, epochs, limits of time and patience, what is kept, and skipped spikes.

use crate::sandbox;
use workspace_tests::cli_support::TINY;

const TEXT: [&str; 4] = ["--data", "text.txt", "--gen", "0"];

/// 10 + 10 = 20 steps, byte for byte, with all that is drawn and added up in a step.
#[test]
fn ten_and_ten_steps_are_twenty_with_accumulation_and_dropout() {
    let constant = ["--schedule", "constant", "--accum", "3", "--dropout", "0.2"];
    let wsd = ["--schedule", "wsd", "--decay-steps", "20", "--warmup", "10", "--dropout", "0.1"];
    let linear = ["--schedule", "linear", "--decay-steps", "12", "--warmup", "2", "--accum", "2"];
    for recipe in [&constant[..], &wsd, &linear] {
        sandbox().ten_and_ten_steps_are_twenty(recipe);
    }
}

/// 10 + 10 = 20 steps with the optimizer that is not the usual one, which the run's own files name.
#[test]
fn another_optimizer_is_chosen_kept_and_resumed_exactly() {
    let sandbox = sandbox();
    sandbox.ten_and_ten_steps_are_twenty(&["--schedule", "constant", "--optimizer", "lion"]);
    let run = ["--steps", "4", "--schedule", "constant"];
    sandbox.train(&[&TEXT[..], &run, &["--save", "adamw", "-q"]].concat());
    let lion = ["--optimizer", "lion"];
    sandbox.train(&[&TEXT[..], &run, &lion, &["--out", "r", "-q"]].concat());
    assert!(sandbox.read("r/ckpt/last") != sandbox.read("adamw"));
    for (file, words) in
        [("config.toml", "optimizer = \"lion\""), ("report.html", "optimizer lion")]
    {
        let text = String::from_utf8(sandbox.read(format!("r/{file}"))).unwrap();
        assert!(text.contains(words), "no {words} in {file}");
    }
    let on = ["--load", "r", "--steps", "2", "--no-save"];
    let same = sandbox.ok(&[&on[..], &TEXT, &lion].concat());
    assert!(!same.stderr.contains("optimizer"), "{same}");
    let other = ["--optimizer", "adamw"];
    sandbox.refuses(&[&on[..], &TEXT, &other].concat(), 2, &["--optimizer adamw", "lion"]);
    sandbox.refuses(&[&TEXT[..], &["--optimizer", "sgd"]].concat(), 2, &["--optimizer", "lion"]);
    // Without a state it is a fresh start.
    sandbox.train(&[&TEXT[..], &run, &lion, &["--save", "bare", "--save-opt", "0"]].concat());
    let bare = ["--load", "bare", "--steps", "2", "--save", "bare"];
    sandbox.ok(&[&bare[..], &TEXT, &other].concat()).says(&[
        "--optimizer adamw replaces the run's lion",
        "the file has no optimizer state: AdamW starts anew",
    ]);
    let on = ["--load", "bare", "--steps", "2", "--no-save"];
    sandbox.refuses(&[&on[..], &TEXT, &lion].concat(), 2, &["--optimizer lion", "adamw"]);
}

/// A signal in the middle of an accumulation window: the step is given up, not half done.
#[cfg(unix)]
#[test]
fn a_signal_between_micro_batches_loses_only_that_step() {
    let sandbox = sandbox();
    let run = ["--accum", "400", "--steps", "6", "--schedule", "constant", "--log-every", "1"];
    let mut running =
        sandbox.start(&[&TINY[..], &TEXT, &run, &["--save", "cut", "--threads", "1"]].concat());
    running.wait_for("step 2 ");
    running.signal("INT");
    let outcome = running.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    sandbox.ok(&["--load", "cut", "--save", "cut", "--data", "text.txt", "--gen", "0", "-q"]);
    sandbox.train(&[&TEXT[..], &run, &["--save", "whole", "-q"]].concat());
    assert!(sandbox.read("cut") == sandbox.read("whole"));
}

#[test]
fn another_dropout_is_said_and_stored() {
    let sandbox = sandbox();
    let run = ["--steps", "2", "--dropout", "0.1", "--save", "a", "-q"];
    sandbox.train(&[&TEXT[..], &run].concat());
    let on = ["--load", "a", "--data", "text.txt", "--steps", "2", "--gen", "0", "--save", "b"];
    sandbox
        .ok(&[&on[..], &["--dropout", "0"]].concat())
        .says(&["--dropout 0 replaces the run's 0.1"]);
    sandbox.refuses(&[&on[..], &["--dropout", "1"]].concat(), 2, &["--dropout", "1"]);
    sandbox.refuses(&[&on[..], &["--accum", "0"]].concat(), 2, &["--accum", "0"]);
}

#[test]
fn epochs_are_passes_over_the_training_part() {
    let sandbox = sandbox();
    // 3600 tokens to learn, 2·8 a step, twice.
    let sizes = ["--batch", "2", "--seq", "8", "--epochs", "2", "--save", "e"];
    let outcome = sandbox.ok(&[&TEXT[..], &sizes, &["--layers", "1", "--dmodel", "8"]].concat());
    outcome.says(&["at step 450"]);
    let half = ["--load", "e", "--data", "text.txt", "--epochs", "0.5", "--gen", "0"];
    sandbox.ok(&half).says(&["at step 563"]); // 112.5 more, rounded up
    for wrong in ["0", "-1", "nan", "inf"] {
        sandbox.refuses(&["--data", "text.txt", "--epochs", wrong], 2, &["--epochs"]);
    }
    let both = ["--data", "text.txt", "--epochs", "1", "--steps", "2"];
    sandbox.refuses(&both, 2, &["--epochs", "--steps"]);
}

#[test]
fn a_run_stops_when_its_time_is_up_and_goes_on_as_if_it_had_not() {
    let sandbox = sandbox();
    let run = ["--steps", "3000", "--schedule", "cosine"];
    let cut = ["--max-time", "0.2s", "--save", "cut"];
    let outcome = sandbox.train(&[&TEXT[..], &run, &cut].concat());
    outcome.says(&["the time is up", "planned steps are left"]);
    sandbox.ok(&["--load", "cut", "--save", "cut", "--data", "text.txt", "--gen", "0", "-q"]);
    sandbox.train(&[&TEXT[..], &run, &["--save", "whole", "-q"]].concat());
    assert!(sandbox.read("cut") == sandbox.read("whole"));
    sandbox.refuses(&["--max-time", "soon"], 2, &["--max-time", "soon"]);
}

#[test]
fn the_last_measurement_keeps_to_the_time_too() {
    let sandbox = sandbox();
    // Takes longer to score than there is time for.
    sandbox.write("val.txt", &b"once upon a time, ".repeat(100_000));
    let wide = ["--seq", "16", "--dmodel", "128", "--layers", "4", "--batch", "2"];
    let run = ["--val", "val.txt", "--steps", "100000000", "--out", "r", "--eval-every", "0"];
    let json = ["--save-every", "0", "--message-format", "json"];
    let outcome = sandbox.ok(&[&wide[..], &TEXT, &run, &json, &["--max-time", "2s"]].concat());
    outcome.says(&["the time is up", "of 262,144 tokens"]);
    let done = &outcome.events_of("done")[0];
    let (tokens, all) = (done["scored"].as_u64().unwrap(), 262_144);
    assert!((1..all).contains(&tokens), "{outcome}");
    assert_eq!(outcome.events_of("saved").len(), 1);
}

#[test]
fn patience_ends_a_run_that_no_longer_learns() {
    let sandbox = sandbox();
    // A rate this high never gets better.
    let run = ["--steps", "100", "--lr", "5", "--eval-every", "1", "--patience", "4", "--out", "r"];
    sandbox
        .train(&[&TEXT[..], &run].concat())
        .says(&["no better validation loss in 4 measurements"]);
    let unseen = ["--data", "text.txt", "--val-frac", "0", "--patience", "3"];
    sandbox.refuses(&unseen, 2, &["--patience", "validation"]);
    let never = ["--data", "text.txt", "--eval-every", "0", "--patience", "3"];
    sandbox.refuses(&never, 2, &["--patience", "--eval-every"]);
}

#[test]
fn the_best_state_and_the_last_few_are_kept() {
    let sandbox = sandbox();
    let run =
        ["--steps", "12", "--eval-every", "3", "--save-every", "2", "--keep", "3", "--out", "r"];
    let outcome = sandbox.train(&[&TEXT[..], &run].concat());
    outcome.says(&["best    r/ckpt/best of step"]);
    let names: Vec<String> = std::fs::read_dir(sandbox.path("r/ckpt"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("step-"))
        .collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, ["step-00000008", "step-00000010", "step-00000012"]);
    assert!(sandbox.read("r/ckpt/step-00000012") == sandbox.read("r/ckpt/last"));
    sandbox.ok(&["generate", "--load", "r/ckpt/best", "-p", "a", "-n", "3"]);
    sandbox.ok(&["generate", "--load", "r/ckpt/step-00000008", "-p", "a", "-n", "3"]);
    let with_file = ["--data", "text.txt", "--save", "f", "--keep", "2"];
    sandbox.refuses(&with_file, 2, &["--keep", "--save"]);
}

/// After a resume a best state from before is still the one to beat.
#[test]
fn the_best_state_outlives_a_resume() {
    let sandbox = sandbox();
    let run = ["--steps", "40", "--eval-every", "5", "--lr", "1e-2", "--out", "r"];
    sandbox.train(&[&TEXT[..], &run].concat());
    let best = sandbox.read("r/ckpt/best");
    let worse =
        ["--load", "r", "--out", "r", "--lr", "30", "--schedule", "constant", "--steps", "10"];
    let outcome = sandbox.ok(&[&worse[..], &TEXT, &["--eval-every", "2"]].concat());
    outcome.says(&["best    r/ckpt/best of step"]);
    assert!(sandbox.read("r/ckpt/best") == best, "a worse state took its place\n{outcome}");
}

/// One that was measured on other text is not: what is easy there says nothing about this.
#[test]
fn a_best_state_of_other_text_is_not_the_one_to_beat() {
    let sandbox = sandbox();
    sandbox.write("easy.txt", "a".repeat(2000).as_bytes());
    let easy = ["--data", "easy.txt", "--steps", "20", "--lr", "1e-2", "--out", "r"];
    sandbox.train(&easy).says(&["best    r/ckpt/best of step 20"]);
    let other = ["--load", "r", "--allow-data-change", "--steps", "4"];
    sandbox.ok(&[&other[..], &TEXT].concat()).says(&["best    r/ckpt/best of step 24"]);
}

#[test]
fn samples_on_the_way() {
    let sandbox = sandbox();
    let run =
        ["--data", "text.txt", "--steps", "6", "--sample-every", "2", "--gen", "5", "--no-save"];
    let outcome = sandbox.train(&run);
    outcome.says(&["sample  after step 2, ", "after step 4, ", "after step 6, temperature 0.8:"]);
    let json = sandbox.train(&[&run[..], &["--message-format", "json"]].concat());
    let steps: Vec<u64> =
        json.events_of("sample").iter().map(|e| e["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [2, 4, 6]);
}

#[test]
fn one_batch_is_memorised_and_nothing_saved() {
    let sandbox = sandbox();
    let before = sandbox.everything();
    let words = ["--overfit", "--steps", "150", "--lr", "1e-2", "--data", "text.txt"];
    sandbox.train(&words).prints(&["the batch was memorised", "nothing is saved"]);
    assert!(sandbox.everything() == before);
    sandbox.refuses(&["--overfit", "--save", "x"], 2, &["--overfit", "--save"]);
}

/// With a rate that makes the loss jump, steps are skipped, counted and said; the rest of the run
/// goes on.
#[test]
fn spikes_are_skipped_when_asked() {
    let sandbox = sandbox();
    let run = ["--steps", "300", "--no-save", "-q", "--skip-spikes", "2"];
    let outcome = sandbox.run(&[&TINY[..], &TEXT, &run[..3], &run[4..]].concat());
    assert!(outcome.stderr.contains("skipped: loss"), "{outcome}");
    assert!(outcome.stderr.contains("standard deviations from the last 128"), "{outcome}");
    for wrong in ["-1", "nan"] {
        sandbox.refuses(&["--data", "text.txt", "--skip-spikes", wrong], 2, &["--skip-spikes"]);
    }
}
