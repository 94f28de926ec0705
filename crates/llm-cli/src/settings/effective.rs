//! The settings that the command line has besides those of a run, as TOML.

use super::file::is_in_files;
use crate::args::TrainArgs;
use clap::{Arg, ArgAction, ArgMatches, Command};
use llm_core::TokenId;
use llm_run::config::{Beside, Sheet, number, seconds, text, whole};
use llm_run::options::Options;
use llm_run::plan::Decided;
use std::time::Duration;
use toml::Value;

/// All settings, for `--print-config`: given to `--config`, the text is the same command. What
/// follows from other settings stands in it as a remark, so that it still follows when they are
/// changed.
pub fn printable_config(
    name: &str,
    decided: &Decided<'_>,
    args: &TrainArgs,
    options: &Options,
    threads: usize,
) -> String {
    let mut sheet = all(decided, args, options, threads);
    sheet.let_follow(options);
    sheet.text(&head(name))
}

/// What stands above the settings of a program.
pub fn head(name: &str) -> String {
    let of = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    format!("{of}: the settings of a run; --config FILE takes them, flags win over them")
}

/// Every setting.
pub fn all(decided: &Decided<'_>, args: &TrainArgs, options: &Options, threads: usize) -> Sheet {
    let mut sheet = Sheet::of(decided, options, threads, beside(args));
    sheet.place(options);
    sheet.beside(args.output.beside.clone());
    sheet
}

/// What is printed, written and checked by a run, without who works and whether at all.
pub fn beside(args: &TrainArgs) -> Vec<Beside> {
    let of_run = |of: &&Beside| !["checkpoints", "processes"].contains(&of.0);
    args.output.beside.iter().filter(of_run).cloned().collect()
}

/// The table of a flag that is no setting of a run, by what it stands under in the help.
const TABLES: [(&str, &str); 4] = [
    ("Output", "output"),
    ("Device and processes", "processes"),
    ("Text", "text"),
    ("Checks after training", "checks"),
];

/// What a file of settings says of the flags of this command that are no settings of a run, given or not.
pub(crate) fn typed(command: &Command, matches: &ArgMatches) -> Vec<Beside> {
    let inner = matches.subcommand().map(|(of, inner)| (command.find_subcommand(of), inner));
    if let Some((Some(of), inner)) = inner {
        return typed(of, inner);
    }
    let of_arg = |arg: &Arg| {
        let is_ours = is_in_files(arg) && !arg.is_hide_set();
        let heading = arg.get_help_heading().filter(|_| is_ours)?;
        let (_, table) = TABLES.iter().find(|(of, _)| *of == heading)?;
        // Next to the other one that keeps a run from leaving something.
        let table = if arg.get_id() == "dry_run" { "checkpoints" } else { table };
        Some((table, arg.get_long()?.replace('-', "_"), value(arg, matches)))
    };
    command.get_arguments().filter_map(of_arg).collect()
}

/// What was typed, as a value of a file.
fn value(arg: &Arg, matches: &ArgMatches) -> Option<Value> {
    let of = (matches, arg.get_id().as_str());
    if let Ok(Some(ids)) = matches.try_get_many::<Vec<TokenId>>(of.1) {
        return Some(Value::Array(ids.flatten().map(|&id| whole(id.into())).collect()));
    }
    let values = each(of, |yes: &bool| (*yes).into())
        .or_else(|| each(of, |n: &u32| whole((*n).into())))
        .or_else(|| each(of, |n: &u64| whole(*n)))
        .or_else(|| each(of, |n: &usize| whole(*n as u64)))
        .or_else(|| each(of, |x: &f32| number(*x)))
        .or_else(|| each(of, |x: &f64| Value::Float(*x)))
        .or_else(|| each(of, |time: &Duration| seconds(*time).into()))
        .or_else(|| Some(matches.get_raw(of.1)?.map(text).collect()))?;
    match arg.get_action() {
        ArgAction::Append => Some(Value::Array(values)),
        _ => values.into_iter().next(),
    }
}

/// The values of a flag, where they are of this type.
fn each<T: Clone + Send + Sync + 'static>(
    (matches, id): (&ArgMatches, &str),
    to: fn(&T) -> Value,
) -> Option<Vec<Value>> {
    Some(matches.try_get_many(id).ok()??.map(to).collect())
}
