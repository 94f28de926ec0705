//! `eval --task`: questions with known answers.

use crate::{RUN, sandbox};
use workspace_tests::cli_support::Sandbox;

const ASK: [&str; 5] = ["eval", "--load", "model", "--task", "task.jsonl"];
const CHOICES: &str = r#"{"prompt": "the ", "choices": ["cat", "sky", "tree"], "answer": "cat"}"#;
const PAIR: &str = r#"{"sentence_good": "the cat", "sentence_bad": "cat the"}"#;
const WRITTEN: &str = r##"{"question": "1 + 1?", "answer": "so #### 2"}"##;

fn with(lines: &[&str], more: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["model"], more].concat());
    sandbox.write("task.jsonl", lines.join("\n").as_bytes());
    sandbox
}

#[test]
fn shares_are_printed_and_counted_by_question() {
    let other = CHOICES.replace(r#", "tree"]"#, "]");
    let sandbox = with(&[CHOICES, &other, CHOICES], &[]);
    let rows = [&ASK[..], &["--per-question", "rows", "--json", "-q"]].concat();
    let found = &sandbox.ok(&rows).events()[0];
    assert_eq!((&found["event"], &found["task"]), (&"task".into(), &"task.jsonl".into()));
    assert_eq!((&found["shape"], &found["questions"]), (&"choices".into(), &3.into()));
    assert!((found["guessing"].as_f64().unwrap() - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-12);
    let text = String::from_utf8(sandbox.read("rows")).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in ["acc", "acc_norm"] {
        let right = rows.iter().filter(|row| row[name] == true).count();
        assert_eq!(found[name].as_f64().unwrap(), right as f64 / 3.0);
    }
    let lines: Vec<_> = rows.iter().map(|row| row["line"].as_u64().unwrap()).collect();
    let choices: Vec<_> =
        rows.iter().map(|row| row["logprobs"].as_array().unwrap().len()).collect();
    assert_eq!((lines, choices), (vec![1, 2, 3], vec![3, 2, 3]));
    sandbox.ok(&ASK).prints(&["questions      3 (choices)", "guessing       0.3889", "(95 %), "]);
    let chinese = [&ASK[..], &["--lang", "zh"]].concat();
    sandbox.ok(&chinese).prints(&["题目           3（choices）", "乱猜           0.3889"]);
    // The same with other batches and threads, and what is not this program's stays.
    let same = |more: &[&str]| sandbox.ok(&[&ASK[..], &["--json"], more].concat()).stdout;
    assert_eq!(same(&["--batch", "1"]), same(&["--batch", "64", "--threads", "1"]));
    sandbox.write("book", b"mine");
    sandbox.refuses(&[&ASK[..], &["--per-question", "book"]].concat(), 73, &["'book'", "exists"]);
}

#[test]
fn pairs_and_written_answers() {
    let sandbox = with(&[PAIR], &[]);
    sandbox.ok(&ASK).says(&["begin after token 20 (\\x14)"]);
    let task = |line: &str| sandbox.write("task.jsonl", line.as_bytes());
    task(&WRITTEN.replace("1 + 1", "which of these many numbers"));
    let written = sandbox.ok(&ASK);
    written.says(&["1 question did not fit", "at most 8 tokens"]);
    written.prints(&["exact_match,strict-match", "exact_match,flexible-extract"]);
    task(r#"{"prompt": "the c", "answer": "at"}"#);
    assert!(sandbox.ok(&[&ASK[..], &["--json"]].concat()).events()[0]["guessing"].is_null());
}

#[test]
fn with_rounded_weights_and_heads_switched_off() {
    let sandbox = with(&[CHOICES], &[]);
    let rounded = [&ASK[..], &["--weights", "q8"]].concat();
    sandbox.ok(&rounded).prints(&["in f32         acc ", "in f32         acc_norm "]);
    let json = &sandbox.ok(&[&rounded[..], &["--json"]].concat()).events()[0];
    assert_eq!((&json["weights"], &json["f32"]["questions"]), (&"q8".into(), &1.into()));
    let prune = ["inspect", "prune", "--load", "model", "--data", "text.txt", "--drop", "1"];
    sandbox.ok(&[&prune[..], &["--save", "less"]].concat());
    let rows = |model, file| {
        let ask = ["eval", "--load", model, "--task", "task.jsonl", "--per-question", file];
        sandbox.ok(&ask);
        sandbox.read(file)
    };
    assert_ne!(rows("model", "all"), rows("less", "fewer"));
}

#[test]
fn a_model_of_conversations_says_that_its_template_is_not_used() {
    let sandbox = sandbox();
    let talk = r#"{"prompt": "1+1?", "completion": "2"}"#;
    sandbox.write("talks.jsonl", format!("{talk}\n").repeat(40).as_bytes());
    let run = ["--data", "talks.jsonl", "--data-as", "chats", "--steps", "2", "--save", "model"];
    sandbox.train(&[&run[..], &["--gen", "0", "--seq", "64"]].concat());
    sandbox.write("task.jsonl", CHOICES.as_bytes());
    sandbox.ok(&ASK).says(&["--apply-chat-template asks them"]);
}

#[test]
fn what_cannot_be_asked_is_refused_by_its_line() {
    let sandbox = with(&[CHOICES, WRITTEN], &["--tokenizer", "char"]);
    sandbox.refuses(
        &ASK,
        65,
        &["'task.jsonl', line 2: its shape is gsm8k, that of line 1 is choices"],
    );
    for (text, needles) in [
        ("", &["'task.jsonl': there is no question in it"][..]),
        ("{\"prompt\"", &["line 1: it is no JSON"]),
        (r#"{"text": "a"}"#, &["line 1: its keys (text)"]),
        (&CHOICES.replace(r#""cat"}"#, "7}"), &["line 1: its answer '7'"]),
        (&CHOICES.replace("sky", "猫"), &["line 1: '猫' (U+732B)"]),
        (
            &CHOICES.replace("sky", &"the".repeat(9)),
            &["line 1: an answer has 28 tokens of its own, not 1 to 16"],
        ),
        ("\u{feff}\n\n{}", &["line 3: its keys ()"]),
    ] {
        sandbox.write("task.jsonl", text.as_bytes());
        sandbox.refuses(&ASK, 65, needles);
    }
    sandbox.write("task.jsonl", b"\xff");
    sandbox.refuses(&ASK, 65, &["no UTF-8"]);
    let missing = ["eval", "--load", "model", "--task", "missing"];
    sandbox.refuses(&missing, 66, &["missing"]);
    sandbox.refuses(&["eval", "--load", "model", "--task", "model"], 65, &["'model': it is"]);
    for other in [&["--data", "text.txt"][..], &["--per-token"], &["--npz", "a"]] {
        sandbox.refuses(&[&ASK[..], other].concat(), 2, &["--task", other[0]]);
    }
    let alone = ["eval", "--load", "model", "--per-question", "a"];
    sandbox.refuses(&alone, 2, &["--task"]);
}
