//! What a row is.

use super::given::Given;
use clap::builder::{
    BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser,
};
use clap::{Arg, ArgMatches, value_parser};
use llm_core::Config;
use llm_core::recipe::Recipe;
use llm_core::settings::{self, Value};
use llm_run::defaults::Start;

/// A setting that can be typed.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The key of core's row.
    pub key: &'static str,
    /// The flag without its dashes. In a file of settings underscores may stand for the others.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What stands for the value in the help.
    pub placeholder: &'static str,
    /// What the help says.
    pub help: &'static str,
    /// What is typed.
    pub kind: Kind,
    /// The value of a new run that was not given one.
    pub initial: Initial,
    /// Has it any effect in such a run?
    pub applies: fn(&Recipe) -> bool,
    /// What it does beside `--load`.
    pub beside_load: Beside,
    /// What a report calls it; absent when the report's own words hold it, or leave it out.
    pub report: Option<&'static str>,
}

/// What is typed.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing, 0, 1, true or false.
    Switch,
    /// A whole number.
    Whole,
    /// A whole number below 2³².
    Few,
    /// A number.
    Number,
    /// A number with double precision.
    Share,
    /// One of these words.
    Word(fn() -> Words),
}

/// Words, each with what the help says about it.
pub type Words = Vec<(&'static str, &'static str)>;

/// Where a new run's value comes from when it was not given.
#[derive(Clone, Copy, Debug)]
pub enum Initial {
    /// Core's own, or that of `--arch`.
    Core,
    /// What the run starts from says it.
    By(fn(Start) -> Value),
    /// Other settings decide it, and what was given. They are asked in the order of core's rows.
    Follows(fn(&Recipe, &Given) -> Value),
}

/// What a flag does beside `--load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// It takes the place of the run's value, and that is said.
    Replaces,
    /// The weights were made with it: it may be repeated, and is refused when it differs.
    Fixed,
    /// It means something else there, which its help says.
    Else,
}

/// A row of core's setting `key`: what is typed, what stands for the value in the help, and what the
/// help says. The value of a new run is core's own, and `--load` takes another.
pub(super) const fn row(
    key: &'static str,
    name: &'static str,
    placeholder: &'static str,
    kind: Kind,
    help: &'static str,
) -> Flag {
    let (initial, beside_load) = (Initial::Core, Beside::Replaces);
    let applies: fn(&Recipe) -> bool = |_| true;
    let (aliases, report): (&[_], _) = (&[], None);
    Flag { key, name, aliases, placeholder, help, kind, initial, applies, beside_load, report }
}

impl Flag {
    /// Its value.
    pub fn value(&self, config: &Config, recipe: &Recipe) -> Option<Value> {
        settings::value(self.key, config, recipe)
    }

    /// The value of a new run, as far as what it starts from says it.
    pub fn initial(&self, start: Start) -> Option<Value> {
        match self.initial {
            Initial::By(of) => Some(of(start)),
            Initial::Core | Initial::Follows(_) => None,
        }
    }

    /// What the help says, with the values of a new run by what it learns.
    fn help(&self) -> String {
        let [stories, text] =
            [true, false].map(|stories| self.initial(Start::choose(None, stories)));
        match (stories, text) {
            (Some(stories), Some(text)) if stories != text => {
                format!("{} [default: {stories} for the stories, {text} for --data]", self.help)
            }
            _ => self.help.to_string(),
        }
    }

    pub(super) fn arg(&self, heading: &'static str) -> Arg {
        let arg = Arg::new(self.name).long(self.name).value_name(self.placeholder);
        let arg = arg.visible_aliases(self.aliases.iter().copied());
        let arg = arg.help(self.help()).help_heading(heading).value_parser(self.kind.parser());
        match self.kind {
            Kind::Switch => arg.num_args(0..=1).default_missing_value("true"),
            _ => arg,
        }
    }

    pub(super) fn read(&self, matches: &ArgMatches) -> Option<Value> {
        let id = self.name;
        match self.kind {
            Kind::Switch => matches.get_one(id).copied().map(Value::Bool),
            Kind::Whole => matches.get_one(id).copied().map(Value::Whole),
            Kind::Few => matches.get_one::<u32>(id).map(|&n| Value::Whole(n.into())),
            Kind::Number => matches.get_one(id).copied().map(Value::Float),
            Kind::Share => matches.get_one(id).copied().map(Value::Double),
            Kind::Word(_) => matches.get_one(id).cloned(),
        }
    }
}

impl Kind {
    fn parser(self) -> ValueParser {
        match self {
            Kind::Switch => BoolishValueParser::new().into(),
            Kind::Whole => value_parser!(u64).into(),
            Kind::Few => value_parser!(u32).into(),
            Kind::Number => value_parser!(f32).into(),
            Kind::Share => value_parser!(f64).into(),
            Kind::Word(words) => {
                let words = words().into_iter();
                let words = words.map(|(word, help)| PossibleValue::new(word).help(help));
                // Not a text, so that files of settings leave the judgement to it.
                PossibleValuesParser::new(words).map(Value::Text).into()
            }
        }
    }
}
