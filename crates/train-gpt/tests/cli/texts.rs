//! Where texts end: a token says so between files and where it is asked for, writing stops there,
//! and other programs are told.

use crate::sandbox;
use workspace_tests::cli_support::{Sandbox, TINY, some_text};

const RUN: [&str; 4] = ["--steps", "2", "--gen", "0"];
const MARK: &str = "<|endoftext|>";

/// Three texts, and all of them in one file with marks.
fn three() -> Sandbox {
    let sandbox = sandbox();
    let text = some_text(3000);
    for (name, part) in ["a", "b", "c"].iter().zip(text.chunks(1000)) {
        sandbox.write(format!("{name}.txt"), part);
    }
    let marked: Vec<u8> =
        text.chunks(1000).flat_map(|part| [part, MARK.as_bytes()].concat()).collect();
    sandbox.write("marked.txt", &marked);
    sandbox
}

fn train(sandbox: &Sandbox, data: &[&str], save: &str) -> Vec<u8> {
    sandbox.train(&[data, &RUN, &["--save", save, "-q"]].concat());
    sandbox.read(save)
}

const FILES: [&str; 4] = ["--data", "a.txt", "b.txt", "c.txt"];
const AS_MARKED: [&str; 4] = ["--data", "marked.txt", "--end-of-text", "marked"];

/// However the tokens come about, they are the same: in memory, on the disk, by marks.
#[test]
fn a_token_stands_between_files_and_for_marks() {
    let sandbox = three();
    let mut kinds = vec![vec![], vec!["--tokenizer", "char"]];
    if cfg!(feature = "bpe") {
        kinds.push(vec!["--tokenizer", "bpe", "--vocab-size", "300"]);
    }
    for kind in kinds {
        let run = |data: &[&str]| sandbox.train(&[data, &kind, &["--dry-run"]].concat());
        run(&FILES).says(&["3 files, 3.0 kB, 3 texts"]);
        run(&AS_MARKED).says(&["<|endoftext|> ends a text"]);
        train(&sandbox, &[&FILES[..], &kind].concat(), "files");
        let score = |data: &[&str], model: &str| {
            let all = [&["eval", "--load", model], data].concat();
            sandbox.ok(&all).text().to_string()
        };
        let by_files = score(&FILES, "files");
        let disk = sandbox.command(&[&["eval", "--load", "files"], &FILES[..]].concat());
        let disk = { disk }.env("LLM_DATA_IN_MEMORY", "500").output().unwrap();
        assert_eq!(String::from_utf8(disk.stdout).unwrap(), by_files);
        train(&sandbox, &[&AS_MARKED[..], &kind].concat(), "marks");
        if kind.is_empty() {
            assert!(by_files.starts_with("tokens         3,002\n"), "{by_files}");
            assert!(score(&AS_MARKED[..2], "marks").starts_with("tokens         3,002\n"));
            // One text in any number of files.
            let joined = [&FILES[..], &["--end-of-text", "none"]].concat();
            sandbox.write("joined.txt", &some_text(3000));
            let [one, other] = [&joined[..], &["--data", "joined.txt"]]
                .map(|data| train(&sandbox, data, "joined"));
            assert!(one == other);
            assert!(score(&["--data", "joined.txt"], "joined").starts_with("tokens         2,999"));
        }
    }
}

/// A model goes on with the same texts, cut in the same places, and with nothing else unsaid.
#[test]
fn the_ends_of_texts_are_a_part_of_the_run() {
    let sandbox = three();
    let whole = train(&sandbox, &FILES, "whole");
    let stop = ["--steps", "1", "--decay-steps", "2", "--warmup", "1", "--gen", "0"];
    sandbox.train(&[&FILES[..], &stop, &["--out", "run"]].concat());
    let on = ["--load", "run", "--steps", "1", "--gen", "0"];
    sandbox.ok(&on).says(&["3 texts"]);
    assert_eq!(sandbox.read("run/ckpt/last").len(), whole.len());
    let config = String::from_utf8(sandbox.read("run/config.toml")).unwrap();
    assert!(config.contains("end_of_text = \"files\"\n"), "{config}");

    // The same bytes in other texts are other data.
    let all = [sandbox.read("b.txt"), sandbox.read("c.txt")].concat();
    sandbox.write("bc.txt", &all);
    let go_on = ["--load", "whole", "--steps", "1", "--gen", "0", "--no-save", "--data"];
    let other = [&go_on[..], &["a.txt", "bc.txt"]].concat();
    sandbox.refuses(&other, 65, &["in several texts", "--allow-data-change"]);
    sandbox.ok(&[&go_on[..], &FILES[1..]].concat());

    sandbox.train(&[&["--data", "a.txt"], &RUN[..], &["--save", "plain"]].concat());
    let ended = ["--load", "plain", "--data", "a.txt", "--steps", "1", "--no-save"];
    let ended = [&ended[..], &["--end-of-text", "marked"]].concat();
    sandbox.refuses(&ended, 2, &["'plain'", "no token that ends a text"]);
    sandbox.refuses(&["--end-of-text", "files"], 2, &["--end-of-text", "needs --data"]);
    let numbers = ["--data", "a.txt", "--data-as", "u16", "--end-of-text", "files"];
    sandbox.refuses(&numbers, 2, &["token numbers have their ends"]);
}

/// Half of the tokens end a text: the model soon learns to do nothing else.
#[test]
fn writing_stops_where_the_text_ends() {
    let sandbox = sandbox();
    sandbox.write("ends.txt", MARK.repeat(2000).as_bytes());
    let words = ["--data", "ends.txt", "--end-of-text", "marked", "--steps", "30", "--lr", "0.05"];
    sandbox.train(&[&words[..], &["--gen", "0", "--save", "made"]].concat());
    let greedy = ["generate", "--load", "made", "--temp", "0", "-n", "5"];
    let written = |more: &[&str]| sandbox.ok(&[&greedy[..], more].concat()).text().to_string();
    assert_eq!(written(&["-p", "ab"]), "ab\n");
    assert_eq!(written(&[]), "\n"); // a new text, which ends at once
    assert_eq!(written(&["-p", "x<|endoftext|>y"]), "xy\n");
    let line = written(&["-p", "ab", "--json"]);
    assert!(line.contains("\"ids\":[256]") && line.contains("\"finish\":\"stop\""), "{line}");
    assert!(line.contains("\"prompt_ids\":[97,98]"), "{line}");
    let endless = written(&["-p", "ab", "--ignore-eos", "--json"]);
    assert!(endless.contains("\"finish\":\"length\"") && !endless.contains("256"), "{endless}");
    let table = written(&["-p", "ab", "--print-next-top", "1"]);
    assert!(table.contains("256") && table.contains(MARK), "{table}");
}

/// `AutoTokenizer(...).eos_token` is what it says; what was exported comes back with its end.
#[test]
fn other_programs_are_told() {
    let sandbox = three();
    for (folder, kind) in [("bytes", "byte"), ("characters", "char")] {
        let kind = ["--arch", "gpt2", "--tokenizer", kind];
        train(&sandbox, &[&FILES[..], &kind].concat(), "made");
        sandbox.ok(&["export", "hf", "--load", "made", folder]);
        let read =
            |name: &str| String::from_utf8(sandbox.read(format!("{folder}/{name}"))).unwrap();
        let settings = read("tokenizer_config.json");
        assert!(settings.contains("\"eos_token\":\"<|endoftext|>\""), "{settings}");
        assert!(settings.contains("\"bos_token\":\"<|endoftext|>\""), "{settings}");
        assert!(read("vocab.json").contains(MARK) && read("tokenizer.json").contains(MARK));
        assert!(!read("config.json").contains("\"eos_token_id\": null"));
        sandbox.ok(&["import", "hf", folder, "--save", "again"]);
        let score = |model: &str| {
            let eval = [&["eval", "--load", model], &FILES[..]].concat();
            sandbox.ok(&eval).text().to_string()
        };
        assert_eq!(score("again"), score("made"));
        let info = sandbox.ok(&["tokenizer", "info", "--load", "again"]).text().to_string();
        assert!(info.contains("end of a text    token "), "{info}");
    }
    if cfg!(feature = "bpe") {
        let learn = [&["tokenizer", "train"], &FILES[..], &["--save", "t.json"]].concat();
        sandbox.ok(&[&learn[..], &["--vocab-size", "260"]].concat());
        let info = sandbox.ok(&["tokenizer", "info", "--tokenizer", "t.json"]).text().to_string();
        assert!(info.contains("tokens           260\n"), "{info}");
        assert!(info.contains("end of a text    token 259\n"), "{info}");
        // The same vocabulary without the token gets it where texts end.
        sandbox.ok(&[&learn[..], &["--vocab-size", "259", "--end-of-text", "none"]].concat());
        let words = [&TINY[..], &FILES, &["--tokenizer", "t.json", "--dry-run"]].concat();
        sandbox.ok(&words).says(&["260 bpe tokens"]);
    }
}
