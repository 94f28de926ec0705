//! `--config` and `--print-config`.

use crate::{sandbox, trained};
use workspace_tests::cli_support::{Sandbox, TINY};

const RUN: [&str; 6] = ["--data", "text.txt", "--steps", "4", "--gen", "0"];

/// The value of a key, as `--print-config` prints it.
fn value(sandbox: &Sandbox, words: &[&str], key: &str) -> String {
    let text = sandbox.ok(&[words, &["--print-config"]].concat()).text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
    line.unwrap_or_else(|| panic!("no {key} in {text}")).to_string()
}

#[test]
fn flags_win_over_the_file_and_the_file_over_the_preset() {
    let sandbox = sandbox();
    sandbox.write("run.toml", b"layers = 3\nlr = 2e-3\n[any.name]\nd-model = 32\nsteps = 7\n");
    let file = ["--config", "run.toml"];
    let preset = [&file[..], &["--preset", "original"]].concat();
    let typed = [&preset[..], &["--lr", "0.5", "--max-steps", "9"]].concat();
    for (words, key, expected) in [
        (&[][..], "layers", "2"),
        (&["--preset", "original"], "layers", "1"),
        (&file, "layers", "3"),
        (&file, "dmodel", "32"),
        (&file, "seq", "256"),
        (&preset, "layers", "3"),
        (&preset, "seq", "64"),
        (&preset, "lr", "0.002"),
        (&typed, "lr", "0.5"),
        (&typed, "steps", "9"),
        (&typed, "dmodel", "32"),
    ] {
        assert_eq!(value(&sandbox, words, key), expected, "{words:?} {key}");
    }
    let verb = [&["train"], &file[..]].concat();
    assert_eq!(value(&sandbox, &verb, "layers"), "3");
}

#[test]
fn what_is_printed_makes_the_same_run() {
    let sandbox = trained();
    sandbox.write("two words.txt", b"a text of its own. ".repeat(40).as_slice());
    let load = ["--load", "model", "--data", "text.txt", "--gen", "0"];
    for words in [
        &[&TINY[..], &RUN].concat()[..],
        &[&TINY[..], &RUN, &["--data", "two words.txt", "--schedule", "constant", "--quiet"]]
            .concat(),
        &[&TINY[..], &RUN, &["--arch", "gpt2", "--seed", "18446744073709551615"]].concat(),
        &[&TINY[..], &RUN, &["--activation", "gelu", "--n-inner", "24"]].concat(),
        &[&TINY[..], &RUN, &["--data", "two words.txt", "text.txt"]].concat(),
        &[&TINY[..], &RUN, &["--data", "text.txt", "text.txt", "--end-of-text", "none"]].concat(),
        &[&TINY[..], &RUN, &["--lr", "3.3e-3", "--warmup", "2", "--min-lr", "1e-7"]].concat(),
        &[&TINY[..], &RUN, &["--preset", "original", "--accum", "2", "--dropout", "0.1"]].concat(),
        &[&load[..], &["--steps", "3"]].concat(),
        &[&load[..], &["--steps", "3", "--batch", "3", "--seed", "5", "--clip", "0"]].concat(),
    ] {
        let before = sandbox.everything();
        let printed = sandbox.ok(&[words, &["--save", "one", "--print-config"]].concat());
        assert!(printed.stderr.is_empty() && sandbox.everything() == before, "{printed}");
        sandbox.write("printed.toml", &printed.stdout);
        let again = sandbox.ok(&["--config", "printed.toml", "--print-config"]);
        assert_eq!(again.text(), printed.text());
        sandbox.ok(&[words, &["--save", "two"]].concat());
        sandbox.ok(&["--config", "printed.toml"]);
        assert!(sandbox.read("one") == sandbox.read("two"), "{words:?}");
        std::fs::remove_file(sandbox.path("one")).unwrap();
    }
}

#[test]
fn text_and_checks_are_settings_too() {
    let sandbox = trained();
    let words = ["--load", "model", "--data", "text.txt", "--prompt", "-the \"cat\"\n", "--gen"];
    let more = ["9", "--temp", "2", "--topk", "5", "--raw=0", "--sanity-next-from-data", "2"];
    let words = [&words[..], &more].concat();
    let printed = sandbox.ok(&[&words[..], &["--print-config"]].concat());
    sandbox.write("printed.toml", &printed.stdout);
    let (typed, read) = (sandbox.ok(&words), sandbox.ok(&["--config", "printed.toml"]));
    assert!(!typed.stdout.is_empty());
    assert_eq!(typed.stdout, read.stdout);
}

#[test]
fn a_flag_takes_the_place_of_what_it_excludes_or_repeats() {
    let sandbox = sandbox();
    sandbox.write("run.toml", b"data = [\"text.txt\", 'missing']\nout = 'a'\nquiet = 1\n");
    let words = ["--config", "run.toml", "--data", "text.txt", "--save", "b"];
    let printed = sandbox.ok(&[&words[..], &["--print-config", "--quiet", "0"]].concat()).text();
    for line in ["data = [\"text.txt\"]", "save = \"b\"", "quiet = false"] {
        assert!(printed.lines().any(|l| l == line), "no {line}: {printed}");
    }
    assert!(!printed.contains("\nout ="), "{printed}");
    sandbox.refuses(&["--config", "run.toml", "--no-save"], 66, &["missing"]);
}

#[test]
fn keys_and_values_that_cannot_be() {
    for (text, needles) in [
        ("\n[model]\nstesp = 3\n", &["'bad.toml' line 3", "'stesp'", "'steps'"][..]),
        ("nothing_like_it = 3", &["line 1", "'nothing_like_it'", "flags"]),
        ("steps = 1.5", &["line 1", "'steps'", "whole number", "float"]),
        ("steps = \"5\"", &["line 1", "'steps'", "whole number", "string"]),
        ("\nsteps = -1", &["line 2", "'steps'", "-1"]),
        ("steps = 18446744073709551616", &["line 1", "'steps'", "too large"]),
        ("steps = 0x10", &["line 1", "'steps'", "decimal"]),
        ("lr = true", &["line 1", "'lr'", "a number", "boolean"]),
        ("lr = [1]", &["line 1", "'lr'", "array"]),
        ("data = [3]", &["line 1", "'data'", "quotes", "integer"]),
        ("data = 1979-05-27", &["line 1", "'data'", "datetime"]),
        ("quiet = \"yes\"", &["line 1", "'quiet'", "true or false"]),
        ("quiet = 2", &["line 1", "'quiet'", "true or false"]),
        ("schedule = \"cosinus\"", &["line 1", "'schedule'", "cosinus", "cosine"]),
        ("tokenizer = true", &["line 1", "'tokenizer'"]),
        ("steps = 3\nsteps = 4", &["line 2", "duplicate", "steps"]),
        ("steps = 3\n[training]\nmax-steps = 4", &["line 3", "'max-steps'", "line 1"]),
        ("steps 3", &["bad.toml", "line 1"]),
        ("steps = 3\nlr = ", &["bad.toml", "line 2"]),
        ("save = 'a'\nout = 'b'", &["bad.toml", "--save", "--out"]),
        ("config = 'bad.toml'", &["line 1", "'config'"]),
        ("print_config = true", &["line 1", "'print_config'"]),
        ("lr = nan", &["--lr", "NaN"]),
        ("heads = 4", &["--heads 4", "train-gpt-mha"]),
        ("\"a\\u001b[31m\" = 1", &["line 1", "\\x1B"]),
    ] {
        let sandbox = sandbox();
        sandbox.write("bad.toml", text.as_bytes());
        sandbox.refuses(&["--config", "bad.toml"], 2, needles);
        sandbox.refuses(&["--config", "bad.toml", "--print-config"], 2, needles);
    }
}

#[test]
fn files_that_are_none() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.write("binary", b"\xff\xfe\x00");
    sandbox.write("huge", "#".repeat(2 << 20).as_bytes());
    for file in ["missing", "folder", "binary", "huge"] {
        sandbox.refuses(&["--config", file], 66, &[file]);
    }
    sandbox.refuses(&["--config"], 2, &["--config"]);
    sandbox.refuses(&["generate", "--config", "text.txt"], 2, &["--config"]);
    sandbox.write("empty", b"");
    sandbox.train(&[&RUN[..], &["--config", "empty", "--no-save"]].concat());
}

#[test]
fn keys_beside_load_act_as_flags() {
    let sandbox = trained();
    sandbox.write("on.toml", b"load = 'model'\ndata = 'text.txt'\nsteps = 2\nlr = 0.5\ngen = 0\n");
    let outcome = sandbox.ok(&["--config", "on.toml", "--save", "more"]);
    outcome.says(&["--lr 0.5 replaces", "at step 6"]);
    sandbox.write("wide.toml", b"dmodel = 32\n");
    sandbox.refuses(&["--config", "wide.toml", "--load", "model"], 65, &["dmodel 16", "32"]);
}

/// Other steps in a printed file do not keep the course of the steps before.
#[test]
fn what_follows_from_other_settings_still_follows() {
    let sandbox = sandbox();
    let printed = sandbox.ok(&["--steps", "400", "--min-lr", "1e-5", "--print-config"]);
    for line in ["# warmup = 20 # follows", "# decay_steps = 400 # follows", "\nmin_lr = 0.00001\n"]
    {
        assert!(printed.text().contains(line), "no {line}: {printed}");
    }
    sandbox.write("run.toml", printed.text().replace("steps = 400\n", "steps = 800\n").as_bytes());
    let again = sandbox.ok(&["--config", "run.toml", "--print-config"]).text();
    assert!(
        again.contains("# warmup = 40 #") && again.contains("# decay_steps = 800 #"),
        "{again}"
    );
}
