//! Learning from rewards: the same bytes however a run is disturbed, and programs that judge.

use super::sandbox;
use serde_json::Value;
use std::process::Command;
use workspace_tests::cli_support::{Sandbox, TINY};

/// A base that begins answers with one of two letters, and has questions to answer.
fn base() -> Sandbox {
    let sandbox = sandbox();
    let line = |i: usize| {
        let answer = if i.is_multiple_of(3) { "b" } else { "a" };
        format!("{{\"prompt\": \"{}\", \"completion\": \"{answer}\"}}\n", i % 10)
    };
    sandbox.write("chats.jsonl", (0..60).map(line).collect::<String>().as_bytes());
    sandbox.write("questions.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let run =
        ["--data", "chats.jsonl", "--steps", "60", "--gen", "0", "--seq", "64", "--save", "m"];
    sandbox.ok(&[&TINY[2..], &run[..], &["--lr", "1e-2"]].concat());
    sandbox
}

const STEPS: [&str; 19] = [
    "--load",
    "m",
    "--steps",
    "6",
    "--batch",
    "2",
    "--accum",
    "2",
    "--group",
    "4",
    "--gen",
    "0",
    "--answer-length",
    "4",
    "--dropout",
    "0.1",
    "--eval-every",
    "2",
    "--save-every",
];

fn words<'a>(reward: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&STEPS[..], &["2", "--reward", reward, "--out", out], more].concat()
}

fn same(sandbox: &Sandbox, runs: [&str; 2]) {
    for name in ["ckpt/last", "rewards.jsonl", "answers.jsonl"] {
        let [one, other] = runs.map(|run| sandbox.read(format!("{run}/{name}")));
        assert!(one == other, "{runs:?} {name}");
    }
}

#[test]
fn a_run_that_is_disturbed_has_the_same_bytes() {
    let sandbox = base();
    let data = ["--data", "chats.jsonl"];
    let outcome = sandbox.ok(&words("exact", "whole", &data));
    outcome.says(&["60 questions, 6 of them unseen", "reward=", "differ=", "length="]);
    sandbox.ok(&words("exact", "threads", &[&data[..], &["--threads", "1"]].concat()));
    same(&sandbox, ["whole", "threads"]);
    // Whatever the moment of a kill, it goes on from a save.
    let mut run =
        sandbox.start(&words("exact", "killed", &[&data[..], &["--log-every", "1"]].concat()));
    run.wait_for("at step 4");
    run.kill();
    drop(run);
    sandbox.ok(&["--load", "killed", "--gen", "0"]);
    same(&sandbox, ["whole", "killed"]);
    // A run that learns from rewards does so until it ends, and with another judge another one begins.
    sandbox.ok(&["--load", "whole", "--steps", "1", "--gen", "0"]).says(&["reward="]);
    let other = ["--load", "whole", "--reward", "sort", "--answer-length", "4", "--steps", "1"];
    sandbox.ok(&[&other[..], &["--gen", "0", "--no-save"]].concat()).says(&["stays as it is"]);
    let json = [&data[..], &["--message-format", "json", "--no-save"]].concat();
    let steps = sandbox.ok(&[&STEPS[..], &["0", "--reward", "exact"], &json].concat());
    let step = &steps.events_of("step")[0];
    let keys = ["reward", "differ", "length", "entropy"];
    assert!(keys.iter().all(|key| step[key].is_f64()), "{step}");
}

/// The last checkpoint of a run is that of step 4 again.
fn back_to_step_4(sandbox: &Sandbox, run: &str) {
    let folder = std::fs::read_dir(sandbox.path(format!("{run}/ckpt"))).unwrap();
    let mut all = folder.map(|entry| entry.unwrap().path());
    let earlier = all.find(|path| path.file_name().unwrap().to_string_lossy().ends_with('4'));
    std::fs::copy(earlier.unwrap(), sandbox.path(format!("{run}/ckpt/last"))).unwrap();
}

fn lines(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let text = String::from_utf8(sandbox.read(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The part of a run's page that is about rewards.
fn page(sandbox: &Sandbox, run: &str) -> Value {
    let page = String::from_utf8(sandbox.read(format!("{run}/report.html"))).unwrap();
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str::<Value>(data).unwrap()["rewards"].take()
}

#[test]
fn what_happens_is_seen() {
    let sandbox = base();
    sandbox.ok(&words("exact", "run", &["--data", "chats.jsonl", "--lr", "1e-2", "--keep", "9"]));
    let steps = lines(&sandbox, "run/rewards.jsonl");
    assert_eq!(steps.len(), 6);
    let ln_v = 256f64.ln();
    assert!(steps.iter().all(|of| (0.0..ln_v).contains(&of["entropy"].as_f64().unwrap())));
    let moments = lines(&sandbox, "run/answers.jsonl");
    let of = |key: &str| moments.iter().map(|of| of[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("step"), of("start_kl")[0]), (vec![0.0, 2.0, 4.0, 6.0], 0.0));
    assert!(of("start_kl")[1..].iter().all(|kl| *kl > 0.0), "{:?}", of("start_kl"));
    for moment in &moments {
        let answers = moment["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 3);
        assert!(answers.iter().all(|of| of["question"].is_string() && of["right"].is_boolean()));
    }
    let whole = page(&sandbox, "run");
    assert_eq!(whole["reward"].as_array().unwrap().len(), 6);
    assert_eq!(whole["moments"].as_array().unwrap().len(), 4);
    // From an earlier step with another rate: what came after that step is of another run.
    back_to_step_4(&sandbox, "run");
    sandbox.ok(&["report", "run"]);
    assert_eq!(page(&sandbox, "run")["reward"].as_array().unwrap().len(), 4);
    sandbox.ok(&["--load", "run", "--lr", "1e-3", "--gen", "0"]);
    let again = lines(&sandbox, "run/rewards.jsonl");
    assert_eq!((again.len(), &again[..5]), (6, &steps[..5]));
    assert_ne!(again[5], steps[5]);
    let again = lines(&sandbox, "run/answers.jsonl");
    assert_eq!((again.len(), &again[..3]), (4, &moments[..3]));
    assert!(again[3]["start_kl"].as_f64() < moments[3]["start_kl"].as_f64());
}

/// A program that says 1 to answers that begin with a, and dies once before line 40.
#[cfg(unix)]
const JUDGE: &str = "#!/bin/sh\nwhile read line; do\n  echo \"$line\" >> asked\n  \
    [ $(wc -l < asked) = 41 ] && [ ! -f died ] && touch died && exit 1\n  \
    case $line in *'\"answer\":\"a'*) echo 1;; *) echo 0;; esac\ndone\n";

#[cfg(unix)]
#[test]
fn what_a_program_said_is_not_asked_again() {
    let sandbox = base();
    sandbox.write("judge.sh", JUDGE.as_bytes());
    let data = ["--data", "questions.txt", "--val-frac", "0"];
    let asked = || String::from_utf8(sandbox.read("asked")).unwrap().lines().count();
    let died = words("sh judge.sh", "run", &data);
    let outcome = sandbox.run(&died);
    assert_eq!(outcome.code, Some(65), "{outcome}");
    outcome.says(&["error: --reward 'sh judge.sh'", "of 8 numbers", "step 2 in", "is kept"]);
    sandbox.ok(&["--load", "run", "--gen", "0"]);
    // 6 steps of 16 answers; of the step that it died in, those of the second micro-batch once more.
    assert!((96..=96 + 16).contains(&asked()), "{}", asked());
    sandbox.write("asked", b"");
    sandbox.ok(&words("sh judge.sh", "whole", &[&data[..], &["--keep", "2"]].concat()));
    assert_eq!(asked(), 96);
    same(&sandbox, ["whole", "run"]);
    // As after a kill: the checkpoint does not know the last two steps, whose rewards are there.
    back_to_step_4(&sandbox, "whole");
    sandbox.ok(&["--load", "whole", "--gen", "0"]).says(&["at step 4", "at step 6"]);
    assert_eq!(asked(), 96);
    same(&sandbox, ["whole", "run"]);
    let line = String::from_utf8(sandbox.read("asked")).unwrap();
    for key in ["\"question\":\"", "\"answer\":\"", "\"ended\":"] {
        assert!(line.lines().all(|line| line.contains(key)), "{line}");
    }
}

/// The judge looks at the first letter alone: rewards grow, and answers that were right are so no longer.
#[cfg(unix)]
#[test]
fn what_a_judge_does_not_look_at_is_not_learned() {
    let sandbox = base();
    sandbox.write("died", b"");
    sandbox.write("judge.sh", JUDGE.as_bytes());
    let more = ["--data", "chats.jsonl", "--steps", "60", "--lr", "1e-2", "--answer-length", "2"];
    sandbox.ok(&words("sh judge.sh", "run", &more));
    let rewards = lines(&sandbox, "run/rewards.jsonl");
    assert!(rewards[55..].iter().all(|of| of["reward"].as_f64() > Some(0.9)), "{:?}", rewards[55]);
    let last = lines(&sandbox, "run/answers.jsonl").pop().unwrap();
    for of in last["answers"].as_array().unwrap() {
        assert!(of["answer"].as_str().unwrap().starts_with('a'), "{last}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_says_no_number_ends_the_step_with_one_line() {
    let sandbox = base();
    let data = ["--data", "questions.txt", "--val-frac", "0"];
    for (judge, why) in [
        ("false", "it ended after 0 of 8 numbers"),
        ("yes nan", "it says 'nan', which is no number"),
        ("sleep 100", "it says nothing for 0.3 s, after 0 of 8 numbers"),
        (
            "sh -c 'for i in 1 2 3 4 5; do echo 1; done; exec sleep 100'",
            "for 0.3 s, after 5 of 8 numbers",
        ),
    ] {
        let mut command: Command = sandbox.command(&words(judge, "run", &data));
        let output = command.env("LLM_REWARD_MS", "300").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(65), "{said}");
        assert!(said.contains(why) && said.contains("step 0 in 'run/ckpt/last' is kept"), "{said}");
        std::fs::remove_dir_all(sandbox.path("run")).unwrap();
    }
}

#[test]
fn what_cannot_be_rewarded_is_refused() {
    let sandbox = base();
    let to = |more: &[&str]| {
        [&["--load", "m", "--gen", "0", "--no-save"], more]
            .concat()
            .iter()
            .map(|w| w.to_string())
            .collect::<Vec<_>>()
    };
    for (words, why) in [
        (vec!["--reward", "exact"], "name the questions with --data"),
        (vec!["--reward", "exact", "--data", "questions.txt"], "no answers to compare with"),
        (vec!["--reward", "sort", "--data", "questions.txt"], "leave --data out"),
        (vec!["--reward", "sort", "--answer-length", "64"], "leave less of the context of 64"),
        (vec!["--reward", "sort", "--group", "1"], "--group: 1 is outside 2..=4096"),
        (vec!["--group", "4"], "--group is about rewards: it needs --reward"),
        (vec!["--reward", "sort", "--epochs", "1"], "--epochs is for a run that learns from data"),
    ] {
        sandbox.refuses(&to(&words), 2, &[why]);
    }
    sandbox.refuses(&["--reward", "sort"], 2, &["name it with --load"]);
    let file = ["--load", "m", "--reward", "true", "--data", "questions.txt", "--save", "f"];
    sandbox.refuses(&file, 2, &["name that with --out"]);
    // A base that is never right.
    let never = [
        "--reward",
        "sort",
        "--steps",
        "21",
        "--batch",
        "1",
        "--group",
        "2",
        "--answer-length",
        "2",
    ];
    sandbox.ok(&to(&never)).says(&[
        "warning: in 20 steps no two answers to one question had different rewards (all 0.000",
        "nothing can be learned; a model that is sometimes right, or easier questions",
    ]);
}
