//! Rows as arguments of a command.

use super::given::Given;
use super::table::{GROUPS, Group};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

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
