//! Tables of settings, each with the value that counts.

use crate::defaults::{INTERVAL, LOG_EVERY, Preset, VOCAB_SIZE};
use crate::options::Options;
use crate::plan::Decided;
use crate::settings::{ATTENTION, AttentionRow, FURTHER, Initial, SETTINGS, Setting, settings};
use crate::tokenizers::TokenizerKind;
use llm_core::base::escape::{escaped_json, one_line};
use llm_core::model::SingleHead;
use llm_core::optim::OPTIMIZERS;
use llm_core::recipe::{DataForm, DataSource, EndOfText, Recipe};
use llm_core::tokenizer::IdsTokenizer;
use llm_core::{AttentionSpec, Config, settings as of_core};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;
use toml::{Table, Value};

/// What a front end has to add: a table, a key and its value.
pub type Beside = (&'static str, String, Option<Value>);

/// The value of a setting in a run, where it has an effect.
type ValueOf<'a> = dyn Fn(&Setting) -> Option<of_core::Value> + 'a;

/// Attentions that no file of settings names: each program has one of them, where nothing is said.
const OURS: [&str; 3] = [SingleHead::NAME, "multi-head", "modern"];

/// The sizes of a model among its settings.
const SIZES: [&str; 3] = ["seq", "dmodel", "layers"];

/// Whether a setting is an option of the model.
fn is_option(of: &Setting) -> bool {
    of.key.starts_with("model.") && !SIZES.contains(&of.name)
}

/// A path that may be none.
fn path_of(path: Option<&PathBuf>) -> Option<Value> {
    path.map(|path| text(path.as_os_str()))
}

/// Tables of settings, in the order in which they are put in.
#[derive(Debug, Default)]
pub struct Sheet {
    tables: Table,
    table: &'static str,
    /// Every key that was asked about, given or not.
    pub known: Vec<String>,
    /// Keys whose values follow from others, and are written as remarks.
    following: Vec<String>,
    /// Lines above all tables.
    pub(super) remarks: Vec<String>,
}

impl Sheet {
    /// The settings that decide a run, without where it is saved: given to another run, they make it
    /// once more in another place. What else is in `beside` comes last in its table.
    pub fn of(run: &Decided<'_>, options: &Options, threads: usize, beside: Vec<Beside>) -> Sheet {
        let Decided { config, recipe, steps, sample_seed, .. } = *run;
        // As they are asked for: the steps from here on, the seed that is left.
        let recipe = &Recipe { total_steps: steps, seed: sample_seed, ..recipe.clone() };
        // Excluded by another option, even where that is false.
        let memorises = beside.iter().any(|(_, key, of)| key == "overfit" && of.is_some());
        let left_out = |of: &Setting| match of.name {
            "val_frac" => !run.files.val.is_empty(),
            "accum" => memorises,
            "loss_on" => !matches!(recipe.data, DataSource::Files { form: DataForm::Chats, .. }),
            _ => !(of.applies)(recipe),
        };
        let value = |of: &Setting| of.value(config, recipe).filter(|_| !left_out(of));
        let mut sheet = Sheet::default();
        sheet.data(run, options, &value);
        sheet.model(run, &value);
        sheet.training(options, recipe, &value);
        sheet.table("output");
        sheet.put("log_every", whole(options.habits.log_every.unwrap_or(LOG_EVERY)));
        sheet.put("threads", whole(threads as u64));
        sheet.given("sample_every", options.habits.sample_every.map(whole));
        sheet.beside(beside);
        sheet
    }

    /// Where the text comes from, and how it is cut.
    fn data(&mut self, decided: &Decided<'_>, options: &Options, value: &ValueOf<'_>) {
        let Decided { files, recipe, tokenizer, .. } = *decided;
        self.table("data");
        self.list("data", files.data.iter().map(|path| text(path.as_os_str())).collect());
        self.given("data_as", options.data_as.map(DataForm::name));
        let ends = options.end_of_text.map(EndOfText::name).or(ends_of(&recipe.data));
        self.given("end_of_text", ends);
        self.rows(value, |of| of.name == "val_frac");
        let tokens = &options.tokenizer;
        match &tokens.kind {
            Some(TokenizerKind::File(path)) => self.put("tokenizer", text(path.as_os_str())),
            // Numbers need none.
            _ => self.given("tokenizer", (tokenizer != IdsTokenizer::NAME).then_some(tokenizer)),
        }
        let learns = options.load.is_none() && tokens.kind == Some(TokenizerKind::Bpe);
        let learns = learns && tokens.bpe_vocab.is_none();
        let vocab_size = tokens.vocab_size.or(learns.then_some(VOCAB_SIZE));
        self.given("vocab_size", vocab_size.map(|n| whole(n as u64)));
        self.given("bpe_vocab", path_of(tokens.bpe_vocab.as_ref()));
        self.given("bpe_merges", path_of(tokens.bpe_merges.as_ref()));
        self.list("val", files.val.iter().map(|path| text(path.as_os_str())).collect());
        self.given("allow_data_change", options.allow_data_change);
    }

    /// Sizes and options of the model.
    fn model(&mut self, run: &Decided<'_>, value: &ValueOf<'_>) {
        let Decided { config, recipe, ref attention, .. } = *run;
        self.table("model");
        self.rows(value, |of| SIZES.contains(&of.name));
        let (heads, others) = ATTENTION.split_at(1);
        self.of_attention(attention, heads);
        self.given("attention", (!OURS.contains(&&*attention.name)).then_some(&*attention.name));
        let own = attention.other.iter().map(|(key, value)| format!("{key}={value}").into());
        self.list("attention_set", own.collect());
        self.rows(value, is_option);
        // Only where they are not the baseline's: models that have no such setting read the file.
        let baseline = Config::new(0, 0, 0, 0);
        for of in &FURTHER {
            let [value, usual] = [config, &baseline].map(|config| of.value(config, recipe));
            let value = value.filter(|value| usual.as_ref() != Some(value));
            self.given(of.name, value.and_then(typed));
        }
        self.of_attention(attention, others);
    }

    /// How the model learns, how often it is measured and saved.
    fn training(&mut self, options: &Options, recipe: &Recipe, value: &ValueOf<'_>) {
        let habits = &options.habits;
        self.table("training");
        self.given("load", path_of(options.load.as_ref()));
        self.given("lora", options.lora.map(|rank| whole(rank as u64)));
        self.given("base", path_of(options.base.as_ref()));
        self.given("recompute", options.recompute);
        self.given("forget", path_of(options.forget.as_ref()));
        self.given("preset", options.preset.map(Preset::name));
        let others =
            |of: &Setting| !is_option(of) && !SIZES.contains(&of.name) && of.name != "val_frac";
        self.rows(value, others);
        self.list("optimizer_set", own_numbers(recipe).map(Value::String).collect());
        self.put("eval_every", whole(habits.eval_every.unwrap_or(INTERVAL)));
        self.put("save_every", whole(habits.save_every.unwrap_or(INTERVAL)));
        self.given("keep", habits.keep.map(|n| whole(n as u64)));
        self.given("epochs", None::<f64>); // in `steps`
        self.given("time", None::<f64>); // in what it chose
        self.given("max_time", options.max_time.map(seconds));
        self.given("patience", habits.patience.map(whole));
        self.given("skip_spikes", habits.skip_spikes.map(number));
        self.given("save_opt", habits.save_opt);
    }

    /// The settings of these rows.
    fn rows(&mut self, value: &ValueOf<'_>, wanted: impl Fn(&Setting) -> bool) {
        for of in SETTINGS.iter().filter(|of| wanted(of)) {
            self.given(of.name, value(of).and_then(typed));
        }
    }

    /// The attention's settings of these rows that are not the usual; the number of heads is always
    /// said.
    fn of_attention(&mut self, attention: &AttentionSpec, rows: &[AttentionRow]) {
        let usual = AttentionSpec::new("", 0);
        for AttentionRow { setting, get, .. } in rows {
            let value = get(attention).filter(|value| get(&usual).as_ref() != Some(value));
            self.given(setting.name, value.and_then(typed));
        }
    }

    /// The other entries, except for keys that have been put in.
    pub fn beside(&mut self, beside: impl IntoIterator<Item = Beside>) {
        for (table, key, value) in beside {
            if !self.known.contains(&key) {
                self.table(table);
                self.given(key, value);
            }
        }
    }

    /// Where a run is saved, and whether anything is done at all.
    pub fn place(&mut self, options: &Options) {
        self.table("checkpoints");
        self.given("save", path_of(options.save.as_ref()));
        self.given("out", path_of(options.out.as_ref()));
        self.given("no_save", options.no_save);
    }

    /// Writes what follows from other settings as remarks, so that it still follows when those are
    /// changed.
    pub fn let_follow(&mut self, options: &Options) {
        if options.load.is_some() {
            return;
        }
        let follows = |of: &&Setting| {
            matches!(of.initial, Initial::Follows(_)) && !options.given.contains_key(of.name)
        };
        self.following = settings().filter(follows).map(|of| of.name.into()).collect();
    }

    /// What is put in from now on stands in this table.
    pub fn table(&mut self, name: &'static str) {
        self.table = name;
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.given(key, Some(value));
    }

    /// A value that may be none.
    pub fn given(&mut self, key: impl Into<String>, value: Option<impl Into<Value>>) {
        let key = key.into();
        self.known.push(key.clone());
        if let Some(value) = value {
            self.replace(&key, Some(value.into()));
        }
    }

    /// Another value in the current table, or none.
    pub(super) fn replace(&mut self, key: &str, value: Option<Value>) {
        let table = self.tables.entry(self.table).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(table) = table {
            match value {
                Some(value) => table.insert(key.into(), value),
                None => table.remove(key),
            };
        }
    }

    fn list(&mut self, key: &str, values: Vec<Value>) {
        self.given(key, (!values.is_empty()).then_some(Value::Array(values)));
    }

    /// The file, with a line above all tables.
    pub fn text(&self, head: &str) -> String {
        let mut text = format!("# {head}\n");
        self.remarks.iter().for_each(|remark| text.push_str(&format!("# {remark}\n")));
        for (name, table) in &self.tables {
            text.push_str(&format!("\n[{name}]\n"));
            for (key, value) in table.as_table().into_iter().flatten() {
                let line = format!("{key} = {}", shown(value));
                text.push_str(&match self.following.contains(key) {
                    true => format!("# {line} # follows from other settings\n"),
                    false => line + "\n",
                });
            }
        }
        text
    }
}

/// A value in a line, in which nothing can control a terminal.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(all) => format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(", ")),
        // JSON's string, with JSON's escapes, is one of TOML's.
        Value::String(text) if one_line(text) != *text => {
            escaped_json(&serde_json::Value::from(&**text).to_string())
        }
        other => other.to_string(),
    }
}

/// Where a text ends in the data; nothing where all is one text.
fn ends_of(data: &DataSource) -> Option<&'static str> {
    match data {
        DataSource::Files { end_of_text: EndOfText::None, .. } | DataSource::Stories { .. } => None,
        DataSource::Files { end_of_text, .. } => Some(end_of_text.name()),
    }
}

/// A value as it would be typed.
fn typed(value: of_core::Value) -> Option<Value> {
    match value {
        of_core::Value::Bool(yes) => Some(yes.into()),
        of_core::Value::Whole(n) => Some(whole(n)),
        of_core::Value::Float(x) => Some(number(x)),
        of_core::Value::Double(x) => Some(x.into()),
        of_core::Value::Text(word) => Some(word.into()),
        of_core::Value::Bytes(_) | of_core::Value::Bits(_) => None,
    }
}

/// The numbers of the optimizer's own that are not those of core's optimizer of this name.
fn own_numbers(recipe: &Recipe) -> impl Iterator<Item = String> {
    let of_core = OPTIMIZERS.iter().find(|row| row.name == recipe.optimizer);
    let usual = of_core.map_or(&[][..], |row| row.settings);
    let is_usual =
        move |key: &str, value| usual.iter().any(|(of, usual)| *of == key && usual == value);
    let own = recipe.optimizer_settings.iter().filter(move |(key, value)| !is_usual(key, *value));
    own.map(|(key, value)| format!("{key}={value}"))
}

/// A whole number; as text where TOML's are too small.
pub fn whole(n: u64) -> Value {
    i64::try_from(n).map_or_else(|_| Value::String(n.to_string()), Value::Integer)
}

/// The shortest decimal that reads back to the same f32.
pub fn number(x: f32) -> Value {
    Value::Float(x.to_string().parse().unwrap_or(f64::from(x)))
}

/// Names that are not UTF-8 cannot be written down; they come out with replacement characters.
pub fn text(word: &OsStr) -> Value {
    Value::String(word.to_string_lossy().into_owned())
}

/// A length of time, as it is typed.
pub fn seconds(d: Duration) -> String {
    format!("{}s", d.as_secs_f64())
}
