//! Going on with a run.

use crate::{sandbox, trained};
use workspace_tests::cli_support::as_multi_head;

#[test]
fn ten_and_ten_steps_are_twenty() {
    let cosine = ["--schedule", "cosine", "--decay-steps", "20", "--warmup", "3"];
    for schedule in [&["--schedule", "constant"][..], &cosine] {
        sandbox().ten_and_ten_steps_are_twenty(schedule);
    }
}

#[test]
fn reports_and_saves_on_the_way_change_nothing() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "6", "--save"];
    sandbox.train(&[&run[..], &["plain", "--no-save", "0"]].concat());
    let busy = ["busy", "--eval-every", "2", "--save-every", "1", "--log-every", "1", "--gen", "9"];
    sandbox.train(&[&run[..], &busy].concat());
    assert!(sandbox.read("plain") == sandbox.read("busy"));
}

#[test]
fn a_finished_run_with_a_prompt_only_writes() {
    let sandbox = trained();
    let before = sandbox.everything();
    let words = ["--load", "model", "--prompt", "the", "--gen", "8"];
    let outcome = sandbox.ok(&words);
    outcome.says(&["loaded checkpoint 'model' at step 4"]);
    assert!(outcome.stdout.starts_with(b"the") && !outcome.stderr.contains("loss="), "{outcome}");
    assert!(sandbox.everything() == before, "something was saved");
    assert_eq!(sandbox.ok(&words).stdout, outcome.stdout);
    assert_ne!(sandbox.ok(&[&words[..], &["--seed", "77"]].concat()).stdout, outcome.stdout);
}

#[test]
fn the_data_must_be_there_and_the_same() {
    let sandbox = trained();
    sandbox.write("other", &sandbox.read("text.txt")[1..]);
    let on = ["--load", "model", "--steps", "1"];
    sandbox.refuses(&on, 2, &["--data", "model"]);
    for probe in ["--sanity-offset", "--sanity-next-from-data"] {
        sandbox.refuses(&["--load", "model", probe, "1"], 2, &["--data", "model"]);
    }
    let other = [&on[..], &["--data", "other"]].concat();
    sandbox.refuses(&other, 65, &["model", "4000", "3999", "--allow-data-change"]);
    sandbox.ok(&[&other[..], &["--allow-data-change", "--save", "changed"]].concat());
    // From now on the other data is the run's.
    sandbox.ok(&["--load", "changed", "--steps", "1", "--data", "other"]);
}

#[test]
fn flags_that_repeat_what_is_stored_are_no_conflict() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "2", "--save"];
    sandbox.ok(&[&on[..], &["alone"]].concat());
    let same = ["--seq", "16", "--dmodel", "16", "--layers", "1", "--batch", "2", "--lr", "0.001"];
    let more = ["--schedule", "cosine", "--clip", "1", "--heads", "1", "--beta2", "0.99"];
    let outcome = sandbox.ok(&[&on[..], &["again"], &same, &more].concat());
    assert!(!outcome.stderr.contains("replaces"), "{outcome}");
    assert!(sandbox.read("alone") == sandbox.read("again"));
}

#[test]
fn the_shape_of_a_model_never_changes() {
    let sandbox = trained();
    for (flag, given, stored) in
        [("--dmodel", "32", "16"), ("--layers", "2", "1"), ("--seq", "64", "16")]
    {
        let words = ["--load", "model", "--data", "text.txt", "--steps", "1", flag, given];
        sandbox.refuses(&words, 65, &["model", given, stored]);
    }
}

#[test]
fn a_flag_beside_load_wins_and_is_said() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "1", "--log-every", "1"];
    let constant = ["--lr", "0.25", "--schedule", "constant", "--message-format", "json"];
    let outcome = sandbox.ok(&[&on[..], &constant].concat());
    outcome.says(&["--lr 0.25 replaces the run's 0.001", "--schedule"]);
    assert_eq!(outcome.events_of("step")[0]["lr"].as_f64(), Some(0.25));
}

#[test]
fn the_training_seed_stays() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "2", "--save"];
    sandbox.ok(&[&on[..], &["a"]].concat());
    sandbox.ok(&[&on[..], &["b", "--seed", "123"]].concat());
    assert!(sandbox.read("a") == sandbox.read("b"));
}

#[test]
fn a_multi_head_model_belongs_to_the_other_program() {
    let sandbox = trained();
    as_multi_head(&sandbox.path("model"), &sandbox.path("heads"), 4);
    let needles = ["heads", "4", "train-gpt-mha"];
    sandbox.refuses(&["--load", "heads", "--prompt", "a"], 65, &needles);
    sandbox.refuses(&["generate", "--load", "heads"], 65, &needles);
    sandbox.refuses(&["eval", "--load", "heads", "--data", "text.txt"], 65, &needles);
}
