//! The settings of a run as TOML, each with the value that counts.

use crate::args::{CrewArgs, TextEnds, TrainArgs};
use crate::flags::Flag;
use crate::flags::{GROUPS, LEARNING, LENGTH, OPTIONS, SEED, SIZES, VAL_FRAC};
use crate::program::Program;
use clap::ValueEnum;
use llm_core::Config;
use llm_core::recipe::{DataSource, EndOfText, Recipe};
use llm_core::settings as of_core;
use llm_core::tokenizer::IdsTokenizer;
use llm_run::defaults::{INTERVAL, LOG_EVERY, Preset, VOCAB_SIZE};
use llm_run::escape::{json_line, one_line};
use llm_run::models::AttentionFlags;
use llm_run::plan::Decided;
use llm_run::settings::{ATTENTION, AttentionRow, FURTHER, Initial, Setting, settings};
use llm_run::tokenizers::TokenizerKind;
use std::ffi::OsStr;
use std::time::Duration;
use toml::{Table, Value};

/// The settings that decide a run, for its folder. Where it was saved is not among them, so that
/// the text given to `--config` makes the run once more in another place.
pub fn effective_config(
    program: &Program,
    decided: &Decided<'_>,
    args: &TrainArgs,
    threads: usize,
) -> String {
    Sheet::of(decided, args, threads).text(program)
}

/// All settings, for `--print-config`: given to `--config`, the text is the same command. What
/// follows from other settings stands in it as a remark, so that it still follows when they are
/// changed.
pub fn printable_config(
    program: &Program,
    decided: &Decided<'_>,
    args: &TrainArgs,
    threads: usize,
) -> String {
    let mut sheet = Sheet::of(decided, args, threads);
    sheet.place(args);
    if args.load.is_none() {
        let given = args.given();
        let follows = |of: &&Setting| {
            matches!(of.initial, Initial::Follows(_)) && !given.contains_key(of.name)
        };
        sheet.following = settings().filter(follows).map(|of| of.name.into()).collect();
    }
    sheet.text(program)
}

/// Tables of settings, in the order in which they are put in.
#[derive(Default)]
pub(super) struct Sheet {
    tables: Table,
    table: &'static str,
    /// Every key that was asked about, given or not.
    pub(super) known: Vec<String>,
    /// Keys whose values follow from others, and are written as remarks.
    following: Vec<String>,
    /// Lines above all tables.
    pub(super) remarks: Vec<String>,
}

impl Sheet {
    /// A new flag without a row in [`flags`](crate::flags) needs its line here: `put` for a setting
    /// that always has a value, `given` for one that has an effect only when it is typed.
    pub(super) fn of(decided: &Decided<'_>, args: &TrainArgs, threads: usize) -> Sheet {
        let mut sheet = Sheet::default();
        let s = &mut sheet;
        let Decided { files, config, recipe, attention, tokenizer, steps, sample_seed } = *decided;
        // As the flags mean it: the steps from here on, the seed that is left.
        let recipe = &Recipe { total_steps: steps, seed: sample_seed, ..recipe.clone() };
        let group = |at: usize| GROUPS[at].flags.iter().filter_map(Flag::setting);
        let (of_model, of_run): (Vec<&Setting>, Vec<&Setting>) =
            group(LEARNING).partition(|of| of.key.starts_with("model."));
        let rows = |s: &mut Sheet, all: &mut dyn Iterator<Item = &'static Setting>| {
            // Excluded by the other flag, even where that is false.
            let left_out = |of: &Setting| match of.name {
                "val_frac" => !files.val.is_empty(),
                "accum" => args.overfit.is_some(),
                _ => !(of.applies)(recipe),
            };
            for of in all {
                let value = of.value(config, recipe).filter(|_| !left_out(of));
                s.given(of.name, value.and_then(typed));
            }
        };

        s.table("data");
        s.list("data", files.data.iter().map(|path| text(path.as_os_str())).collect());
        s.given("data_as", args.data_as.map(name));
        s.given("end_of_text", args.end_of_text.map(name).or(ends_of(&recipe.data)));
        rows(s, &mut group(VAL_FRAC));
        let tokens = &args.tokenizer;
        match &tokens.kind {
            Some(TokenizerKind::File(path)) => s.put("tokenizer", text(path.as_os_str())),
            // Numbers need none.
            _ => s.given("tokenizer", (tokenizer != IdsTokenizer::NAME).then_some(tokenizer)),
        }
        let learns = args.load.is_none() && tokens.kind == Some(TokenizerKind::Bpe);
        let learns = learns && tokens.bpe_vocab.is_none();
        let vocab_size = tokens.vocab_size.or(learns.then_some(VOCAB_SIZE));
        s.given("vocab_size", vocab_size.map(|n| whole(n as u64)));
        s.given("bpe_vocab", tokens.bpe_vocab.as_ref().map(|path| text(path.as_os_str())));
        s.given("bpe_merges", tokens.bpe_merges.as_ref().map(|path| text(path.as_os_str())));
        s.list("val", files.val.iter().map(|path| text(path.as_os_str())).collect());
        s.given("allow_data_change", args.allow_data_change);

        s.table("model");
        rows(s, &mut group(SIZES));
        s.put("heads", whole(attention.n_heads as u64));
        rows(s, &mut group(OPTIONS));
        rows(s, &mut of_model.into_iter());
        // Only where they are not the baseline's: a program that has no such flag reads the file.
        let baseline = Config::new(0, 0, 0, 0);
        for of in &FURTHER {
            let [value, usual] = [config, &baseline].map(|config| of.value(config, recipe));
            let value = value.filter(|value| usual.as_ref() != Some(value));
            s.given(of.name, value.and_then(typed));
        }
        let usual = AttentionFlags::new(attention.n_heads);
        for AttentionRow { setting, get, .. } in &ATTENTION {
            let value = get(&attention).filter(|value| get(&usual).as_ref() != Some(value));
            s.given(setting.name, value.and_then(typed));
        }

        s.table("training");
        s.given("load", args.load.as_ref().map(|path| text(path.as_os_str())));
        s.given("preset", args.recipe.preset.map(Preset::name));
        rows(s, &mut group(LENGTH).chain(of_run).chain(group(SEED)));
        s.put("eval_every", whole(args.eval_every.unwrap_or(INTERVAL)));
        s.put("save_every", whole(args.save_every.unwrap_or(INTERVAL)));
        s.given("keep", args.keep.map(|n| whole(n as u64)));
        s.given("epochs", None::<f64>); // in `steps`
        s.given("max_time", args.recipe.max_time.map(seconds));
        s.given("patience", args.recipe.patience.map(whole));
        s.given("skip_spikes", args.recipe.skip_spikes.map(number));
        s.given("save_opt", args.save_opt);

        s.table("output");
        s.put("log_every", whole(args.log_every.unwrap_or(LOG_EVERY)));
        s.put("threads", whole(threads as u64));
        s.given("sample_every", args.sample_every.map(whole));
        s.given("overfit", args.overfit);
        s.given("quiet", args.output.quiet);
        s.given("message_format", args.output.message_format.map(name));

        s.table("text");
        let sampling = &args.sampling;
        s.given("prompt", sampling.prompt.text.as_deref().map(text));
        let file = sampling.prompt.file.as_ref();
        s.given("prompt_file", file.map(|path| text(path.as_os_str())));
        s.given("start", sampling.prompt.start.as_deref().map(text));
        let ids = sampling.prompt.ids.iter().flatten().map(|&id| whole(id.into()));
        s.list("prompt_ids", ids.collect());
        s.given("gen", sampling.n.map(|n| whole(n as u64)));
        s.given("num_samples", sampling.num_samples.map(whole));
        s.list("stop", sampling.stop.iter().map(|stop| text(stop)).collect());
        s.given("ignore_eos", sampling.ignore_eos);
        s.given("temp", sampling.temp.map(number));
        s.given("topk", sampling.topk.map(|k| whole(k as u64)));
        s.given("top_p", sampling.top_p.map(number));
        s.given("min_p", sampling.min_p.map(number));
        s.given("repetition_penalty", sampling.repetition_penalty.map(number));
        s.given("repeat_last_n", sampling.repeat_last_n.map(|n| whole(n as u64)));
        s.given("slide", sampling.slide.map(|n| whole(n as u64)));
        s.given("ascii_only", sampling.ascii_only);
        s.given("escape_bytes", sampling.escape_bytes);
        s.given("raw", sampling.raw);
        s.given("print_next_top", sampling.print_next_top.map(|n| whole(n as u64)));
        s.given("print_next_top_each_step", sampling.print_next_top_each_step);

        s.table("checks");
        let probes = &args.probes;
        s.given("sanity_next_from_data", probes.sanity_next_from_data.map(|n| whole(n as u64)));
        s.given("sanity_ctx", probes.sanity_ctx.map(|n| whole(n as u64)));
        s.given("sanity_top", probes.sanity_top.map(|n| whole(n as u64)));
        s.given("sanity_offset", probes.sanity_offset.map(|n| whole(n as u64)));
        s.given("min_acc", probes.min_acc);
        s.given("sanity_preview", probes.sanity_preview.map(|n| whole(n as u64)));
        sheet
    }

    /// Where it is saved, whether anything is done at all, and by whom.
    pub(super) fn place(&mut self, args: &TrainArgs) {
        self.table("checkpoints");
        self.given("save", args.save.as_ref().map(|path| text(path.as_os_str())));
        self.given("out", args.out.as_ref().map(|path| text(path.as_os_str())));
        self.given("no_save", args.no_save);
        self.given("dry_run", args.dry_run);
        let CrewArgs { crew, crew_timeout, shard_optimizer } = &args.crew;
        self.table("processes");
        self.given("crew", crew.map(name));
        self.given("crew_timeout", crew_timeout.map(seconds));
        self.given("shard_optimizer", *shard_optimizer);
    }

    pub(super) fn table(&mut self, name: &'static str) {
        self.table = name;
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.given(key, Some(value));
    }

    fn given(&mut self, key: impl Into<String>, value: Option<impl Into<Value>>) {
        let key = key.into();
        self.known.push(key.clone());
        let Some(value) = value else { return };
        let table = self.tables.entry(self.table).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(table) = table {
            table.insert(key, value.into());
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

    pub(super) fn text(&self, program: &Program) -> String {
        let mut text = format!(
            "# {} {}: the settings of a run; --config FILE takes them, flags win over them\n",
            program.models.name,
            env!("CARGO_PKG_VERSION"),
        );
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
        Value::Array(values) => {
            format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        // JSON's string, with JSON's escapes, is one of TOML's.
        Value::String(text) if one_line(text) != *text => json_line(text).trim_end().into(),
        other => other.to_string(),
    }
}

/// Where a text ends in the data, as the flag says it; nothing where all is one text.
fn ends_of(data: &DataSource) -> Option<String> {
    match data {
        DataSource::Files { end_of_text: EndOfText::Files, .. } => Some(name(TextEnds::Files)),
        DataSource::Files { end_of_text: EndOfText::Marked, .. } => Some(name(TextEnds::Marked)),
        DataSource::Files { .. } | DataSource::Stories { .. } => None,
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

/// A whole number; as text where TOML's are too small.
pub(super) fn whole(n: u64) -> Value {
    i64::try_from(n).map_or_else(|_| Value::String(n.to_string()), Value::Integer)
}

/// The shortest decimal that reads back to the same f32.
pub(super) fn number(x: f32) -> Value {
    Value::Float(x.to_string().parse().unwrap_or(f64::from(x)))
}

/// Names that are not UTF-8 cannot be written down; they come out with replacement characters.
fn text(word: &OsStr) -> Value {
    Value::String(word.to_string_lossy().into_owned())
}

/// What is typed for it.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
}

/// A length of time, as it is typed.
fn seconds(d: Duration) -> String {
    format!("{}s", d.as_secs_f64())
}
