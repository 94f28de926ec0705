//! `--val`: text to be judged on that is no part of `--data`.

use crate::sandbox;
use workspace_tests::cli_support::{Sandbox, TINY, other_text, some_text};

const RUN: [&str; 6] = ["--data", "text.txt", "--val", "val.txt", "--steps", "4"];

fn with_val() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("val.txt", &other_text(400));
    sandbox
}

fn trained() -> Sandbox {
    let sandbox = with_val();
    sandbox.train(&[&RUN[..], &["--save", "model", "-q", "--gen", "0"]].concat());
    sandbox
}

#[test]
fn all_of_the_data_is_learned_and_all_of_val_is_scored() {
    let sandbox = with_val();
    let json = ["--message-format", "json", "--save", "val", "--eval-every", "2"];
    let outcome = sandbox.train(&[&RUN[..], &json].concat());
    outcome.says(&["'text.txt'", "'val.txt', 400 B"]);
    let scored = |e: &serde_json::Value| e["scored"].as_u64().unwrap();
    assert!(outcome.events_of("eval").iter().all(|e| scored(e) == 399), "{outcome}");
    let eval = ["eval", "--load", "val", "--data", "val.txt", "--message-format", "json"];
    let alone = &sandbox.ok(&eval).events()[0]["val_loss"];
    assert_eq!(alone, &outcome.events_of("done")[0]["val_loss"]);
    // The same steps as a run that keeps nothing back.
    let none = ["--data", "text.txt", "--steps", "4", "--val-frac", "0"];
    let losses = sandbox.train(&[&none[..], &["--message-format", "json"]].concat()).losses();
    assert_eq!(losses, outcome.losses());
}

#[test]
fn a_short_run_is_not_measured_on_all_of_a_long_text() {
    let sandbox = with_val();
    sandbox.write("val.txt", &other_text(300_001));
    let run = [&RUN[..], &["--seq", "16", "--dmodel", "8", "--layers", "1"]].concat();
    let json = sandbox.ok(&[&run[..], &["--message-format", "json", "--gen", "0"]].concat());
    let part = json.events_of("done")[0]["scored"].as_u64().unwrap();
    assert!((262_000..=262_144).contains(&part), "{json}");
    let said = sandbox.ok(&[&run[..], &["--save", "model", "--gen", "0"]].concat());
    said.says(&["on 262,1", "of 300,000 unseen tokens"]);
    let eval = ["eval", "--load", "model", "--data", "val.txt", "--message-format", "json"];
    assert_eq!(sandbox.ok(&eval).events()[0]["scored"], 300_000);
}

#[test]
fn several_files_and_standard_input() {
    let sandbox = with_val();
    let two = ["--data", "text.txt", "--val", "val.txt", "--val", "-", "--steps", "1"];
    let words = [&two[..], &["--seq", "16", "--dmodel", "16", "--layers", "1", "--batch", "2"]];
    let words = [&words.concat()[..], &["--message-format", "json", "--gen", "0"]].concat();
    let outcome = sandbox.run_with_input(&words, b"more to read");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.events_of("done")[0]["scored"], 411, "{outcome}");
    for words in [
        &["--data", "-", "--val", "-"][..],
        &["--data", "-", "--data", "-"],
        &["--data", "text.txt", "--val", "-", "--val", "-"],
    ] {
        sandbox.refuses(words, 2, &["standard input", "once"]);
    }
}

#[test]
fn what_cannot_be_judged_on() {
    let sandbox = with_val();
    sandbox.write("empty", b"");
    sandbox.write("one", b"x");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let new = ["--data", "text.txt", "--steps", "1", "--seq", "16"];
    for (more, code, needles) in [
        (&["--val", "val.txt", "--val-frac", "0.1"][..], 2, &["--val", "--val-frac"][..]),
        (&["--val", "missing"], 66, &["'missing'"]),
        (&["--val", "folder"], 66, &["'folder'", "without files"]),
        (&["--val", "empty"], 65, &["'empty'"]),
        (&["--val", "one"], 65, &["'one'", "one byte"]),
    ] {
        sandbox.refuses(&[&new[..], more].concat(), code, needles);
    }
    sandbox.refuses(&["--val", "val.txt", "--steps", "1"], 2, &["--val", "--data"]);
    sandbox.write("other", "the cat\n猫".as_bytes());
    let chars = [&new[..], &["--tokenizer", "char", "--val", "other"]].concat();
    sandbox.refuses(&chars, 65, &["'other'", "'猫' (U+732B)", "byte 8"]);
}

#[test]
fn a_run_that_goes_on_is_judged_on_the_same_text() {
    let sandbox = trained();
    let on = ["--load", "model", "--data", "text.txt", "--steps", "2"];
    sandbox.refuses(&on, 2, &["model", "--val"]);
    sandbox.ok(&[&on[..], &["--val", "val.txt", "--save", "same"]].concat());
    sandbox.write("other", &other_text(70));
    let other = [&on[..], &["--val", "other"]].concat();
    sandbox.refuses(&other, 65, &["model", "judged", "400", "70", "--allow-data-change"]);
    sandbox.ok(&[&other[..], &["--allow-data-change", "--save", "changed"]].concat());
    let changed = ["--load", "changed", "--data", "text.txt", "--val", "other", "--steps", "1"];
    sandbox.ok(&changed);
    let share = [&on[..], &["--val-frac", "0.2"]].concat();
    sandbox.refuses(&share, 2, &["--val-frac", "--val"]);
    // Where nothing is judged nothing is asked for.
    sandbox.ok(&["generate", "--load", "model", "-n", "3"]);
    sandbox.ok(&["--load", "model", "--prompt", "the", "--gen", "3"]);
    sandbox.ok(&["--load", "model", "--data", "text.txt", "--sanity-offset", "3"]);
}

#[test]
fn a_run_with_a_part_of_its_data_can_be_given_text_of_its_own() {
    let sandbox = with_val();
    sandbox.train(&["--data", "text.txt", "--steps", "2", "--save", "model"]);
    let on = ["--load", "model", "--data", "text.txt", "--val", "val.txt", "--steps", "1"];
    sandbox.refuses(&on, 65, &["model", "a part of --data", "--allow-data-change"]);
    let allowed = [&on[..], &["--allow-data-change", "--message-format", "json"]].concat();
    assert_eq!(sandbox.ok(&allowed).events_of("done")[0]["scored"], 399);
    sandbox.ok(&["--seq", "64", "--dmodel", "8", "--layers", "1", "--steps", "1", "--save", "s"]);
    let stories = ["--load", "s", "--steps", "1", "--val", "val.txt"];
    sandbox.refuses(&stories, 2, &["--val", "--data"]);
}

#[test]
fn ten_and_ten_steps_are_twenty() {
    let sandbox = with_val();
    let run = |words: &[&str]| {
        let all = ["--data", "text.txt", "--val", "val.txt", "-q", "--gen", "0"];
        let schedule = ["--schedule", "constant"];
        sandbox.ok(&[&all[..], &schedule, words].concat())
    };
    let new = |words: &[&str]| run(&[&TINY[..], words].concat());
    new(&["--steps", "20", "--save", "whole"]);
    new(&["--steps", "10", "--save", "half"]);
    run(&["--load", "half", "--steps", "10", "--save", "two"]);
    assert!(sandbox.read("two") == sandbox.read("whole"));
}

#[test]
fn commands_to_type_next_name_it() {
    let sandbox = with_val();
    sandbox.train(&[&RUN[..], &["--save", "m"]].concat()).says(&[" --val val.txt --steps 500"]);
}

#[test]
fn verbs_measure_on_the_run_s_own_unseen_part() {
    let sandbox = with_val();
    for (out, more) in [("share", &[][..]), ("own", &["--val", "val.txt"])] {
        let json = ["--out", out, "--gen", "0", "--message-format", "json"];
        let words = [&["--data", "text.txt", "--steps", "4"], more, &json].concat();
        let done = sandbox.train(&words);
        let done = &done.events_of("done")[0];
        let eval = sandbox.ok(&["eval", "--load", out, "--message-format", "json"]);
        eval.says(&["the run's own unseen text"]);
        assert_eq!(eval.events()[0]["val_loss"], done["val_loss"], "{eval}");
        assert_eq!(eval.events()[0]["scored"], done["scored"], "{eval}");
        let heads = sandbox.ok(&["inspect", "heads", "--load", out]).text();
        assert!(heads.contains("the run's own unseen text"), "{heads}");
        let all = sandbox.ok(&["eval", "--load", out, "--data", "text.txt"]);
        all.says(&["learned by this run"]);
    }
    let all = ["--data", "text.txt", "--steps", "1", "--val-frac", "0", "--out", "all"];
    sandbox.train(&all);
    sandbox.refuses(&["eval", "--load", "all"], 2, &["set no text apart", "--data"]);
}

/// A copy of a part of what is learned, between other text too.
#[test]
fn passages_that_are_learned_are_not_unseen() {
    let sandbox = with_val();
    let (learned, new) = (some_text(3000), other_text(4000));
    let run = ["--data", "text.txt", "--val", "val.txt", "--steps", "1", "--gen", "0"];
    for (own, share) in [(0, "100 %"), (500, "7"), (4000, "")] {
        sandbox.write("val.txt", &[&new[..own], &learned[1000..]].concat());
        match share {
            "" => sandbox.train(&run),
            share => sandbox.refuses(&run, 65, &["'val.txt' of --val", share, "word for word"]),
        };
    }
    sandbox.write("twice.txt", &[&learned[..], &learned].concat());
    let own = ["--data", "twice.txt", "--steps", "1", "--gen", "0"];
    sandbox.train(&own).says(&["; the last 10 % unseen, 100 % of that in the rest as well"]);
    let none = sandbox.train(&["--data", "text.txt", "--steps", "1", "--val-frac", "0"]);
    none.says(&["; none of it is unseen"]);
}

/// The end of each of several texts is unseen, in memory and on the disk, and none where they are
/// one text.
#[test]
fn the_end_of_each_file_is_unseen() {
    let sandbox = sandbox();
    let letters = [b'a', b'b', b'c'];
    std::fs::create_dir(sandbox.path("texts")).unwrap();
    for (letter, len) in letters.iter().zip([1000, 500, 200]) {
        let text = [vec![*letter; len - len / 10], vec![letter.to_ascii_uppercase(); len / 10]];
        sandbox.write(format!("texts/{}.txt", *letter as char), &text.concat());
    }
    let run = ["--data", "texts", "--steps", "4", "--gen", "0", "--message-format", "json"];
    for tokenizer in ["byte", "char"] {
        let all = [&run[..], &["--tokenizer", tokenizer]].concat();
        let said = sandbox.train(&[&all[..], &["--out", tokenizer]].concat());
        said.says(&["3 texts", "; the last 10 % of each unseen"]);
        // Each part ends with a token that says so, and the first is not scored.
        assert_eq!(said.events_of("done")[0]["scored"], 170 + 3 - 1, "{said}");
        let eval = ["eval", "--load", tokenizer, "--per-token", "-"];
        let rows = sandbox.ok(&eval).text().to_string();
        let scored = |letter: &u8| rows.contains(&format!("{}", *letter as char));
        assert!(letters.map(|l| l.to_ascii_uppercase()).iter().all(scored), "{rows}");
        let words = [&TINY[..], &all, &["--save", "disk"]].concat();
        let disk = sandbox.command(&words).env("LLM_DATA_IN_MEMORY", "100").status().unwrap();
        let last = format!("{tokenizer}/ckpt/last");
        assert!(disk.success() && sandbox.read("disk") == sandbox.read(&last), "{tokenizer}");
        // What is set apart is never learned: other capitals are the same run.
        let on = ["--load", tokenizer, "--steps", "1", "--gen", "0"];
        sandbox.ok(&on).says(&["of each unseen"]);
    }
    let joined = [&run[..], &["--end-of-text", "none"]].concat();
    sandbox.train(&joined).says(&["'texts' (3 files), 1.7 kB; the last 10 % unseen"]);
    // Of many small files there is something unseen as well.
    std::fs::create_dir(sandbox.path("many")).unwrap();
    (0..50).for_each(|i| sandbox.write(format!("many/{i}"), format!("word{i:03}").as_bytes()));
    let many = ["--data", "many", "--steps", "1", "--gen", "0", "--message-format", "json"];
    let done = sandbox.train(&many);
    assert!(done.events_of("done")[0]["scored"].as_u64().unwrap() >= 35, "{done}");
}

/// The weights do not depend on what is set apart.
#[test]
fn what_is_unseen_is_not_learned() {
    let sandbox = sandbox();
    let run = ["--data", "a", "b", "--steps", "5", "--gen", "0", "--save", "model"];
    let [first, second] = [b"xyz", b"uvw"].map(|end| {
        for (name, text) in [("a", some_text(900)), ("b", other_text(900))] {
            sandbox.write(name, &[&text[..], &end.repeat(33)[..], b"."].concat());
        }
        let words = [&run[..], &["--val-frac", "0.1"]].concat();
        let said = sandbox.train(&[&words[..], &["--message-format", "json"]].concat());
        (said.losses(), said.events_of("done")[0]["val_loss"].as_f64().unwrap())
    });
    assert_eq!(first.0, second.0);
    assert_ne!(first.1, second.1);
}
