//! Conversations: learned from lines of JSON, and held.

use super::sandbox;
use serde_json::json;
use workspace_tests::cli_support::{Sandbox, TINY};

/// `n` questions with their answers, a line each.
fn chats(n: usize) -> String {
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
    assert!(!said.stderr.contains("has learned no conversation"), "{said}");
    let said =
        sandbox.run_with_input(&[&talk[..], &["--message-format", "json"]].concat(), b"1?\n2?\n");
    let events = said.events();
    assert_eq!(events.len(), 2, "{said}");
    assert_eq!((&events[1]["prompt"], &events[1]["sample"]), (&json!("2?"), &json!(1)));
    let asked = events[0]["prompt_ids"].as_array().map_or(0, Vec::len);
    assert!(asked > "user\n1?\n".len() && asked < 40, "{said}");
    assert!(events[0]["ids"].as_array().is_some_and(|ids| ids.len() <= 8));
    sandbox.refuses(&["chat", "--load", "m", "-n", "0"], 2, &["-n 0"]);
    let failed = sandbox.run_with_input(&talk, "long ".repeat(60).as_bytes());
    assert_eq!(failed.code, Some(65), "{failed}");
    failed.says(&["too many for the model's context of 160"]);
}

/// What has to be known of the way of talking, wherever a model goes: the template, and where answers end.
fn talks(sandbox: &Sandbox, model: &str, ends: &serde_json::Value) {
    sandbox.ok(&["export", "hf", "--load", model, "hf"]);
    let read =
        |name: &str| serde_json::from_slice::<serde_json::Value>(&sandbox.read(name)).unwrap();
    let template = read("hf/tokenizer_config.json")["chat_template"].clone();
    assert!(template.as_str().is_some_and(|text| text.contains("<|im_start|>")), "{template}");
    assert_eq!(read("hf/generation_config.json")["eos_token_id"], *ends);
    sandbox.ok(&["export", "gguf", "--load", model, "m.gguf"]);
    let modelfile = String::from_utf8(sandbox.read("m.Modelfile")).unwrap();
    assert!(modelfile.contains("TEMPLATE \"\"\"{{ if .System }}<|im_start|>system"), "{modelfile}");
    assert!(modelfile.contains("PARAMETER stop \"<|"), "{modelfile}");
    // And back, from either.
    let ask = |load: &str| {
        let talk = ["chat", "--load", load, "-n", "5", "--temp", "0", "--message-format", "json"];
        let said = sandbox.run_with_input(&talk, b"What is 1?\n");
        assert!(!said.stderr.contains("has learned no conversation"), "{said}");
        let event = said.events().remove(0);
        (event["prompt_ids"].clone(), event["ids"].clone(), event["text"].clone())
    };
    sandbox.ok(&["import", "hf", "hf", "--save", "from-hf"]).says(&["chat --load from-hf"]);
    sandbox
        .ok(&["import", "gguf", "m.gguf", "--save", "from-gguf"])
        .says(&["chat --load from-gguf"]);
    let asked = ask(model);
    assert_eq!((ask("from-hf"), ask("from-gguf")), (asked.clone(), asked));
    std::fs::remove_dir_all(sandbox.path("hf")).unwrap();
    for file in ["m.gguf", "m.Modelfile", "from-hf", "from-gguf"] {
        std::fs::remove_file(sandbox.path(file)).unwrap();
    }
}

#[test]
fn the_way_of_talking_goes_wherever_the_model_goes() {
    let sandbox = learned(&[]);
    talks(&sandbox, "m", &json!([258, 256]));
    let run = ["--data", "chats.jsonl", "--steps", "2", "--gen", "0", "--save"];
    let bpe = ["bpe", "--tokenizer", "bpe", "--vocab-size", "270"];
    sandbox.ok(&[&TINY[2..], &run[..], &bpe[..]].concat());
    let size = 270;
    talks(&sandbox, "bpe", &json!([size - 1, size - 3]));
    // A model of a text learns conversations: its vocabulary stays, and what ends a text ends an answer.
    let text = ["--data", "text.txt", "text.txt.2", "--steps", "2", "--gen", "0", "--save", "text"];
    sandbox.write("text.txt.2", &sandbox.read("text.txt")[1..]);
    sandbox.ok(&[&TINY[2..], &text[..]].concat());
    let on = ["--load", "text", "--data", "chats.jsonl", "--allow-data-change"];
    sandbox.ok(&[&on[..], &["--steps", "2", "--gen", "0", "--save", "tuned"]].concat());
    talks(&sandbox, "tuned", &json!(256));
    let refused = ["export", "gguf", "--load", "m", "x\nSYSTEM evil\n.gguf"];
    sandbox.refuses(&refused, 2, &["cannot name 'x\\nSYSTEM evil"]);
}

#[test]
fn a_window_fits_the_sample_is_a_question_and_the_next_command_is_chat() {
    let sandbox = sandbox();
    sandbox.write("chats.jsonl", chats(20).as_bytes());
    let small = ["--dmodel", "16", "--layers", "1", "--batch", "2", "--steps", "2"];
    let run = ["--data", "chats.jsonl", "-n", "4", "--save", "m"];
    let said = sandbox.ok(&[&small[..], &run[..]].concat());
    said.says(&["2 × 128 tokens", "chat --load m"]);
    said.prints(&["> What is 18?"]);
    assert!(!said.stderr.contains("learned in parts"), "{said}");
    let long = "a long answer ".repeat(80);
    let line = json!({"prompt": "a", "completion": long}).to_string() + "\n";
    sandbox.write("long.jsonl", line.repeat(10).as_bytes());
    let run = ["--data", "long.jsonl", "-n", "0", "--no-save"];
    let said = sandbox.ok(&[&small[..], &run[..]].concat());
    said.says(&["2 × 512 tokens", "9 of 9 conversations are longer than --seq 512"]);
    // Whoever has never seen a conversation is told what the model can do.
    sandbox.ok(&[&TINY[2..], &["--data", "text.txt", "--steps", "1", "--save", "text"]].concat());
    let said = sandbox.run_with_input(&["chat", "--load", "text", "-n", "2"], b"a\n");
    said.says(&["has learned no conversation", "generate --load text -p TEXT"]);
}
