//! Rows as arguments of a command.

use super::attention::ATTENTION;
use super::given::Given;
use super::row::Flag;
use super::table::{FURTHER, GROUPS, Group};
use crate::program::Program;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

/// What was typed of the flags in a group of [`GROUPS`].
#[derive(Clone, Debug, Default)]
pub struct Typed<const GROUP: usize>(pub Given);

impl<const GROUP: usize> Args for Typed<GROUP> {
    fn augment_args(command: Command) -> Command {
        let Group { heading, flags } = GROUPS[GROUP];
        command.args(flags.iter().map(|flag| flag.arg(heading)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUP: usize> FromArgMatches for Typed<GROUP> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for flag in GROUPS[GROUP].flags {
            if let Some(value) = flag.read(matches) {
                self.0.insert(flag.name, value);
            }
        }
        Ok(())
    }
}

/// What was typed of the flags of [`FURTHER`] and [`ATTENTION`]. Which of them there are is the
/// program's matter: see [`further_args`].
#[derive(Clone, Debug, Default)]
pub struct Further(pub Given);

/// The flags that not every program has.
fn further() -> impl Iterator<Item = &'static Flag> {
    FURTHER.flags.iter().chain(ATTENTION.iter().map(|row| &row.flag))
}

/// The arguments of those flags of [`FURTHER`] and [`ATTENTION`] that the program offers. Each is
/// left to the long help.
pub fn further_args(program: &Program) -> impl Iterator<Item = Arg> {
    let offered = further().filter(|flag| program.offers(flag.name));
    offered.map(|flag| flag.arg(FURTHER.heading).hide_short_help(true))
}

impl Args for Further {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Further {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for flag in further() {
            // One that the program does not offer is not known to its command.
            let offered = matches.try_contains_id(flag.name).is_ok();
            if let Some(value) = offered.then(|| flag.read(matches)).flatten() {
                self.0.insert(flag.name, value);
            }
        }
        Ok(())
    }
}
