//! What a row is.

use super::given::Given;
use crate::defaults::Start;
use llm_core::Config;
use llm_core::base::Message;
use llm_core::recipe::Recipe;
use llm_core::settings::{self, MODEL, RECIPE, Value};

/// A setting of a model or a run, as a run is asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key of core's row.
    pub key: &'static str,
    /// The name in a run's `config.toml`, and in requests.
    pub name: &'static str,
    /// What it is for, in English, and behind ` zh: ` in Chinese. `{load}` is another option, which
    /// each front end spells, as in a [`Message`]; brackets at the end say what holds without it.
    pub text: &'static str,
    /// The value of a new run that was not given one.
    pub initial: Initial,
    /// Whether it has any effect in such a run.
    pub applies: fn(&Recipe) -> bool,
    /// What a given value does where a run goes on.
    pub on_load: OnLoad,
    /// What a report calls it; absent when the report's own words hold it, or leave it out.
    pub report: Option<fn() -> Message>,
}

/// Where a new run's value comes from when it was not given.
#[derive(Clone, Copy, Debug)]
pub enum Initial {
    /// Core's own, or that of a set of options.
    Core,
    /// What the run starts from says it.
    By(fn(Start) -> Value),
    /// Other settings decide it, and what was given. They are asked in the order of core's rows.
    Follows(fn(&Recipe, &Given) -> Value),
}

/// What a setting does where a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoad {
    /// Takes the place of the run's value, which is said.
    Replaces,
    /// Cannot change, as the weights were made with it: it may be repeated, and is refused when it
    /// differs.
    Fixed,
    /// Means something else there.
    MeansOther,
}

/// A row of core's setting `key`. The value of a new run is core's own, and a run that goes on
/// takes another.
pub(super) const fn row(key: &'static str, name: &'static str) -> Setting {
    let applies: fn(&Recipe) -> bool = |_| true;
    let (initial, on_load, report) = (Initial::Core, OnLoad::Replaces, None);
    Setting { key, name, text: "", initial, applies, on_load, report }
}

/// A row of a setting that the weights are made with.
pub(super) const fn fixed(key: &'static str, name: &'static str) -> Setting {
    Setting { on_load: OnLoad::Fixed, ..row(key, name) }
}

/// Rows, each with its [`Setting::text`] as the comment above it.
macro_rules! with_texts {
    ($($(#[doc = $text:literal])+ $row:ident($($of:tt)*) $(.$more:ident($($with:tt)*))*,)+) => {
        [$($row($($of)*)$(.$more($($with)*))*.text(concat!($($text),+))),+]
    };
}
pub(super) use with_texts;

/// What a row says besides its key and its name.
impl Setting {
    pub(super) const fn text(self, text: &'static str) -> Setting {
        Setting { text, ..self }
    }

    pub(super) const fn starts(self, with: fn(Start) -> Value) -> Setting {
        Setting { initial: Initial::By(with), ..self }
    }

    pub(super) const fn follows(self, from: fn(&Recipe, &Given) -> Value) -> Setting {
        Setting { initial: Initial::Follows(from), ..self }
    }

    pub(super) const fn applies(self, applies: fn(&Recipe) -> bool) -> Setting {
        Setting { applies, ..self }
    }

    pub(super) const fn means_other_on_load(self) -> Setting {
        Setting { on_load: OnLoad::MeansOther, ..self }
    }

    pub(super) const fn reported(self, by: fn() -> Message) -> Setting {
        Setting { report: Some(by), ..self }
    }
}

impl Setting {
    /// What it is for, in English and in Chinese.
    pub fn texts(&self) -> [Message; 2] {
        let (en, zh) = self.text.split_once(" zh: ").unwrap_or((self.text, self.text));
        [en, zh].map(|text| Message::new(text.trim(), Vec::new()))
    }

    /// The names that the value can be; none where it is no choice among names, or a program knows
    /// them, as those of optimizers.
    pub fn choices(&self) -> Vec<&'static str> {
        let of_model = MODEL.iter().find(|row| row.key == self.key);
        let of_run = RECIPE.iter().find(|row| row.key == self.key);
        match (of_model, of_run) {
            (Some(row), _) => (row.choices)(&Config::new(0, 0, 0, 0)),
            (None, Some(row)) => (row.choices)(&Recipe::new([0, 0], 0, 0.0)),
            (None, None) => Vec::new(),
        }
    }

    /// The value in this model and run; none of an attention's own setting.
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
}
