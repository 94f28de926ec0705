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

/// The loss is that of the other run by the weight, and unseen answers are measured without one.
#[test]
fn answers_count_by_their_weight() {
    let sandbox = sandbox();
    sandbox.write("chats.jsonl", chats(20).as_bytes());
    sandbox.write("half.jsonl", chats(20).replace("}]}", "}], \"weight\": 0.5}").as_bytes());
    let run = ["--steps", "1", "--lr", "1e-9", "--gen", "0", "--seq", "96", "--no-save"];
    let json = ["--message-format", "json", "--data"];
    let [one, half] = ["chats.jsonl", "half.jsonl"].map(|data| {
        let outcome = sandbox.ok(&[&TINY[2..], &run[..], &json, &[data]].concat());
        let of = |event: &str, key: &str| outcome.events_of(event)[0][key].as_f64().unwrap();
        [of("step", "loss"), of("step", "grad_norm"), of("done", "val_loss")]
    });
    for (i, by) in [0.5, 0.5, 1.0].into_iter().enumerate() {
        assert!((half[i] / one[i] / by - 1.0).abs() < 1e-4, "{one:?} {half:?}");
    }
    let words = [&TINY[2..], &run[..], &["--data", "half.jsonl"]].concat();
    sandbox.ok(&words).says(&["18 of the answers count by a weight of their own"]);
    sandbox.write(
        "bad.jsonl",
        (chats(3) + &chats(1).replace("}]}", "}], \"weight\": -1}")).as_bytes(),
    );
    let words = [&TINY[2..], &run[..], &["--data", "bad.jsonl"]].concat();
    sandbox.refuses(&words, 65, &["'bad.jsonl', line 4: its weight is -1: only 0 to 100"]);
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
            "line 4: it has none of messages, conversations, prompt and completion",
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
        (
            &["--data", "good.jsonl", "--order", "random"],
            "--order random is for texts and stories: conversations always come in passes",
        ),
    ] {
        sandbox.refuses(flags, 2, &[why]);
    }
    let mixed = ["--data", "good.jsonl", "text.txt"];
    sandbox.refuses(&mixed, 65, &["holds conversations", "text", "--data-as text"]);
}

/// As [`chats`], one object for all.
fn listed(n: usize) -> String {
    format!("[{}]", chats(n).trim().replace('\n', ",\n"))
}

/// Names say nothing: what is in a file does, in all encodings of a text, and of standard input.
#[test]
fn conversations_are_known_by_what_is_in_a_file() {
    let sandbox = sandbox();
    let lines = chats(20);
    let spoken = lines.replace("messages", "conversations").replace("\"role\"", "\"from\"");
    let spoken = spoken.replace("\"content\"", "\"value\"").replace("\"user\"", "\"human\"");
    let alone = lines.replace("{\"messages\":", "").replace("]}\n", "]\n");
    let alpaca: String = (0..20)
        .map(|i| format!("{{\"instruction\": \"{i}?\", \"input\": \"\", \"output\": \"{i}\"}}\n"))
        .collect();
    let wide: Vec<u8> = lines.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let pretty = listed(20).replace("{\"role", "\n  {\n   \"role");
    let run = ["--steps", "1", "--gen", "0", "--seq", "96", "--no-save"];
    for (name, bytes) in [
        ("lines.json", lines.as_bytes()),
        ("lines", &[b"\xEF\xBB\xBF", lines.as_bytes()].concat()),
        ("list.json", listed(20).as_bytes()),
        ("list.jsonl", pretty.as_bytes()),
        ("spoken.txt", spoken.as_bytes()),
        ("alone.jsonl", alone.as_bytes()),
        ("alpaca.json", alpaca.as_bytes()),
        ("wide.jsonl", &[&[0xFE, 0xFF], &wide[..]].concat()),
        ("wide.txt", &wide),
    ] {
        sandbox.write(name, bytes);
        let said = sandbox.ok(&[&TINY[2..], &["--data", name], &run[..]].concat());
        assert!(said.stderr.contains("20 conversations"), "{name}: {said}");
    }
    let from_stream = [&TINY[2..], &["--data", "-"], &run[..]].concat();
    let said = sandbox.run_with_input(&from_stream, listed(20).as_bytes());
    said.says(&["20 conversations"]);
    let letters = [&TINY[2..], &["--data", "list.json", "--data-as", "text"], &run[..]].concat();
    sandbox.ok(&letters).says(&["--data-as chats reads the conversations in it"]);
}

#[test]
fn what_is_passed_over_of_conversations_is_said() {
    let sandbox = sandbox();
    let run = ["--data", "a.jsonl", "--steps", "1", "--gen", "0", "--seq", "160", "--no-save"];
    let run = [&TINY[2..], &run[..]].concat();
    let written = |change: &dyn Fn(&str) -> String| {
        sandbox.write("a.jsonl", change(&chats(20)).as_bytes());
    };
    written(&|all| all.replace("{\"messages\"", "{\"id\": [1], \"messages\""));
    sandbox.ok(&run).says(&["keys passed over: id (20)"]);
    written(&|all| {
        all.replace("\"role\":\"assistant\"", "\"role\":\"assistant\",\"thinking\":\"hm\"")
    });
    sandbox.ok(&run).says(&["thoughts left out", "thinking (20)"]);
    let weight = "\"role\":\"assistant\",\"weight\":0";
    written(&|all| all.replacen("\"role\":\"assistant\"", weight, 3));
    sandbox.ok(&run).says(&["3 of the answers read and not learned"]);
    written(&|all| all.replace("\"messages\"", "\"images\": [\"a.png\"], \"messages\""));
    sandbox.refuses(&run, 65, &["line 1: it has images (a list), which cannot be learned here"]);
    written(&|_| chats(4).repeat(5));
    sandbox.ok(&run).says(&["100 % of that in the rest as well"]);
    written(&|_| chats(1));
    sandbox.ok(&run).says(&["one conversation, none of it is unseen"]);
    // The same conversations in another shape are learned too.
    written(&|_| chats(20));
    sandbox.write("val.json", listed(20).as_bytes());
    let judged = [&run[..], &["--val", "val.json"]].concat();
    sandbox.refuses(&judged, 65, &["100 % of its conversations are learned too"]);
}

/// What helps a file that holds something else is a line that works on this very file.
#[test]
fn what_helps_is_said_of_the_very_file() {
    let sandbox = sandbox();
    let run = ["--steps", "1", "--no-save"];
    let telegram =
        r#"{"name": "A", "messages": [{"id": 1, "from": "A", "from_id": "u1", "text": "a"}]}"#;
    let preferred = r#"{"prompt": "a", "chosen": "b", "rejected": "c"}"#;
    for (name, text, helps) in [
        (
            "a.jsonl",
            r#"{"question": "a", "answer": "b"}"#,
            "jq -c '{prompt: .question, completion: .answer}'",
        ),
        ("b.jsonl", r#"{"id": "a", "body": "longer"}"#, "jq -r .body takes the texts out"),
        ("c.jsonl", telegram, "the verb import chats"),
        ("d.jsonl", preferred, "jq -c '{prompt: .prompt, completion: .chosen}'"),
        ("e.jsonl", "no JSON", "learn the file as text with --data-as text"),
        ("f.json", "[{\"messages\": [1]}]", "mend the line"),
    ] {
        sandbox.write(name, text.as_bytes());
        let data = ["--data", name, "--data-as", "chats"];
        let said = sandbox.refuses(&[&data[..], &run[..]].concat(), 65, &[helps]);
        assert!(helps.contains("as text") || !said.stderr.contains("--data-as text"), "{said}");
    }
    for (name, text, helps) in [
        ("result.json", format!("{telegram}\n"), "the verb import chats makes conversations"),
        ("list.json", "[{\"url\": \"a\", \"body\": \"longer\"}]\n".to_string(), "jq -r '.[].body'"),
        ("chat.txt", "1.2.26, 9:05 - Ada: Hello\n".repeat(20), "a chat of WhatsApp"),
        ("mail.txt", "From a@b Thu Jan  1 00:00:00 1970\nDate: now\n\nHi\n".repeat(9), "mailbox"),
        ("page.html", "<!doctype html>\n<p>Hello</p>\n".repeat(9), "pandoc -f html -t plain"),
    ] {
        sandbox.write(name, text.as_bytes());
        let data = ["--data", name, "--seq", "8", "--batch", "1", "--gen", "0"];
        sandbox.ok(&[&data[..], &run[..]].concat()).says(&[helps]);
    }
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
    sandbox.ok(&["export", "hf", "--load", "from-gguf", "again"]);
    assert_eq!(read("again/generation_config.json")["eos_token_id"], *ends);
    std::fs::remove_dir_all(sandbox.path("again")).unwrap();
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

#[cfg(unix)]
/// A line without an end is refused, whatever it would hold.
#[test]
fn a_question_has_a_bound() {
    let sandbox = learned(&[]);
    for (bytes, why) in [(1 << 20, "too many"), (1 << 22, "more than 1 MiB")] {
        let script = format!("head -c {bytes} /dev/zero | \"$0\" \"$@\"");
        let asked = sandbox.run_by_script(&script, &["chat", "--load", "m"]);
        assert_eq!(asked.code, Some(65), "{asked}");
        assert!(asked.stderr.lines().last().unwrap().contains(why), "{asked}");
    }
}
