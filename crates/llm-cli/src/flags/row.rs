//! What a row is.

use crate::words::chosen;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, value_parser};
use llm_core::settings::Value;
use llm_run::defaults::Start;
use llm_run::settings::{Setting, settings};

/// A setting that can be typed.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The flag without its dashes; with underscores the name of the setting.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What stands for the value in the help.
    pub placeholder: &'static str,
    /// What the help says, in both languages.
    pub help: &'static str,
    /// Left to `--help` by `-h`.
    pub rare: bool,
    /// What is typed.
    pub kind: Kind,
}

/// What is typed.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing, 0, 1, true or false.
    Switch,
    /// A whole number.
    U64,
    /// A whole number below 2³².
    U32,
    /// A number.
    F32,
    /// A number with double precision.
    F64,
    /// Whole numbers with commas between them.
    List,
    /// One of these words.
    Word(fn() -> Words),
}

/// Words, each with what the help says about it, in both languages.
pub type Words = Vec<(&'static str, &'static str)>;

/// A row: the flag, what stands for the value in the help, what is typed, and what the help says.
pub(super) const fn row(
    name: &'static str,
    placeholder: &'static str,
    kind: Kind,
    help: &'static str,
) -> Flag {
    Flag { name, aliases: &[], placeholder, help, rare: false, kind }
}

impl Flag {
    /// The same, left to `--help`.
    pub(super) const fn rare(self) -> Flag {
        Flag { rare: true, ..self }
    }

    /// The same with other names.
    pub(super) const fn or(self, aliases: &'static [&'static str]) -> Flag {
        Flag { aliases, ..self }
    }

    /// The setting of core that it sets; none of an attention's own.
    pub fn setting(&self) -> Option<&'static Setting> {
        settings().find(|setting| setting.name == self.setting_name())
    }

    /// What the setting is called.
    pub fn setting_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// What the help says, with the values of a new run by what it learns.
    fn help(&self) -> String {
        let start = |stories| Start::choose(None, stories);
        let [stories, text] = [true, false].map(|stories| self.setting()?.initial(start(stories)));
        let help = chosen(self.help);
        match (stories, text) {
            (Some(stories), Some(text)) if stories != text => {
                let from = format!(
                    "[default: {stories} for the stories, {text} for --data] \
                     zh: [默认：学故事 {stories}，学 --data {text}]"
                );
                format!("{help} {}", chosen(&from))
            }
            _ => help,
        }
    }

    pub(super) fn arg(&self, heading: &'static str) -> Arg {
        let arg = Arg::new(self.name).long(self.name).value_name(self.placeholder);
        let arg = arg.visible_aliases(self.aliases.iter().copied());
        let arg = arg.help(self.help()).help_heading(heading).value_parser(self.kind.parser());
        let arg = if let Kind::List = self.kind { arg.value_delimiter(',') } else { arg };
        arg.hide_short_help(self.rare)
    }

    pub(super) fn read(&self, matches: &ArgMatches) -> Option<Value> {
        let id = self.name;
        match self.kind {
            Kind::Switch => matches.get_one(id).copied().map(Value::Bool),
            Kind::U64 => matches.get_one(id).copied().map(Value::Whole),
            Kind::U32 => matches.get_one::<u32>(id).map(|&n| Value::Whole(n.into())),
            Kind::F32 => matches.get_one(id).copied().map(Value::Float),
            Kind::F64 => matches.get_one(id).copied().map(Value::Double),
            Kind::List => {
                let list: Vec<_> = matches.get_many::<u64>(id)?.map(u64::to_string).collect();
                Some(Value::Text(list.join(",")))
            }
            Kind::Word(_) => matches.get_one(id).cloned(),
        }
    }
}

impl Kind {
    fn parser(self) -> ValueParser {
        match self {
            Kind::Switch => value_parser!(bool),
            Kind::U64 | Kind::List => value_parser!(u64).into(),
            Kind::U32 => value_parser!(u32).into(),
            Kind::F32 => value_parser!(f32).into(),
            Kind::F64 => value_parser!(f64).into(),
            Kind::Word(words) => {
                let words = words().into_iter();
                let words = words.map(|(word, help)| PossibleValue::new(word).help(chosen(help)));
                // Not a text, so that files of settings leave the judgement to it.
                PossibleValuesParser::new(words).map(Value::Text).into()
            }
        }
    }
}
