//! From the words typed to [`Cli`], with errors in one line.

use crate::args::{Cli, TRAIN, Verb, command, in_its_place, in_one_line};
use crate::console::columns;
use crate::error::{Result, RunError};
use crate::lang::Lang;
use crate::machine;
use crate::messages::{help as in_chinese, said};
use crate::program::{ALL_OPTIONS, Program};
use crate::settings;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, FromArgMatches};
use llm_core::base::Message;
use llm_core::base::escape::{clipped, one_line};
use llm_core::message;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Columns of a line of help at most, as in clap.
const WIDEST: usize = 100;

/// What came of parsing.
#[derive(Debug)]
pub enum Parsed {
    /// Something to do.
    Run(Box<Cli>),
    /// Text that was asked for: help or version.
    Text(String),
    /// One line on what is wrong.
    Wrong(Message),
    /// What is wrong with the file that `--config` names.
    Failed(RunError),
}

/// Reads the words, the program's name first. Training needs no verb; `train` and `help` are
/// understood all the same.
pub fn parse(program: &Program, words: impl IntoIterator<Item = OsString>) -> Parsed {
    let mut command = command(program);
    if Lang::chosen() == Lang::Zh {
        command = command.term_width(0); // there are no spaces at which clap could break lines
    }
    parse_with(program, &mut command, words, settings::read)
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
    let inner = verb.and_then(|verb| verb.find_subcommand(words.get(2)?));
    let names = verb.into_iter().chain(inner).map(|verb| format!("{} ", verb.get_name()));
    let help = format!("{} {}--help", program.models.name, names.collect::<String>());
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
    match matches.and_then(|m| read_from(command, &m)) {
        Ok(cli) => Parsed::Run(Box::new(Cli { train: cli.train.with_dataset(), ..cli })),
        Err(e) if e.kind() == ErrorKind::DisplayHelp => {
            let text = e.render().to_string();
            let chinese = || in_chinese(&text, columns().min(WIDEST));
            Parsed::Text(if Lang::chosen() == Lang::Zh { chinese() } else { text })
        }
        Err(e) if e.kind() == ErrorKind::DisplayVersion => {
            let is_long = words.iter().any(|word| word == "--version");
            let more = if is_long { said(machine::details()) } else { String::new() };
            Parsed::Text(e.render().to_string() + &more)
        }
        Err(e) => {
            let why = no_language(&words, &e).or_else(|| of_another(program, &e));
            let why = why.or_else(|| in_its_place(command, &words, &e));
            let why = why.unwrap_or_else(|| in_one_line(&e, &known));
            Parsed::Wrong(message!("error: {}; see {}", why, help))
        }
    }
}

/// What was typed, with what files of settings say of it.
fn read_from(command: &Command, matches: &ArgMatches) -> std::result::Result<Cli, clap::Error> {
    let mut cli = Cli::from_arg_matches(matches)?;
    let output = match &mut cli.verb {
        Some(Verb::Compare(args)) => &mut args.output, // it trains too
        _ => &mut cli.train.output,
    };
    output.beside = settings::typed(command, matches);
    Ok(cli)
}

/// Said of a word behind `--lang` that is no language: clap would speak of the next one.
fn no_language(words: &[OsString], e: &clap::Error) -> Option<Message> {
    if e.kind() == ErrorKind::InvalidValue {
        return None; // it speaks of that
    }
    let at = words.iter().position(|word| word == "--lang")?;
    let word = words.get(at + 1)?.to_string_lossy();
    Lang::named(&word)
        .is_none()
        .then(|| message!("--lang {}: it is en or zh", one_line(&clipped(&word))))
}

/// Said of a flag that this program has not, and another one has.
fn of_another(program: &Program, e: &clap::Error) -> Option<Message> {
    let Some(ContextValue::String(typed)) = e.get(ContextKind::InvalidArg) else { return None };
    let flag = typed.split('=').next().unwrap_or_default();
    let name = flag.trim_start_matches('-').replace('_', "-");
    let is_known = ALL_OPTIONS.contains(&&*name.replace('-', "_")) || name == "variants";
    let other =
        program.models.beyond.filter(|_| is_known && e.kind() == ErrorKind::UnknownArgument)?;
    Some(message!("unexpected '{}'; {} has it", one_line(flag), other.program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::about;
    use crate::program::{BASELINE, EVERYTHING};
    use llm_run::models::{Heads, Models};

    fn outcome(parsed: Parsed) -> String {
        match parsed {
            Parsed::Run(cli) => format!("{cli:?}"),
            Parsed::Text(text) => text,
            Parsed::Wrong(line) => line.to_string(),
            Parsed::Failed(e) => crate::error::line(&e),
        }
    }

    #[test]
    fn what_is_wrong_cannot_control_the_terminal() {
        for flag in ["--max-time", "--steps", "--lr", "--schedule", "--quiet", "--patience", "--x"]
        {
            for evil in ["\u{1b}[2J", "\u{7}5z", "1\u{202e}", "\n"] {
                let words = ["train-gpt".into(), format!("{flag}={evil}").into()];
                let Parsed::Wrong(line) = parse(&BASELINE, words) else { panic!("{flag}") };
                let line = line.to_string();
                assert_eq!(one_line(&line), line);
            }
        }
    }

    #[test]
    fn the_help_that_is_named_is_that_of_the_verb() {
        for (line, help) in [
            ("--x", "train-gpt --help"),
            ("eval --x", "train-gpt eval --help"),
            ("inspect attention --x", "train-gpt inspect attention --help"),
            ("tokenizer --x", "train-gpt tokenizer --help"),
        ] {
            let words = ["train-gpt"].into_iter().chain(line.split(' ')).map(Into::into);
            let Parsed::Wrong(said) = parse(&BASELINE, words) else { panic!("{line}") };
            let said = said.to_string();
            assert!(said.ends_with(&format!("see {help}")), "{said}");
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

    /// Everything that help says next to flags and verbs, with what stands in brackets there.
    fn said_in(command: &Command) -> Vec<String> {
        let plain = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
        let mut texts: Vec<String> = [plain(command.get_about()), plain(command.get_long_about())]
            .into_iter()
            .flatten()
            .collect();
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            texts.extend([plain(arg.get_help()), plain(arg.get_long_help())].into_iter().flatten());
            texts.extend(arg.get_help_heading().map(|heading| format!("{heading}:")));
            let values = arg.get_possible_values();
            texts.extend(values.iter().filter_map(|value| plain(value.get_help())));
        }
        texts.extend(command.get_subcommands().flat_map(said_in));
        texts
    }

    /// What is meant for programs is the same in both languages: flags, numbers, words in quotes.
    fn facts(text: &str) -> Vec<&str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.<>|/`".contains(c);
        let words = text.split(|c| !is_part(c)).map(|word| word.trim_matches('.'));
        let is_fact = |word: &&str| {
            word.starts_with("--")
                || word.starts_with('`')
                || word.starts_with(|c: char| c.is_ascii_digit())
        };
        let mut facts: Vec<&str> = words.filter(is_fact).collect();
        facts.sort_unstable();
        facts
    }

    #[test]
    fn every_text_of_the_help_is_there_in_chinese() {
        let heads = Heads::Many { default: 4 };
        let many = Program { models: Models { heads, ..BASELINE.models }, ..BASELINE };
        let is_han = |c: char| ('\u{3400}'..='\u{9FFF}').contains(&c);
        let mut missing = Vec::new();
        for program in [BASELINE, EVERYTHING, many] {
            let [english, chinese] = [Lang::En, Lang::Zh].map(|lang| {
                lang.choose_here();
                said_in(&command(&program))
            });
            Lang::En.choose_here();
            assert!(english.len() > 200 && english.len() == chinese.len());
            for (line, said) in english.iter().zip(&chinese).filter(|(line, _)| !line.is_empty()) {
                let is_mixed = line.contains(is_han) && line != said; // a language's own name
                let said = said.split('\n').map(about).collect::<Vec<_>>().join("\n");
                if is_mixed || !said.contains(is_han) || facts(&said) != facts(line) {
                    missing.push(format!("{line:?}: {said:?}"));
                }
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}
