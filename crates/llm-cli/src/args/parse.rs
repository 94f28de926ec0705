//! From the words typed to [`Cli`], with errors in one line.

use super::Cli;
use crate::console::one_line;
use crate::program::{Heads, Program};
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// What came of parsing.
pub enum Parsed {
    /// Something to do.
    Run(Box<Cli>),
    /// Text that was asked for: help or version.
    Text(String),
    /// One line on what is wrong.
    Wrong(String),
}

/// The clap command of a program.
pub fn command(program: &Program) -> Command {
    let name = program.name;
    let examples = format!(
        "Examples:\n  \
         {name}                                        learn the built-in stories (about a minute)\n  \
         {name} --data book.txt                        learn your own text\n  \
         {name} --load runs/001 --steps 1000           go on with a run\n  \
         {name} generate --load runs/001 -p \"The\" -n 200\n  \
         {name} eval --load runs/001 --data other.txt"
    );
    let command = Cli::command().name(name).bin_name(name).about(program.about);
    let command = command.after_help(examples).allow_negative_numbers(true);
    let command = command.mut_subcommands(|verb| verb.allow_negative_numbers(true));
    match program.heads {
        Heads::One { .. } => command.mut_arg("heads", |arg| arg.hide(true)),
        Heads::Many { default } => command.mut_arg("heads", |arg| {
            arg.help(format!(
                "Number of attention heads; must divide the width [default: {default}]"
            ))
        }),
    }
}

/// Reads the words, the program's name first.
pub fn parse(program: &Program, words: impl IntoIterator<Item = OsString>) -> Parsed {
    let matches = command(program).try_get_matches_from(words);
    match matches.and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => Parsed::Run(Box::new(cli)),
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Parsed::Text(e.render().to_string())
        }
        Err(e) => Parsed::Wrong(in_one_line(&e.render().to_string(), program.name)),
    }
}

/// clap's several lines as one: what is wrong, its tips, where help is.
fn in_one_line(text: &str, name: &str) -> String {
    let parts: Vec<String> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .map(|line| line.trim().trim_start_matches("error: ").trim_start_matches("tip: "))
        .filter(|line| !line.is_empty())
        .map(one_line)
        .collect();
    format!("error: {}; see {name} --help", parts.join("; "))
}
