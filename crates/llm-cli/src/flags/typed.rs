//! Rows as arguments of a command.

use super::row::Flag;
use super::table::{FURTHER, HEADINGS, group};
use crate::words::possible;
use clap::{Arg, ArgAction, ArgMatches};
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
    /// The attention, of several that the program has.
    pub attention: Option<String>,
    /// Numbers of the attention's own.
    pub attention_set: Vec<String>,
    /// Kinds of models to compare.
    pub variants: Vec<String>,
}

arguments!([] Further, Vec::<Arg>::new(), |typed: &mut Self, matches: &ArgMatches| {
    typed.given.extend(given(FURTHER, matches));
    typed.arch = matches.try_get_one("arch").ok().flatten().copied().or(typed.arch);
    typed.attention =
        matches.try_get_one("attention").ok().flatten().cloned().or(typed.attention.take());
    let all = |name| matches.try_get_many::<String>(name).ok().flatten().into_iter().flatten();
    typed.attention_set.extend(all("attention-set").cloned());
    typed.variants.extend(all("variants").map(|name| name.trim().to_string()));
});

/// The arguments of those flags of [`FURTHER`] that these models offer.
pub fn further_args(models: &Models) -> impl Iterator<Item = Arg> {
    let offered =
        args(FURTHER).filter(|arg| models.offers(&arg.get_id().as_str().replace('-', "_")));
    offered.chain(attention_args(models))
}

/// The attention and its numbers, for models that may have one of several.
fn attention_args(models: &Models) -> Vec<Arg> {
    if !models.has_choice() {
        return Vec::new();
    }
    let new =
        |name| Arg::new(name).long(name).help_heading(HEADINGS[FURTHER]).hide_short_help(true);
    let names = models.attentions.iter().map(|kind| (kind.name, kind.doc));
    vec![
        new("attention")
            .value_name("NAME")
            .value_parser(possible(names))
            .help("The attention [default: the first] zh: 注意力 [默认：第一种]"),
        new("attention-set").value_name("NAME=X").action(ArgAction::Append).help(
            "A number of the attention's own, such as cap=20; repeatable [default: its own] \
             zh: 注意力自己的一个数，例如 cap=20；可以写几次 [默认：它自己的]",
        ),
    ]
}

fn args(number: usize) -> impl Iterator<Item = Arg> {
    group(number).map(move |flag| flag.arg(HEADINGS[number]))
}

/// What was typed of these flags. One that the program does not offer is not known to its command.
fn given(number: usize, matches: &ArgMatches) -> Given {
    let known = group(number).filter(|flag| matches.try_contains_id(flag.name).is_ok());
    known.filter_map(|flag: &Flag| Some((flag.setting.name, flag.read(matches)?))).collect()
}
