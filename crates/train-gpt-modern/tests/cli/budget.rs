//! `--time`: a run chosen for a time.

use crate::sandbox;
use std::path::Path;

/// What was chosen makes the same run when it is typed, in another process and another time.
#[test]
fn what_is_chosen_can_be_typed() {
    let sandbox = sandbox();
    let line = "Tom saw the cat. The cat saw Tom, and the dog saw nobody at all.\n";
    sandbox.write("text", line.repeat(40).as_bytes());
    let own = ["--data", "text", "--dmodel", "16", "--layers", "1", "--batch", "2", "--gen", "0"];
    let run = |more: &[&str]| {
        let json = ["--save-opt", "1", "--message-format", "json"];
        sandbox.ok(&[&own[..], more, &json[..]].concat())
    };
    let timed = run(&["--time", "20s", "--out", "timed"]);
    timed.says(&["chosen for 20 s and 2.6 kB: --tokenizer byte --seq 64 --dropout 0."]);
    let chosen: Vec<String> =
        serde_json::from_value(timed.events_of("start")[0]["chosen"].clone()).unwrap();
    let mut words: Vec<&str> = chosen.iter().map(String::as_str).collect();
    let wanted = ["--steps", "--warmup", "--lr"];
    assert!(
        !words.contains(&"--dmodel") && wanted.iter().all(|of| words.contains(of)),
        "{words:?}"
    );
    // The steps may have been planned again: then they are said, and replace those of the beginning.
    let steps = timed.events_of("planned_again").first().map(|of| of["steps"].to_string());
    if let Some(steps) = &steps {
        timed.says(&[&format!(
            "planned again by the time that steps take: --steps {steps} in place of"
        )]);
        let place = words.iter().position(|word| *word == "--steps").unwrap() + 1;
        words[place] = steps;
    }

    let again = run(&[&words[..], &["--out", "typed"]].concat());
    assert!(again.events_of("start")[0].get("chosen").is_none());
    let last = |name: &str| sandbox.read(Path::new(name).join("ckpt/last"));
    assert!(last("timed") == last("typed"));
    // The run's folder remembers what was chosen, and not how.
    let config = |name: &str| {
        let text = sandbox.read(Path::new(name).join("config.toml"));
        String::from_utf8(text).unwrap()
    };
    assert_eq!(config("timed"), config("typed"));
    assert!(!config("timed").contains("time ="), "{}", config("timed"));
    sandbox.ok(&["export", "hf", "--load", "timed", "hf"]);
    sandbox.ok(&["export", "gguf", "--load", "timed", "book.gguf"]).says(&["book.Modelfile"]);
}

#[test]
fn what_has_nothing_to_choose_is_refused() {
    let sandbox = sandbox();
    sandbox.write("text", &b"a small text. ".repeat(200));
    let time = |words: &[&str], needles: &[&str]| {
        sandbox.refuses(&[&["--time", "1m"], words].concat(), 2, needles);
    };
    time(&[], &["--time needs --data"]);
    time(&["--data", "text", "--steps", "5"], &["--time", "--steps"]);
    time(&["--data", "text", "--epochs", "5"], &["--time", "--epochs"]);
    time(&["--load", "text"], &["with --load, --steps or --max-time says how long"]);
    time(&["--data", "-"], &["name a file instead of standard input"]);
    time(&["--data", "text", "--data-as", "u16"], &["token numbers", "--steps"]);
    let compare = ["compare", "--data", "text", "--time", "1m"];
    sandbox.refuses(&compare, 2, &["compare takes no --time"]);
}

/// A time that is too short has the fewest steps; a text that is too short leaves time.
#[test]
fn what_does_not_fit_is_said() {
    let sandbox = sandbox();
    sandbox.write("text", &b"a small text. ".repeat(200));
    let own = ["--data", "text", "--dmodel", "16", "--layers", "1", "--batch", "2", "--gen", "0"];
    let run = |time| sandbox.ok(&[&own[..], &["--time", time, "--out", time]].concat());
    run("0.01s").says(&["--time is too short: 50 steps of the smallest model", "--steps 50"]);
    run("1m").says(&["of 60 s were used: after so many passes the text teaches nothing more"]);
}
