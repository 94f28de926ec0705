//! Conversations: learned from lines of JSON, and held.

use super::sandbox;
use serde_json::json;
use workspace_tests::cli_support::{Sandbox, TINY};

/// `n` questions with their answers, a line each.
pub(crate) fn chats(n: usize) -> String {
    let line = |i: usize| {
        let [ask, answer] = [format!("What is {i}?"), format!("A number, {i}.")];
        let turn = |role: &str, content: &str| json!({"role": role, "content": content});
        json!({"messages": [turn("user", &ask), turn("assistant", &answer)]}).to_string() + "\n"
    };
    (0..n).map(line).collect()
}

fn learned(more: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("chats.jsonl", chats(20).as_bytes());
    let run =
        ["--data", "chats.jsonl", "--steps", "4", "--gen", "0", "--seq", "160", "--save", "m"];
    sandbox.ok(&[&TINY[2..], &run[..], more].concat());
    sandbox
}

#[test]
fn conversations_are_learned_and_the_last_are_unseen() {
    let sandbox = sandbox();
    sandbox.write("chats.jsonl", chats(20).as_bytes());
    let run = ["--data", "chats.jsonl", "--steps", "4", "--gen", "0", "--seq", "96"];
    let run = [&TINY[2..], &run[..]].concat();
    sandbox.ok(&[&run[..], &["--no-save"]].concat()).says(&[
        "20 conversations",
        "of their tokens learned",
        "ChatML",
        "the last 10 % unseen",
    ]);
    sandbox.ok(&[&run[..], &["--save", "m"]].concat());
    let scored = sandbox.ok(&["eval", "--load", "m", "--data", "chats.jsonl"]);
    assert!(!scored.stderr.contains("leaves room"), "{scored}");
    let all = sandbox.ok(&[&run[..], &["--no-save", "--loss-on", "all"]].concat());
    all.says(&["100 % of their tokens learned"]);
    let short = sandbox.ok(&[&run[..], &["--no-save", "--seq", "32"]].concat());
    short.says(&["18 longer than 32 tokens"]);
    let epoch =
        ["--data", "chats.jsonl", "--epochs", "1", "--gen", "0", "--seq", "96", "--no-save"];
    sandbox.ok(&[&TINY[2..], &epoch[..]].concat()).says(&["9 steps of 2 × 96"]);
    sandbox.ok(&[&run[..], &["--no-save", "--tokenizer", "bpe", "--vocab-size", "300"]].concat());
    // As letters, where that is said.
    sandbox.ok(&[&run[..], &["--no-save", "--data-as", "text"]].concat()).says(&["chats.jsonl"]);
}

/// A run goes on with its conversations, with the same bytes as one that was not stopped.
#[test]
fn a_run_on_conversations_goes_on() {
    let sandbox = learned(&["--loss-on", "all", "--schedule", "constant"]);
    let on =
        ["--load", "m", "--steps", "2", "--gen", "0", "--data", "chats.jsonl", "--save", "six"];
    sandbox.ok(&on);
    let whole =
        ["--data", "chats.jsonl", "--steps", "6", "--gen", "0", "--seq", "160", "--save", "whole"];
    sandbox.ok(&[&TINY[2..], &whole[..], &["--loss-on", "all", "--schedule", "constant"]].concat());
    sandbox.ok(&["--load", "whole", "--steps", "0", "--gen", "0", "--save", "whole"]);
    let [six, whole] = ["six", "whole"].map(|name| {
        sandbox.ok(&["eval", "--load", name, "--data", "chats.jsonl", "--json"]).stdout
    });
    assert_eq!(six, whole);
    let other = ["--load", "m", "--steps", "1", "--data", "text.txt"];
    sandbox.refuses(&other, 65, &["'text.txt', line 1: it is no JSON"]);
}

#[test]
fn bad_lines_are_named_by_file_and_number() {
    let sandbox = sandbox();
    let good = chats(3);
    let role = |role: &str, content: &str| json!({"messages": [{"role": "user", "content": "a"}, {"role": role, "content": content}]});
    for (line, why) in [
        (
            r#"{"messages": ["#.to_string(),
            "line 4: it is no JSON: EOF while parsing a list at column",
        ),
        (
            role("asistant", "b").to_string(),
            "line 4: the chat template does not know the role 'asistant'",
        ),
        (role("assistant", " ").to_string(), "line 4: the answer in message 2 is empty"),
        (
            r#"{"question": "a"}"#.to_string(),
            "line 4: it has none of messages, prompt and completion, text",
        ),
        (role("user", "b").to_string(), "line 4: it has no answer to learn"),
    ] {
        sandbox.write("bad.jsonl", format!("{good}{line}\n").as_bytes());
        sandbox.refuses(&["--data", "bad.jsonl", "--steps", "1", "--no-save"], 65, &[why]);
    }
    sandbox.write("good.jsonl", good.as_bytes());
    for (flags, why) in [
        (
            &["--data", "text.txt", "--loss-on", "answers"][..],
            "--loss-on answers is for conversations",
        ),
        (&["--data", "good.jsonl", "--tokenizer", "char"], "--tokenizer char is for text"),
    ] {
        sandbox.refuses(flags, 2, &[why]);
    }
    let mixed = ["--data", "good.jsonl", "text.txt"];
    sandbox.refuses(&mixed, 65, &["holds conversations", "text"]);
}

#[test]
fn a_conversation_is_held_line_by_line() {
    let sandbox = learned(&[]);
    let talk = ["chat", "--load", "m", "-n", "8", "--temp", "0"];
    let said = sandbox.run_with_input(&talk, b"What is 1?\n\nAnd 2?\n");
    assert_eq!(said.code, Some(0), "{said}");
    said.says(&["ChatML"]);
    let said =
        sandbox.run_with_input(&[&talk[..], &["--message-format", "json"]].concat(), b"1?\n2?\n");
    let events = said.events();
    assert_eq!(events.len(), 2, "{said}");
    assert_eq!((&events[1]["prompt"], &events[1]["sample"]), (&json!("2?"), &json!(1)));
    assert!(events[0]["ids"].as_array().is_some_and(|ids| ids.len() <= 8));
    sandbox.refuses(&["chat", "--load", "m", "-n", "0"], 2, &["-n 0"]);
    let failed = sandbox.run_with_input(&talk, "long ".repeat(60).as_bytes());
    assert_eq!(failed.code, Some(65), "{failed}");
    failed.says(&["too many for the model's context of 160"]);
}

/// A line without an end is refused, whatever it would hold.
#[test]
fn a_question_has_a_bound() {
    let sandbox = learned(&[]);
    for (bytes, end) in [(1 << 20, ""), (1 << 20, "\n"), (3 << 20, "\nhi\n")] {
        let input = [vec![0; bytes], end.into()].concat();
        let asked = sandbox.run_with_input(&["chat", "--load", "m"], &input);
        let why = if bytes + end.len() > 1 << 20 { "more than 1 MiB" } else { "too many" };
        assert_eq!(asked.code, Some(65), "{asked}");
        assert!(asked.stderr.lines().last().unwrap().contains(why), "{asked}");
    }
}
