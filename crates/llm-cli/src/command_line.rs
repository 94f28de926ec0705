//! From the words typed to [`Cli`], with errors in one line.

use crate::args::{Cli, TRAIN, command, in_one_line};
use crate::error::{CliError, Result};
use crate::machine;
use crate::program::Program;
use crate::settings;
use clap::error::ErrorKind;
use clap::{Command, FromArgMatches};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What came of parsing.
#[derive(Debug)]
pub enum Parsed {
    /// Something to do.
    Run(Box<Cli>),
    /// Text that was asked for: help or version.
    Text(String),
    /// One line on what is wrong.
    Wrong(String),
    /// What is wrong with the file that `--config` names.
    Failed(CliError),
}

/// Reads the words, the program's name first. Training needs no verb; `train` and `help` are
/// understood all the same.
pub fn parse(program: &Program, words: impl IntoIterator<Item = OsString>) -> Parsed {
    parse_with(program, &mut command(program), words, settings::read)
}

/// [`parse`] with the program's [`command`], which may serve again, and with what reads the file
/// that `--config` names.
pub(crate) fn parse_with(
    program: &Program,
    command: &mut Command,
    words: impl IntoIterator<Item = OsString>,
    read: impl FnOnce(&Path) -> Result<String>,
) -> Parsed {
    let mut words: Vec<OsString> = words.into_iter().collect();
    match words.get(1).and_then(|w| w.to_str()) {
        Some(TRAIN) => drop(words.remove(1)),
        Some("help") => words[1] = "--help".into(),
        _ => {}
    }
    let verb = words.get(1).and_then(|w| w.to_str()).filter(|w| !w.starts_with('-'));
    let verb = verb.and_then(|verb| command.find_subcommand(verb));
    let help = match verb {
        Some(verb) => format!("{} {} --help", program.name, verb.get_name()),
        None => format!("{} --help", program.name),
    };
    // Those of a verb that has verbs of its own.
    let verbs = verb.filter(|verb| verb.has_subcommands()).unwrap_or(command).get_subcommands();
    let verbs = verbs.filter(|verb| !verb.is_hide_set());
    let known: Vec<_> = verbs.map(|c| c.get_name().to_string()).collect();
    let matches = command.try_get_matches_from_mut(&words).map(|typed| {
        let file = typed.try_get_one::<PathBuf>("config").ok().flatten();
        match file.filter(|_| typed.subcommand().is_none()) {
            Some(file) => settings::merge(command, file, &read(file)?, &typed, &words),
            None => Ok(typed),
        }
    });
    let matches = match matches {
        Ok(Err(e)) => return Parsed::Failed(e),
        Ok(Ok(matches)) => Ok(matches),
        Err(e) => Err(e),
    };
    match matches.and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => Parsed::Run(Box::new(Cli { train: cli.train.with_dataset(), ..cli })),
        Err(e) if e.kind() == ErrorKind::DisplayHelp => Parsed::Text(e.render().to_string()),
        Err(e) if e.kind() == ErrorKind::DisplayVersion => {
            let is_long = words.iter().any(|word| word == "--version");
            let more = if is_long { machine::details() } else { String::new() };
            Parsed::Text(e.render().to_string() + &more)
        }
        Err(e) => Parsed::Wrong(format!("error: {}; see {help}", in_one_line(&e, &known))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::one_line;
    use crate::program::BASELINE;

    fn outcome(parsed: Parsed) -> String {
        match parsed {
            Parsed::Run(cli) => format!("{cli:?}"),
            Parsed::Text(text) | Parsed::Wrong(text) => text,
            Parsed::Failed(e) => e.line(),
        }
    }

    #[test]
    fn what_is_wrong_cannot_control_the_terminal() {
        for flag in ["--max-time", "--steps", "--lr", "--schedule", "--quiet", "--patience", "--x"]
        {
            for evil in ["\u{1b}[2J", "\u{7}5z", "1\u{202e}", "\n"] {
                let words = ["train-gpt".into(), format!("{flag}={evil}").into()];
                let Parsed::Wrong(line) = parse(&BASELINE, words) else { panic!("{flag}") };
                assert_eq!(one_line(&line), line);
            }
        }
    }

    /// What was parsed before does not show.
    #[test]
    fn a_command_serves_again() {
        let read = |_: &Path| Ok("lr = 1\nraw = true\nstesp = 3\n".into());
        let mut used = command(&BASELINE);
        for _ in 0..2 {
            for line in [
                "",
                "--lr 0.5 --quiet",
                "eval --load f --batch 2",
                "train --stesp 3",
                "--config f --escape-bytes",
                "generate --help",
                "generate",
                "help",
                "--steps -1",
                "eval --version",
                "bench --workload w9",
                "nothing",
                "completions bash",
            ] {
                let words = || format!("train-gpt {line}").split(' ').map(Into::into).collect();
                let words: &dyn Fn() -> Vec<OsString> = &words;
                let fresh = parse_with(&BASELINE, &mut command(&BASELINE), words(), read);
                let again = parse_with(&BASELINE, &mut used, words(), read);
                assert_eq!(outcome(again), outcome(fresh), "{line}");
            }
        }
    }
}
