//! Going on with a run.

use crate::{sandbox, trained};
use workspace_tests::cli_support::{Sandbox, TINY, as_multi_head, native};

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
    // Not --lr: where a course has ended, it says where the next one begins.
    let same = ["--seq", "16", "--dmodel", "16", "--layers", "1", "--batch", "2"];
    let more = ["--schedule", "linear", "--clip", "1", "--heads", "1", "--beta2", "0.99"];
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
    outcome.says(&["--lr 0.25 replaces the run's 0.004", "--schedule"]);
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

/// The folder of a run is all that one needs to know: its text, its log, its best state.
#[test]
fn a_folder_goes_on_in_itself_with_its_own_text() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--gen", "0", "--schedule", "constant"];
    sandbox.train(&[&words[..], &["--steps", "20", "--out", "whole"]].concat());
    sandbox.train(&[&words[..], &["--steps", "10", "--out", "run"]].concat());
    for more in [["--steps", "4"], ["--steps", "6"]] {
        let on = sandbox.ok(&[&["--load", "run", "--gen", "0"][..], &more].concat());
        on.says(&["the run's own text is used: 'text.txt'", "saved   run/ckpt/last"]);
    }
    assert!(sandbox.read("run/ckpt/last") == sandbox.read("whole/ckpt/last"));
    let steps = |run: &str| -> Vec<String> {
        let log = String::from_utf8(sandbox.read(format!("{run}/metrics.csv"))).unwrap();
        log.lines().map(|line| line.split(',').next().unwrap().to_string()).collect()
    };
    assert_eq!(steps("run"), steps("whole"));
    assert!(!sandbox.path("runs").exists());

    // From elsewhere, too: the folder says where it was begun.
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let mut command = sandbox.command(&["--load", "../run", "--steps", "1", "--gen", "0"]);
    let output = command.current_dir(sandbox.path("elsewhere")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_text_that_moved_or_changed_is_named() {
    let sandbox = sandbox();
    sandbox.write("val.txt", &workspace_tests::cli_support::other_text(400));
    let words = ["--data", "text.txt", "--val", "val.txt", "--steps", "2", "--out", "run"];
    sandbox.train(&[&words[..], &["--gen", "0"]].concat());
    let on = ["--load", "run", "--steps", "1"];
    sandbox.ok(&[&on[..], &["--gen", "0"]].concat());
    let text = sandbox.read("text.txt");
    sandbox.write("text.txt", &text[1..]);
    sandbox.refuses(&on, 65, &["4000", "3999", "which 'text.txt' is now", "--allow-data-change"]);
    std::fs::rename(sandbox.path("text.txt"), sandbox.path("other.txt")).unwrap();
    sandbox.refuses(&on, 2, &["'text.txt' not found", "--data"]);
    sandbox.write("other.txt", &text);
    sandbox.ok(&[&on[..], &["--data", "other.txt", "--gen", "0"]].concat());
    // The new place is remembered.
    sandbox.ok(&[&on[..], &["--gen", "0"]].concat()).says(&["'other.txt'"]);
    std::fs::remove_file(sandbox.path("val.txt")).unwrap();
    sandbox.refuses(&on, 2, &["'val.txt' not found", "--val"]);
}

/// What a pipe held is gone: nothing is remembered, and the way on says so.
#[test]
fn piped_text_is_asked_for_again() {
    let sandbox = sandbox();
    let words = ["--data", "-", "--steps", "1", "--out", "run", "--gen", "0"];
    let first = sandbox.run_with_input(&[&TINY[..], &words].concat(), &sandbox.read("text.txt"));
    first.says(&["--load run --data - --steps 500"]);
    sandbox.refuses(&["--load", "run", "--steps", "1"], 2, &["--data"]);
}

/// The rate in the banner is the one of the next step, and a rate without effect is said.
#[test]
fn the_rate_that_comes_next_is_shown() {
    let sandbox = sandbox();
    let course = ["--lr", "0.01", "--min-lr", "0.001", "--warmup", "0", "--steps", "8"];
    let words = ["--data", "text.txt", "--gen", "0", "--out", "run"];
    sandbox.train(&[&words[..], &course].concat()).says(&["lr 0.01 (linear)"]);
    let on = ["--load", "run", "--steps", "1", "--log-every", "1", "--gen", "0"];
    let on = [&on[..], &["--message-format", "json"]].concat();
    let outcome = sandbox.ok(&[&on[..], &["--lr", "0.005"]].concat());
    outcome.says(&[
        "lr 0.001 now (linear, peak 0.005)",
        "--lr has no effect",
        "--schedule constant",
        "--decay-steps",
    ]);
    assert_eq!(outcome.events_of("step")[0]["lr"].as_f64(), Some(0.001));
}

/// What was learned is not called unseen.
#[test]
fn a_larger_unseen_part_is_refused() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--gen", "0", "--steps", "2"];
    sandbox.train(&[&run[..], &["--val-frac", "0.2", "--out", "run"]].concat());
    let on = ["--load", "run", "--steps", "1", "--gen", "0", "--val-frac"];
    sandbox.refuses(&[&on[..], &["0.5"]].concat(), 2, &["--val-frac 0.5", "0.2"]);
    sandbox.ok(&[&on[..], &["0.1"]].concat());
    sandbox.ok(&[&on[..], &["0.5", "--allow-data-change", "--data", "text.txt"]].concat());
}

/// Where the rate has come down to 0 a new course begins, and that is said.
#[test]
fn more_steps_than_planned_have_a_course_of_their_own() {
    let sandbox = sandbox();
    let course = ["--data", "text.txt", "--gen", "0", "--lr", "0.01", "--steps", "4"];
    let words = [&course[..], &["--out", "run"]].concat();
    sandbox.train(&words).says(&["--load run --steps 500"]);
    let rates = |more: &[&str]| {
        let on = ["--load", "run", "--steps", "4", "--gen", "0", "--no-save", "--log-every", "1"];
        let outcome = sandbox.ok(&[&on[..], &["--message-format", "json"], more].concat());
        let rate = |event: &serde_json::Value| event["lr"].as_f64().unwrap() as f32;
        (outcome.events_of("step").iter().map(rate).collect::<Vec<_>>(), outcome)
    };
    let (tenth, outcome) = rates(&[]);
    outcome.says(&["a new course from 0.001 to 0 at step 8"]);
    assert_eq!(tenth, [0.001, 0.00075, 0.0005, 0.00025]);
    assert_eq!(rates(&["--lr", "0.1"]).0[0], 0.1);
    for more in [["--schedule", "constant"], ["--min-lr", "1e-4"], ["--decay-steps", "9"]] {
        let (rates, outcome) = rates(&more);
        assert!(rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
        assert!(!outcome.stderr.contains("a new course"), "{outcome}");
    }
    let past = ["--load", "run", "--steps", "4", "--decay-steps", "3"];
    sandbox.refuses(&past, 2, &["--decay-steps 3", "step 4", "stay at 0"]);
}

/// A plan whose rate is 0 before its last step is said to waste the rest, and goes on as planned.
#[test]
fn a_course_that_ends_early_goes_on_as_it_was_planned() {
    let sandbox = sandbox();
    let plan = ["--data", "text.txt", "--gen", "0", "--steps", "6", "--decay-steps", "3"];
    let whole = ["--save-every", "4", "--keep", "2", "--out", "run"];
    let trained = sandbox.train(&[&plan[..], &whole].concat());
    trained.says(&["the rate is 0 from step 3 on", "the rest teaches nothing", "--min-lr"]);
    let on = ["--load", "run/ckpt/step-00000004", "--data", "text.txt", "--gen", "0"];
    let outcome = sandbox.ok(&[&on[..], &["--save", "again"]].concat());
    assert!(!outcome.stderr.contains("a new course"), "{outcome}");
    assert!(sandbox.read("again") == sandbox.read("run/ckpt/last"));
    let planned = sandbox.train(&["--data", "text.txt", "--gen", "0", "--steps", "6", "--no-save"]);
    assert!(!planned.stderr.contains("teaches nothing"), "{planned}");
}

/// What is loaded is not counted twice.
#[test]
fn going_on_takes_no_more_memory_than_beginning() {
    let sandbox = sandbox();
    let words = ["--seq", "8", "--dmodel", "256", "--layers", "4", "--batch", "1", "--steps", "1"];
    let fresh =
        sandbox.ok(&[&words[..], &["--data", "text.txt", "--save", "m", "--gen", "0"]].concat());
    let on = ["--load", "m", "--data", "text.txt", "--steps", "1", "--dry-run"];
    let [fresh, on] = [fresh, sandbox.ok(&on)].map(|outcome| {
        let (_, about) = outcome.stderr.split_once("· about ").unwrap();
        let (number, unit) = about.split_once(" of memory").unwrap().0.split_once(' ').unwrap();
        assert_eq!(unit, "MB", "{outcome}");
        number.parse::<f64>().unwrap()
    });
    assert!(on < 1.15 * fresh, "{on} MB to go on, {fresh} MB to begin");
}

#[test]
fn a_prompt_alone_is_not_a_training() {
    let sandbox = sandbox();
    for words in [&["-p", "x"][..], &["--prompt", "x", "-n", "5", "--temp", "0.5", "--seed", "3"]] {
        sandbox.refuses(words, 2, &["generate --load RUN --prompt", "--steps"]);
    }
    for run in ["runs/001", "runs/002"] {
        sandbox.train(&["--data", "text.txt", "--steps", "1", "--gen", "0", "--out", run]);
    }
    sandbox.refuses(&["-p", "x"], 2, &["train-gpt generate --load runs/002 --prompt"]);
    sandbox.train(&["--data", "text.txt", "--steps", "1", "-p", "t"]);
}

#[test]
fn quiet_prints_the_result_and_the_path() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "2", "--out", "run", "-q"];
    let outcome = sandbox.train(&words);
    let lines: Vec<&str> = std::str::from_utf8(&outcome.stdout).unwrap().lines().collect();
    assert!(
        matches!(lines[..], [result, saved] if result.starts_with("result  validation loss")
        && saved == native("saved   run/ckpt/last")),
        "{outcome}"
    );
    assert_eq!(outcome.stderr, "");
    // The same line on the same end when more is said.
    let loud = sandbox.train(&["--data", "text.txt", "--steps", "2", "--gen", "0"]);
    assert_eq!(std::str::from_utf8(&loud.stdout).unwrap().lines().collect::<Vec<_>>(), lines[..1]);
    // Text is printed when it is asked for.
    let text = sandbox.ok(&["--load", "run", "--steps", "1", "-q", "-p", "the", "-n", "3"]);
    assert!(std::str::from_utf8(&text.stdout).unwrap().contains("\nthe"), "{text}");
}

/// The value of a key in a run's settings.
fn setting(sandbox: &Sandbox, run: &str, key: &str) -> Option<String> {
    let text = String::from_utf8(sandbox.read(format!("{run}/config.toml"))).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
    line.map(String::from)
}

/// How often it is measured, saved and reported stays, and is said, unless it is typed again.
#[test]
fn a_run_goes_on_with_its_own_habits() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "6", "--gen", "0", "--out", "run"];
    let habits = ["--eval-every", "2", "--save-every", "3", "--keep", "2", "--log-every", "1"];
    let watched = ["--patience", "50", "--skip-spikes", "20", "--sample-every", "0"];
    sandbox.train(&[&words[..], &habits, &watched].concat());
    let on = ["--load", "run", "--steps", "4", "--gen", "0"];
    let all = "the run's own --eval-every 2, --save-every 3, --log-every 1, --keep 2, --patience 50, \
               --skip-spikes 20 go on";
    let done = sandbox.ok(&on);
    done.says(&[all, "step 7 "]);
    let measured = |step: &str| {
        let log = String::from_utf8(sandbox.read("run/metrics.csv")).unwrap();
        let row = log.lines().find(|line| line.starts_with(&format!("{step},"))).unwrap();
        !row.split(',').nth(3).unwrap().is_empty()
    };
    assert!(measured("8") && !measured("7"));
    assert_eq!(setting(&sandbox, "run", "patience").as_deref(), Some("50"));

    let typed = ["--eval-every", "0", "--log-every", "7", "--keep", "0", "--skip-spikes", "0"];
    let done = sandbox.ok(&[&on[..], &typed].concat());
    done.says(&["the run's own --save-every 3 go on"]);
    assert!(!measured("12"), "{done}");
    // What was given up is not taken up again.
    assert_eq!(setting(&sandbox, "run", "skip_spikes"), None);
    assert_eq!(setting(&sandbox, "run", "eval_every").as_deref(), Some("0"));
    let written = sandbox.ok(&["--load", "run", "--prompt", "the", "--gen", "4"]);
    assert!(!written.stderr.contains("go on"), "{written}");
    // A file outside a run's folder has no habits.
    std::fs::copy(sandbox.path("run/ckpt/last"), sandbox.path("model")).unwrap();
    let alone = ["--load", "model", "--data", "text.txt", "--steps", "1", "--save", "model"];
    assert!(!sandbox.ok(&alone).stderr.contains("go on"));
}

/// The settings in a run's folder make the whole run, not the part that was done last: here at a constant
/// rate, since steps beyond the end of a course have one of their own.
#[test]
fn the_settings_of_a_run_that_went_on_are_those_of_all_of_it() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--tokenizer", "char", "--gen", "0", "--seed", "5"];
    let constant = ["--schedule", "constant", "--steps", "6", "--out", "run"];
    sandbox.train(&[&words[..], &constant].concat());
    for steps in ["2", "3"] {
        sandbox.ok(&["--load", "run", "--gen", "0", "--steps", steps, "--seed", "9"]);
    }
    let of = |run: &str, key: &str| setting(&sandbox, run, key);
    assert_eq!(of("run", "steps").as_deref(), Some("11"));
    assert_eq!(of("run", "seed").as_deref(), Some("5"));
    assert_eq!(of("run", "tokenizer").as_deref(), Some("\"char\""));
    assert_eq!(of("run", "load"), None);
    sandbox.ok(&["--config", "run/config.toml", "--out", "again", "--gen", "0"]);
    assert!(sandbox.read("run/ckpt/last") == sandbox.read("again/ckpt/last"));

    // A run that began elsewhere goes on from there.
    sandbox.ok(&["--load", "run", "--out", "fork", "--steps", "2", "--gen", "0"]);
    sandbox.ok(&["--load", "fork", "--steps", "3", "--gen", "0"]);
    assert_eq!(of("fork", "load").as_deref(), Some("\"run\""));
    assert_eq!(of("fork", "steps").as_deref(), Some("5"));
    sandbox.ok(&["--config", "fork/config.toml", "--out", "third", "--gen", "0"]);
    assert!(sandbox.read("fork/ckpt/last") == sandbox.read("third/ckpt/last"));

    // What no settings can say is said above them, and stays.
    sandbox.ok(&["--load", "run", "--steps", "1", "--clip", "0.5", "--gen", "0"]);
    sandbox.ok(&["--load", "run", "--steps", "1", "--gen", "0"]);
    let text = String::from_utf8(sandbox.read("run/config.toml")).unwrap();
    let remark = "# after step 11: --clip 0.5 replaces the run's 1";
    assert_eq!(text.lines().nth(1), Some(remark), "{text}");
    assert_eq!(of("run", "steps").as_deref(), Some("13"));
}
