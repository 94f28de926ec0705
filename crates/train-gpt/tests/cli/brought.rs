//! Files and habits that people bring from elsewhere: what is more than text is said, and every word
//! that a model brought is found or refused by name.

use crate::sandbox;
use serde_json::{Value, json};
use std::fs;
use workspace_tests::cli_support::{Sandbox, other_text, some_text};

const RUN: [&str; 6] = ["--steps", "1", "--gen", "0", "--log-every", "0"];

#[test]
fn what_is_more_than_text_is_said() {
    let sandbox = sandbox();
    let lines = |line: &str| line.repeat(400).into_bytes();
    for (name, text, said) in [
        ("a.jsonl", lines("{\"text\": \"the cat\"}\n"), "JSON lines, learned with their braces"),
        ("a.json", lines("[{\"text\": \"the cat\"},\n"), "JSON, learned with its braces"),
        ("a.ipynb", lines("{\n \"cells\": [\n"), "JSON, learned with its braces"),
        ("a.csv", lines("id,text\n"), "a table, learned with its separators"),
        ("b.csv", lines("id;text\n"), "a table, learned with its separators"),
        ("a.tsv", lines("id\ttext\n"), "a table, learned with its separators"),
        ("crlf.txt", lines("the cat\r\n"), "line ends of Windows"),
        (
            "marks.txt",
            lines("a cat<|endoftext|>"),
            "in its beginning 400 times, learned as letters",
        ),
    ] {
        sandbox.write(name, &text);
        let words = [&["--data", name, "--data-as", "text"], &RUN[..]].concat();
        sandbox.train(&words).says(&[said]);
    }
    sandbox.write("text.csv.txt", &b"id,text\n{\"no\": JSON\n[x]\n".repeat(99));
    let plain = sandbox.train(&[&["--data", "text.csv.txt"], &RUN[..]].concat());
    plain.says(&["'text.csv.txt', 2.4 kB; the last 10 % unseen"]);
}

/// A text whose lines end as those of Windows do is written as lines.
#[test]
fn line_ends_of_windows_are_written_as_line_ends() {
    let sandbox = sandbox();
    sandbox.write("crlf.txt", &b"the cat\r\n".repeat(400));
    sandbox.train(&[&["--data", "crlf.txt", "--save", "m"], &RUN[..]].concat());
    sandbox.write("prompt", b"the cat\r\nthe");
    let words = ["generate", "--load", "m", "--prompt-file", "prompt", "-n", "3"];
    let written = sandbox.ok(&words).text().to_string();
    assert!(written.starts_with("the cat\nthe"), "{written:?}");
    let raw = sandbox.ok(&[&words[..], &["--raw"]].concat()).text().to_string();
    assert!(raw.starts_with("the cat\r\nthe"), "{raw:?}");
}

#[test]
fn what_encode_prints_is_a_prompt() {
    let sandbox = sandbox();
    sandbox.train(&[&["--data", "text.txt", "--save", "m"], &RUN[..]].concat());
    let encoded = sandbox.ok(&["tokenizer", "encode", "--tokenizer", "byte", "the"]);
    assert_eq!(encoded.text(), "116 104 101\n");
    let from = |ids: &str| {
        let words = ["generate", "--load", "m", "--prompt-ids", ids, "-n", "3", "--json"];
        sandbox.ok(&words).events()[0]["prompt_ids"].clone()
    };
    for ids in [encoded.text().trim(), "116,104,101", "[116, 104, 101]", "116, 104\n101"] {
        assert_eq!(from(ids), json!([116, 104, 101]), "{ids}");
    }
    for wrong in ["", "116,,104", "x", "116 -1", "[]"] {
        let words = ["generate", "--load", "m", "--prompt-ids", wrong];
        sandbox.refuses(&words, 2, &["--prompt-ids"]);
    }
}

#[test]
fn what_is_wrong_is_what_is_named() {
    let sandbox = sandbox();
    sandbox.refuses(&["--lang", "de", "runs"], 2, &["--lang de: it is en or zh"]);
    sandbox.refuses(
        &["--steps", "3", "runs"],
        2,
        &["'runs' comes first: train-gpt runs --steps 3"],
    );
    sandbox.refuses(&["runz"], 2, &["the nearest verb is runs"]);
    sandbox.refuses(&["--norm", "rms"], 2, &["unexpected '--norm'", "train-gpt-modern has it"]);
}

/// Scripts add theirs to a command: the last word counts, and lists grow.
#[test]
fn the_last_word_counts() {
    let sandbox = sandbox();
    let twice =
        ["--data", "text.txt", "--steps", "9", "--steps", "2", "--stop", "a", "--stop", "b"];
    let config = sandbox.train(&[&twice[..], &["--print-config"]].concat()).text().to_string();
    assert!(config.contains("\nsteps = 2\n"), "{config}");
    assert!(config.contains("stop = [\"a\", \"b\"]"), "{config}");
}

/// A rate below the smallest takes that down with it, where the course has ended.
#[test]
fn a_rate_below_the_smallest_is_said() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "4", "--gen", "0", "--out", "run"];
    sandbox.train(&[&run[..], &["--min-lr", "1e-4"]].concat());
    let on = ["--load", "run", "--steps", "1", "--gen", "0", "--no-save", "--lr"];
    sandbox.ok(&[&on[..], &["1e-5"]].concat()).says(&["is below the run's --min-lr"]);
    sandbox.ok(&[&on[..], &["1e-2"]].concat()).says(&["--lr has no effect"]);
}

/// As nanoGPT's settings have it, whose warm-up is 2,000 steps.
#[test]
fn a_peak_that_is_never_reached_is_said_once() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "4", "--gen", "0", "--no-save", "--warmup"];
    let said = |warmup| {
        let said = sandbox.train(&[&run[..], &[warmup]].concat());
        said.stderr.matches("the peak is never reached").count()
    };
    assert_eq!(["3", "4", "2000"].map(said), [0, 1, 1]);
}

/// Other text is learned slowly at the rate with which a run ended.
#[test]
fn other_text_at_the_end_of_a_course_is_said() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "4", "--gen", "0", "--out", "run"];
    sandbox.train(&[&run[..], &["--min-lr", "1e-4"]].concat());
    sandbox.write("new.txt", &other_text(2000));
    let on = ["--load", "run", "--steps", "1", "--gen", "0", "--no-save", "--allow-data-change"];
    let new = [&on[..], &["--data", "new.txt"]].concat();
    sandbox.ok(&new).says(&["the rate had come down to 0.0001: a new course from"]);
    for more in [&["--data", "text.txt"][..], &["--data", "new.txt", "--lr", "1e-3"]] {
        let said = sandbox.ok(&[&on[..], more].concat());
        assert!(!said.stderr.contains("the rate had come down"), "{said}");
    }
}

/// A run that ends above the loss of new weights has learned nothing, and says so.
#[test]
fn a_rate_that_is_far_too_high_is_said() {
    let sandbox = sandbox();
    let run = ["--data", "text.txt", "--steps", "60", "--gen", "0", "--no-save", "--lr"];
    sandbox.train(&[&run[..], &["30"]].concat()).says(&["nothing was learned", "a lower --lr"]);
    let fine = sandbox.train(&[&run[..], &["1e-3"]].concat());
    assert!(!fine.stderr.contains("nothing was learned"), "{fine}");
}

/// A folder of Hugging Face's with a small vocabulary, and its tokenizer.json.
#[cfg(feature = "bpe")]
fn exported(sandbox: &Sandbox) -> Value {
    sandbox.write("text.txt", &some_text(4000));
    let bpe = ["--tokenizer", "bpe", "--vocab-size", "270", "--arch", "gpt2", "--save", "m"];
    sandbox.train(&[&["--data", "text.txt"], &bpe[..], &RUN].concat());
    sandbox.ok(&["export", "hf", "--load", "m", "hf"]);
    serde_json::from_slice(&sandbox.read("hf/tokenizer.json")).unwrap()
}

#[cfg(feature = "bpe")]
fn added(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": true})
}

#[cfg(feature = "bpe")]
#[test]
fn tokens_without_a_row_are_named() {
    let sandbox = sandbox();
    let mut file = exported(&sandbox);
    let last = file["model"]["vocab"].as_object().unwrap().len();
    file["added_tokens"] = json!([added(last, "[PAD]")]);
    sandbox.write("hf/tokenizer.json", file.to_string().as_bytes());
    let import = ["import", "hf", "hf", "--save", "n"];
    sandbox.refuses(&import, 65, &["no row for '[PAD]'", "take it out there"]);
}

/// Without a prompt a text begins with the token that begins one, not with the one that ends one.
#[cfg(feature = "bpe")]
#[test]
fn a_new_text_begins_with_the_model_s_own_token() {
    let sandbox = sandbox();
    let mut file = exported(&sandbox);
    let vocab = file["model"]["vocab"].as_object_mut().unwrap();
    // Two merged tokens give their numbers away.
    let mut numbers: Vec<_> = vocab.iter().map(|(k, n)| (n.as_u64().unwrap(), k.clone())).collect();
    numbers.sort_unstable();
    let [end, begin] = [0, 1].map(|i| numbers[numbers.len() - 1 - i].clone());
    for (_, name) in [&end, &begin] {
        vocab.remove(name);
    }
    let [begin, end] = [begin.0 as usize, end.0 as usize];
    vocab.insert("<s>".into(), begin.into());
    vocab.insert("</s>".into(), end.into());
    let merges = file["model"]["merges"].as_array_mut().unwrap();
    merges.truncate(merges.len() - 2);
    file["added_tokens"] = json!([added(begin, "<s>"), added(end, "</s>")]);
    sandbox.write("hf/tokenizer.json", file.to_string().as_bytes());
    let settings = json!({"bos_token": "<s>", "eos_token": "</s>"});
    sandbox.write("hf/tokenizer_config.json", settings.to_string().as_bytes());
    for name in ["vocab.json", "merges.txt"] {
        let _ = fs::remove_file(sandbox.path("hf").join(name));
    }
    sandbox.ok(&["import", "hf", "hf", "--save", "n"]);
    let written = sandbox.ok(&["generate", "--load", "n", "-n", "3", "--json"]);
    assert_eq!(written.events()[0]["prompt_ids"], json!([begin]), "{written}");
}
