//! Rows as arguments of a command.

use super::table::{FURTHER, GROUPS, Group};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use llm_run::models::Models;
use llm_run::settings::{Given, of_name};

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
                self.0.extend(of_name(&flag.setting_name()).map(|name| (name, value)));
            }
        }
        Ok(())
    }
}

/// What was typed of the flags of [`FURTHER`]. Which of them there are is the
/// program's matter: see [`further_args`].
#[derive(Clone, Debug, Default)]
pub struct Further(pub Given);

/// The arguments of those flags of [`FURTHER`] that these models offer. Each is
/// left to the long help.
pub fn further_args(models: &Models) -> impl Iterator<Item = Arg> {
    let offered = FURTHER.flags.iter().filter(|flag| models.offers(&flag.setting_name()));
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
        for flag in FURTHER.flags {
            // One that the program does not offer is not known to its command.
            let offered = matches.try_contains_id(flag.name).is_ok();
            if let Some(value) = offered.then(|| flag.read(matches)).flatten() {
                self.0.extend(of_name(&flag.setting_name()).map(|name| (name, value)));
            }
        }
        Ok(())
    }
}
