//! What `generate` can be asked for.

use crate::trained;
use serde_json::Value;
use workspace_tests::cli_support::{Outcome, Sandbox};

const WRITE: [&str; 5] = ["generate", "--load", "model", "-n", "40"];

fn write(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    sandbox.ok(&[&WRITE[..], words].concat())
}

fn ids(event: &Value, field: &str) -> Vec<u64> {
    event[field].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

#[test]
fn prompts_come_as_text_file_standard_input_or_numbers() {
    let sandbox = trained();
    sandbox.write("p.txt", b"the cat\n");
    let text = write(&sandbox, &["-p", "the cat\n"]).stdout;
    assert_eq!(write(&sandbox, &["--prompt-file", "p.txt"]).stdout, text);
    assert_eq!(write(&sandbox, &["--prompt-ids", "116,104,101,32,99,97,116,10"]).stdout, text);
    let words = [&WRITE[..], &["--prompt-file", "-"]].concat();
    assert_eq!(sandbox.run_with_input(&words, b"the cat\n").stdout, text);

    let refuses = |words: &[&str], code, needles: &[&str]| {
        sandbox.refuses(&[&WRITE[..], words].concat(), code, needles);
    };
    refuses(&["--prompt-ids", "1,256"], 2, &["--prompt-ids 256", "0 to 255"]);
    refuses(&["--prompt-ids", "1,x"], 2, &["--prompt-ids"]);
    refuses(&["--prompt-ids", "1", "-p", "a"], 2, &["--prompt"]);
    refuses(&["--prompt-file", "p.txt", "-p", "a"], 2, &["--prompt"]);
    refuses(&["--prompt-file", "missing"], 66, &["missing"]);
    refuses(&["--prompt-file", "."], 66, &["'.'"]);
    sandbox.write("empty", b"");
    write(&sandbox, &["--prompt-file", "empty"]).says(&["--prompt-file is empty", "line break"]);
}

#[test]
fn json_has_tokens_and_their_probabilities() {
    let sandbox = trained();
    let words = ["-p", "the \u{732b}", "--temp", "0", "--json"];
    let outcome = write(&sandbox, &words);
    let event = &outcome.events()[0];
    assert_eq!(event["event"], "sample");
    assert_eq!(ids(event, "prompt_ids"), [116, 104, 101, 32, 0xe7, 0x8c, 0xab]);
    assert_eq!(
        (event["prompt"].as_str(), event["finish"].as_str()),
        (Some("the 猫"), Some("length"))
    );
    let drawn = ids(event, "ids");
    assert_eq!(drawn.len(), 40);
    let bytes: Vec<u8> = drawn.iter().map(|&id| id as u8).collect();
    assert_eq!(event["text"], String::from_utf8_lossy(&bytes).as_ref());
    let logprobs = event["logprobs"].as_array().unwrap();
    assert!(logprobs.len() == 40 && logprobs.iter().all(|p| p.as_f64().unwrap() < 0.0));
    let same = write(&sandbox, &["-p", "the \u{732b}", "--temp", "0", "--message-format", "json"]);
    assert_eq!(same.stdout, outcome.stdout);
}

#[test]
fn several_texts_of_one_seed() {
    let sandbox = trained();
    let three = write(&sandbox, &["--num-samples", "3", "--json", "--seed", "4"]);
    let texts: Vec<_> = three.events().iter().map(|e| ids(e, "ids")).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[0] != texts[1] && texts[1] != texts[2]);
    let numbers: Vec<_> = three.events().iter().map(|e| e["sample"].clone()).collect();
    assert_eq!(numbers, [0, 1, 2]);
    let one = write(&sandbox, &["--json", "--seed", "4"]);
    assert_eq!(ids(&one.events()[0], "ids"), texts[0]);
    let shown = write(&sandbox, &["--num-samples", "3", "--seed", "4", "--escape-bytes"]).text();
    assert_eq!(shown.lines().filter(|line| *line == "---").count(), 2, "{shown}");
    for n in ["0", "1000001"] {
        sandbox.refuses(&[&WRITE[..], &["--num-samples", n]].concat(), 2, &["--num-samples"]);
    }
}

#[test]
fn stops_end_a_text_and_are_left_out() {
    let sandbox = trained();
    let whole = write(&sandbox, &["--temp", "0", "--ascii-only", "--json"]).events()[0].clone();
    let text = whole["text"].as_str().unwrap().to_string();
    let stop = &text[text.len() - 3..];
    let outcome = write(
        &sandbox,
        &["--temp", "0", "--ascii-only", "--json", "--stop", "\u{1}", "--stop", stop],
    );
    let event = &outcome.events()[0];
    assert_eq!(event["finish"], "stop");
    assert_eq!(event["text"].as_str().unwrap(), text.split(stop).next().unwrap());
    let shown = write(&sandbox, &["--temp", "0", "--ascii-only", "--stop", stop, "-p", "x"]).text();
    assert!(shown.starts_with('x') && !shown[1..].contains(stop), "{shown}");
    sandbox.refuses(&[&WRITE[..], &["--stop", ""]].concat(), 2, &["--stop"]);
}

#[test]
fn filters_narrow_the_choice() {
    let sandbox = trained();
    let greedy = write(&sandbox, &["--temp", "0"]).stdout;
    for narrow in [["--top-k", "1"], ["--top-p", "1e-6"], ["--min-p", "1"]] {
        assert_eq!(write(&sandbox, &narrow).stdout, greedy, "{narrow:?}");
    }
    assert_ne!(write(&sandbox, &["--top-p", "0.99"]).stdout, greedy);
    let all = ["--top-k", "256", "--top-p", "1", "--min-p", "0", "--repetition-penalty", "1"];
    assert_eq!(write(&sandbox, &all).stdout, write(&sandbox, &[]).stdout);
    // With every repeated token all but forbidden, a greedy text repeats none.
    let once = ["--temp", "0", "--repeat-penalty", "1e6", "--json"];
    let mut drawn = ids(&write(&sandbox, &once).events()[0], "ids");
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 40);
    let short = ["--temp", "0", "--repeat-penalty", "1e6", "--repeat-last-n", "2", "--json"];
    let drawn = ids(&write(&sandbox, &short).events()[0], "ids");
    assert!(drawn.windows(3).all(|w| w[0] != w[2] && w[1] != w[2]), "{drawn:?}");
    for (flag, value) in [
        ("--temp", "-1"),
        ("--top-p", "0"),
        ("--top-p", "1.1"),
        ("--min-p", "2"),
        ("--repetition-penalty", "0"),
        ("--slide", "0"),
        ("--slide", "17"),
    ] {
        sandbox.refuses(&[&WRITE[..], &[flag, value]].concat(), 2, &[flag]);
    }
}

#[test]
fn the_window_slides_as_far_as_asked() {
    let sandbox = trained();
    let write = |words: &[&str]| {
        let all = ["--temp", "0", "-n", "60", "--json", "-p", "the cat sat on the mat"];
        let outcome = sandbox.ok(&[&["generate", "--load", "model"], &all[..], words].concat());
        ids(&outcome.events()[0], "ids")
    };
    assert_eq!(write(&[]), write(&["--slide", "1"]));
    assert_eq!(write(&["--slide", "8"]).len(), 60);
    assert_eq!(write(&["--slide", "16", "--threads", "1"]), write(&["--slide", "16"]));
}

#[test]
fn probes_can_fail() {
    let sandbox = trained();
    let check = ["--load", "model", "--data", "text.txt", "--sanity-next-from-data", "20"];
    sandbox.ok(&[&check[..], &["--min-acc", "0"]].concat());
    let outcome = sandbox.run(&[&check[..], &["--min-acc", "1"]].concat());
    assert_eq!(outcome.code, Some(3), "{outcome}");
    outcome.says(&["error: --min-acc 1: 0 of 20 first choices are right"]);
    sandbox.refuses(&[&check[..], &["--min-acc", "1.5"]].concat(), 2, &["--min-acc 1.5"]);
}
