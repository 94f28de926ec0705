//! Rows as arguments of a command.

use super::row::Flag;
use super::table::{FURTHER, GROUPS, Group};
use clap::{Arg, ArgMatches};
use llm_run::arch::Arch;
use llm_run::models::Models;
use llm_run::settings::{Given, of_name};

/// What clap asks of a type with arguments that are no fields: which they are, and how it is read. More
/// that is typed is `add`ed.
macro_rules! arguments {
    ([$($generic:tt)*] $type:ty, $args:expr, $read:expr) => {
        impl<$($generic)*> clap::Args for $type {
            fn augment_args(command: clap::Command) -> clap::Command {
                command.args($args)
            }

            fn augment_args_for_update(command: clap::Command) -> clap::Command {
                Self::augment_args(command)
            }
        }

        impl<$($generic)*> clap::FromArgMatches for $type {
            fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
                Ok($read(matches))
            }

            fn update_from_arg_matches(
                &mut self,
                matches: &clap::ArgMatches,
            ) -> Result<(), clap::Error> {
                self.add($read(matches));
                Ok(())
            }
        }
    };
}
pub(crate) use arguments;

/// What was typed of the flags in a group of [`GROUPS`].
#[derive(Clone, Debug, Default)]
pub struct Typed<const GROUP: usize>(pub Given);

arguments!([const GROUP: usize] Typed<GROUP>, args(GROUPS[GROUP]), |matches| {
    Self(given(GROUPS[GROUP].flags, matches))
});

impl<const GROUP: usize> Typed<GROUP> {
    fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }
}

/// What was typed of flags that not every program has; which of them there are is its matter.
#[derive(Clone, Debug, Default)]
pub struct Further {
    /// Those of [`FURTHER`], see [`further_args`].
    pub given: Given,
    /// The set of options, where it is no flag of every program.
    pub arch: Option<Arch>,
    /// Kinds of models to compare.
    pub variants: Vec<String>,
}

arguments!([] Further, Vec::<Arg>::new(), |matches: &ArgMatches| {
    let names = matches.try_get_many::<String>("variants").ok().flatten();
    Self {
        given: given(GROUPS[FURTHER].flags, matches),
        arch: matches.try_get_one("arch").ok().flatten().copied(),
        variants: names.into_iter().flatten().map(|name| name.trim().to_string()).collect(),
    }
});

impl Further {
    fn add(&mut self, more: Self) {
        self.given.extend(more.given);
        self.arch = more.arch.or(self.arch);
        self.variants.extend(more.variants);
    }
}

/// The arguments of those flags of [`FURTHER`] that these models offer.
pub fn further_args(models: &Models) -> impl Iterator<Item = Arg> {
    args(GROUPS[FURTHER]).filter(|arg| models.offers(&arg.get_id().as_str().replace('-', "_")))
}

fn args(group: Group) -> impl Iterator<Item = Arg> {
    group.flags.iter().map(move |flag| flag.arg(group.heading))
}

/// What was typed of these flags. One that the program does not offer is not known to its command.
fn given(flags: &[Flag], matches: &ArgMatches) -> Given {
    let known = flags.iter().filter(|flag| matches.try_contains_id(flag.name).is_ok());
    let typed =
        known.filter_map(|flag| Some((of_name(&flag.setting_name())?, flag.read(matches)?)));
    typed.collect()
}
