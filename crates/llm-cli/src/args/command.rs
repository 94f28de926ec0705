//! The clap command of a program.

use super::Cli;
use crate::program::{Heads, Program};
use clap::{Command, CommandFactory};

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
    let command = with_negative_numbers(command.after_help(examples));
    match program.heads {
        Heads::One { .. } => {
            let command = command.mut_arg("heads", |arg| arg.hide(true));
            let command = command.mut_subcommand("compare", |verb| verb.hide(true));
            command.mut_subcommand("trace", |verb| verb.mut_arg("heads", |arg| arg.hide(true)))
        }
        Heads::Many { default } => command.mut_arg("heads", |arg| {
            arg.help(format!(
                "Number of attention heads; must divide the width [default: {default}]"
            ))
        }),
    }
}

/// What follows a flag and looks like a number is its value, also in the verbs of verbs: the flag
/// says what its range is.
fn with_negative_numbers(command: Command) -> Command {
    command.allow_negative_numbers(true).mut_subcommands(with_negative_numbers)
}
