//! A setting as a flag.

use super::spelled::{SPELLED, Spelling};
use crate::lang::Lang;
use crate::messages::spelled;
use crate::words::{chosen, possible};
use clap::builder::{TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, value_parser};
use llm_core::model::{Mlp, Norm};
use llm_core::optim::{OPTIMIZERS, OptimizerRow};
use llm_core::settings::Value;
use llm_run::defaults::Start;
use llm_run::settings::Setting;

/// Words that can be typed, each with what the help says about it, in both languages.
type Words = Vec<(&'static str, &'static str)>;

/// A setting that can be typed.
#[derive(Clone, Debug)]
pub struct Flag {
    /// What is set.
    pub setting: &'static Setting,
    /// The name of the setting with dashes.
    pub name: &'static str,
    /// What is typed.
    pub kind: Kind,
    /// How it is typed, where that is more than name and kind.
    spelling: Spelling,
}

/// What is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, 0, 1, true or false.
    Switch,
    /// A whole number up to this one.
    Whole(u64),
    /// A number of single precision.
    F32,
    /// A number of double precision.
    F64,
    /// Whole numbers with commas between them.
    List,
    /// One of some words.
    Word,
    /// Any text.
    Text,
}

impl Flag {
    pub(super) fn of(setting: &'static Setting) -> Flag {
        let spelling = SPELLED.iter().find(|of| of.setting == setting.name).copied();
        let spelling = spelling.unwrap_or(Spelling::of(setting.name));
        let kind = match setting.example() {
            Value::Bool(_) => Kind::Switch,
            Value::Whole(_) => Kind::Whole(spelling.most),
            Value::Float(_) => Kind::F32,
            Value::Double(_) => Kind::F64,
            _ if setting.name == "reward" => Kind::Text,
            _ if setting.choices().is_empty() && setting.name != "optimizer" => Kind::List,
            _ => Kind::Word,
        };
        Flag { setting, name: setting.name.replace('_', "-").leak(), kind, spelling }
    }

    /// Other names of the flag.
    pub fn aliases(&self) -> &'static [&'static str] {
        self.spelling.aliases
    }

    /// The words that can be typed, each with what the help says about it, in both languages.
    pub fn words(&self) -> Words {
        match (self.name, self.spelling.words) {
            ("norm", _) => Norm::ALL.map(|of| (of.name(), of.row().doc)).to_vec(),
            ("mlp", _) => Mlp::ALL.map(|of| (of.name(), of.row().doc)).to_vec(),
            ("optimizer", _) => optimizers(OPTIMIZERS),
            (_, []) => self.setting.choices().into_iter().map(|word| (word, "")).collect(),
            (_, words) => words.to_vec(),
        }
    }

    /// What the help says, with the values of a new run by what it learns.
    fn help(&self) -> String {
        let start = |stories| self.setting.initial(Start::choose(None, stories));
        let [en, zh] = self.setting.texts();
        let help = spelled(if Lang::chosen() == Lang::Zh { &zh } else { &en });
        match [true, false].map(start) {
            [Some(stories), Some(text)] if stories != text => {
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
        let placeholder = self.spelling.placeholder.unwrap_or(match self.kind {
            Kind::Switch => "0|1",
            Kind::Whole(_) => "N",
            Kind::F32 | Kind::F64 => "X",
            Kind::List => "N,..",
            Kind::Word => "KIND",
            Kind::Text => "TEXT",
        });
        let arg = Arg::new(self.name).long(self.name).value_name(placeholder);
        let arg = arg.visible_aliases(self.aliases()).help(self.help()).help_heading(heading);
        let arg = arg.value_parser(self.parser()).hide_short_help(!self.spelling.often);
        if self.kind == Kind::List { arg.value_delimiter(',') } else { arg }
    }

    pub(super) fn read(&self, matches: &ArgMatches) -> Option<Value> {
        let id = self.name;
        match self.kind {
            Kind::Switch => matches.get_one(id).copied().map(Value::Bool),
            Kind::Whole(_) => matches.get_one(id).copied().map(Value::Whole),
            Kind::F32 => matches.get_one(id).copied().map(Value::Float),
            Kind::F64 => matches.get_one(id).copied().map(Value::Double),
            Kind::List => {
                let list: Vec<_> = matches.get_many::<u64>(id)?.map(u64::to_string).collect();
                Some(Value::Text(list.join(",")))
            }
            Kind::Word => matches.get_one(id).cloned(),
            Kind::Text => matches.get_one(id).cloned().map(Value::Text),
        }
    }

    fn parser(&self) -> ValueParser {
        match self.kind {
            Kind::Switch => value_parser!(bool),
            Kind::Whole(most) => value_parser!(u64).range(..=most).into(),
            Kind::List => value_parser!(u64).into(),
            Kind::F32 => value_parser!(f32).into(),
            Kind::F64 => value_parser!(f64).into(),
            Kind::Word => word_parser(self.words()),
            Kind::Text => value_parser!(String),
        }
    }
}

/// The names of optimizers.
pub(super) fn optimizers(rows: &[OptimizerRow]) -> Words {
    rows.iter().map(|of| (of.name, of.doc)).collect()
}

/// Reads one of these words, of which the help says something in both languages.
pub(super) fn word_parser(words: Words) -> ValueParser {
    // Not a text, so that files of settings leave the judgement to it.
    possible(words).map(Value::Text).into()
}
