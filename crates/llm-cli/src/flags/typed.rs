//! Rows as arguments of a command.

use super::row::Flag;
use super::table::{FURTHER, HEADINGS, group};
use clap::{Arg, ArgMatches};
use llm_run::arch::Arch;
use llm_run::models::Models;
use llm_run::settings::Given;

/// What clap asks of a type with arguments that are no fields: which they are, and how what was
/// typed is added to it.
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
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                let mut typed = Self::default();
                typed.update_from_arg_matches(matches).map(|()| typed)
            }

            fn update_from_arg_matches(&mut self, of: &ArgMatches) -> Result<(), clap::Error> {
                $read(self, of);
                Ok(())
            }
        }
    };
}
pub(crate) use arguments;

/// What was typed of the flags in a group.
#[derive(Clone, Debug, Default)]
pub struct Typed<const GROUP: usize>(pub Given);

arguments!([const GROUP: usize] Typed<GROUP>, args(GROUP), |typed: &mut Self, matches| {
    typed.0.extend(given(GROUP, matches));
});

/// What was typed of the flags that not every program has.
#[derive(Clone, Debug, Default)]
pub struct Further {
    /// Settings of the group [`FURTHER`], see [`further_args`].
    pub given: Given,
    /// The set of options, where it is no flag of every program.
    pub arch: Option<Arch>,
    /// Kinds of models to compare.
    pub variants: Vec<String>,
}

arguments!([] Further, Vec::<Arg>::new(), |typed: &mut Self, matches: &ArgMatches| {
    typed.given.extend(given(FURTHER, matches));
    typed.arch = matches.try_get_one("arch").ok().flatten().copied().or(typed.arch);
    let names = matches.try_get_many::<String>("variants").ok().flatten();
    let names = names.into_iter().flatten().map(|name| name.trim().to_string());
    typed.variants.extend(names);
});

/// The arguments of those flags of [`FURTHER`] that these models offer.
pub fn further_args(models: &Models) -> impl Iterator<Item = Arg> {
    args(FURTHER).filter(|arg| models.offers(&arg.get_id().as_str().replace('-', "_")))
}

fn args(number: usize) -> impl Iterator<Item = Arg> {
    group(number).map(move |flag| flag.arg(HEADINGS[number]))
}

/// What was typed of these flags. One that the program does not offer is not known to its command.
fn given(number: usize, matches: &ArgMatches) -> Given {
    let known = group(number).filter(|flag| matches.try_contains_id(flag.name).is_ok());
    known.filter_map(|flag: &Flag| Some((flag.setting.name, flag.read(matches)?))).collect()
}
