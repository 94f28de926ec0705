//! Settings written, and read back.

use super::effective::all;
use super::file::is_in_files;
use super::{beside, head, merge, printable_config};
use crate::args::{TrainArgs, command};
use crate::command_line::{Parsed, parse};
use crate::fuzzing::check_config;
use crate::program::BASELINE;
use llm_run::config::{Sheet, number, whole};
use llm_run::plan::Plan;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use toml::Value;

fn plan(words: &[&str]) -> (Plan, TrainArgs) {
    let words = ["train-gpt"].iter().chain(words).map(Into::into);
    let Parsed::Run(cli) = parse(&BASELINE, words) else { panic!("not understood") };
    (Plan::new(&BASELINE.models, &cli.train.options(), &|_, _| ()).unwrap(), cli.train)
}

/// Adding a flag that affects training fails here until it is among the settings of a run.
#[test]
fn every_flag_is_a_setting() {
    // These are spelled out in the options that they stand for.
    let others = ["arch", "dpo"];
    let command = command(&BASELINE);
    // What is hidden sets nothing, or stands for a flag that is not.
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && is_in_files(arg));
    let longs = shown.filter_map(clap::Arg::get_long);
    let flags: BTreeSet<String> = longs.map(|long| long.replace('-', "_")).collect();
    let (plan, args) = plan(&["--steps", "1", "--layers", "1"]);
    let sheet = all(&plan.decided(), &args, &args.options(), 1);
    let known = sheet.known.iter().cloned().chain(others.map(String::from));
    let known: BTreeSet<String> = known.collect();
    let missing: Vec<_> = flags.difference(&known).collect();
    assert!(missing.is_empty(), "no line for {missing:?}");
    assert_eq!(sheet.known.iter().collect::<BTreeSet<_>>().len(), sheet.known.len());
}

#[test]
fn numbers_are_short_and_exact() {
    for x in [6e-3f32, 1e-8, 0.1 / 3.0, 1e30, f32::MIN_POSITIVE, 0.0, 1.0] {
        let Value::Float(written) = number(x) else { panic!("no number") };
        assert_eq!(Value::Float(written).to_string().parse::<f32>().unwrap(), x);
    }
    assert_eq!(number(6e-3).to_string(), "0.006");
    assert_eq!(whole(u64::MAX).to_string(), "\"18446744073709551615\"");
}

/// What a terminal would obey is written so that it does not, and read back as it was.
#[test]
fn texts_in_settings_cannot_control_a_terminal() {
    for prompt in ["a\u{9b}2J", "\u{202e}b \"quoted\" 'both'", "\u{7f}\\x\u{1b}[m", "C:\\x\u{2066}"]
    {
        let (plan, args) = plan(&["--steps", "1", "--layers", "1", "--prompt", prompt]);
        let written = printable_config("train-gpt", &plan.decided(), &args, &args.options(), 1);
        let obeyed = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}".contains(c));
        assert!(!written.contains(obeyed), "{written}");
        let read: toml::Table = written.parse().unwrap();
        assert_eq!(read["text"]["prompt"].as_str(), Some(prompt));
    }
}

/// A run's folder says what decides the run, and not where it went.
#[test]
fn a_run_s_settings() {
    let words = ["--steps", "3", "--layers", "1", "--lr", "1e-3", "--no-save", "--arch", "gpt2"];
    let (plan, args) = plan(&words);
    let sheet = Sheet::of(&plan.decided(), &args.options(), 2, beside(&args));
    let text = sheet.text(&head("train-gpt"));
    for line in ["lr = 0.001", "decay_steps = 3", "tied_head = true", "threads = 2"] {
        assert!(text.lines().any(|l| l == line), "no {line}: {text}");
    }
    assert!(text.starts_with("# train-gpt ") && !text.contains("no_save"));
    assert!(
        printable_config("train-gpt", &plan.decided(), &args, &args.options(), 2)
            .contains("no_save = true")
    );
}

fn read(text: &str) -> crate::Result<clap::ArgMatches> {
    let (mut command, words) = (command(&BASELINE), [OsString::from(BASELINE.models.name)]);
    let typed = command.try_get_matches_from_mut(&words).unwrap();
    merge(&mut command, Path::new("run.toml"), text, &typed, &words)
}

/// Options that exclude each other are not printed together.
#[test]
fn printed_settings_are_the_same_command() {
    for text in [
        "overfit = true\n",
        "overfit = false\n",
        "schedule = 'constant'\naccum = 4\n",
        "data = ['a', 'b']\nval = 'c'\ntokenizer = 'char'\n",
        "epochs = 1.5\nmax_time = '1h30m'\nseed = '18446744073709551615'\n",
        "preset = 'original'\nlr = 1e-45\nprompt = \"\\u0000'\\n\"\nraw = false\n",
    ] {
        assert!(check_config(&BASELINE, &[], text.as_bytes()), "{text}");
        let words = ["--clip".into(), "0.1".into()];
        assert!(check_config(&BASELINE, &words, text.as_bytes()), "{text}");
    }
    assert!(!check_config(&BASELINE, &[], b"overfit = true\naccum = 1\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever a file says, it is refused in one line, or it is the same when it was printed.
    #[test]
    fn any_text(
        free in ".{0,40}",
        key in "(lr|steps|data|quiet|schedule|prompt|seed|save|out|load|\\[model\\]|[a-z_]{1,9})",
        value in "(-?[0-9]{1,25}|[0-9.e+-]{1,12}|true|\"[^\"]{0,9}\"|\\['a', 3\\]|\\{ a = 1 \\}|0x[0-9a-f]{1,4})",
    ) {
        for text in [free.clone(), format!("{key} = {value}"), format!("{key}\n{free}")] {
            check_config(&BASELINE, &[], text.as_bytes());
        }
    }

    #[test]
    fn numbers_are_what_they_would_be_typed_as(seed: u64, lr in any::<f32>()) {
        prop_assume!(lr.is_finite());
        let matches = read(&format!("seed = {}\nlr = {}\n", whole(seed), number(lr))).unwrap();
        prop_assert_eq!(matches.get_one::<u64>("seed"), Some(&seed));
        prop_assert_eq!(matches.get_one::<f32>("lr"), Some(&lr));
    }
}
