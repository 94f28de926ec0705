//! The settings of a run as TOML, each with the value that counts.

use crate::args::{InitArg, ScheduleArg, TokenizerArg, TrainArgs};
use crate::defaults::{INTERVAL, LOG_EVERY, VOCAB_SIZE};
use crate::plan::Decided;
use crate::program::Program;
use clap::ValueEnum;
use llm_core::optim::ScheduleKind;
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

/// All settings, for `--print-config`: given to `--config`, the text is the same command.
pub fn printable_config(
    program: &Program,
    decided: &Decided<'_>,
    args: &TrainArgs,
    threads: usize,
) -> String {
    let mut sheet = Sheet::of(decided, args, threads);
    sheet.place(args);
    sheet.text(program)
}

/// Tables of settings, in the order in which they are put in.
#[derive(Default)]
pub(super) struct Sheet {
    tables: Table,
    table: &'static str,
    /// Every key that was asked about, given or not.
    pub(super) known: Vec<&'static str>,
}

impl Sheet {
    /// A new flag needs its line here: `put` for a setting that always has a value, `given` for
    /// one that has an effect only when it is typed.
    pub(super) fn of(decided: &Decided<'_>, args: &TrainArgs, threads: usize) -> Sheet {
        let mut sheet = Sheet::default();
        let s = &mut sheet;
        let Decided { config, recipe, n_heads, tokenizer, steps, sample_seed } = *decided;
        let (schedule, update) = (&recipe.schedule, &recipe.hyperparameters);
        let constant = schedule.kind == ScheduleKind::Constant;

        s.table("data");
        s.list("data", args.data.iter().map(|path| text(path.as_os_str())).collect());
        s.given("val_frac", args.val.is_empty().then_some(recipe.val_frac));
        let tokens = &args.tokenizer;
        match &tokens.kind {
            Some(TokenizerArg::File(path)) => s.put("tokenizer", text(path.as_os_str())),
            _ => s.put("tokenizer", tokenizer),
        }
        let learns = args.load.is_none() && tokens.kind == Some(TokenizerArg::Bpe);
        let learns = learns && tokens.bpe_vocab.is_none();
        let vocab_size = tokens.vocab_size.or(learns.then_some(VOCAB_SIZE));
        s.given("vocab_size", vocab_size.map(|n| whole(n as u64)));
        s.given("bpe_vocab", tokens.bpe_vocab.as_ref().map(|path| text(path.as_os_str())));
        s.given("bpe_merges", tokens.bpe_merges.as_ref().map(|path| text(path.as_os_str())));
        s.list("val", args.val.iter().map(|path| text(path.as_os_str())).collect());
        s.given("allow_data_change", args.allow_data_change);

        s.table("model");
        s.put("seq", whole(recipe.seq_len as u64));
        s.put("dmodel", whole(config.d_model as u64));
        s.put("layers", whole(config.n_layers as u64));
        s.put("heads", whole(n_heads as u64));
        s.put("norm_affine", config.norm_affine);
        s.put("tied_head", config.tied_head);
        s.put("head_bias", config.head_bias);
        s.put("init", name(InitArg::from(config.init)));
        s.put("dropout", number(config.dropout));

        s.table("training");
        s.given("load", args.load.as_ref().map(|path| text(path.as_os_str())));
        s.given("preset", args.recipe.preset.map(name));
        s.put("steps", whole(steps));
        s.put("batch", whole(recipe.batch_size as u64));
        // Excluded by `overfit`, even where that is false.
        let accum = whole(u64::from(recipe.accum));
        s.given("accum", args.overfit.is_none().then_some(accum));
        s.put("lr", number(schedule.lr));
        s.put("schedule", name(ScheduleArg::from(schedule.kind)));
        s.put("warmup", whole(schedule.warmup_steps));
        s.given("min_lr", (!constant).then(|| number(schedule.min_lr)));
        s.given("decay_steps", (!constant).then(|| whole(schedule.decay_steps)));
        s.put("clip", number(recipe.clip));
        s.put("weight_decay", number(update.weight_decay));
        s.put("decay_all", update.decay_all);
        s.put("beta1", number(update.beta1));
        s.put("beta2", number(update.beta2));
        s.put("seed", whole(sample_seed));
        s.put("eval_every", whole(args.eval_every.unwrap_or(INTERVAL)));
        s.put("save_every", whole(args.save_every.unwrap_or(INTERVAL)));
        s.given("keep", args.keep.map(|n| whole(n as u64)));
        s.given("epochs", None::<f64>); // in `steps`
        let seconds = |d: Duration| format!("{}s", d.as_secs_f64());
        s.given("max_time", args.recipe.max_time.map(seconds));
        s.given("patience", args.recipe.patience.map(whole));
        s.given("skip_spikes", args.recipe.skip_spikes.map(number));
        s.put("save_opt", args.save_opt.unwrap_or(true));

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
        let ids = sampling.prompt.ids.iter().map(|&id| whole(id.into()));
        s.list("prompt_ids", ids.collect());
        s.given("gen", sampling.n.map(|n| whole(n as u64)));
        s.given("num_samples", sampling.num_samples.map(whole));
        s.list("stop", sampling.stop.iter().map(|stop| text(stop)).collect());
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

    /// Where it is saved, and whether anything is done at all.
    pub(super) fn place(&mut self, args: &TrainArgs) {
        self.table("checkpoints");
        self.given("save", args.save.as_ref().map(|path| text(path.as_os_str())));
        self.given("out", args.out.as_ref().map(|path| text(path.as_os_str())));
        self.given("no_save", args.no_save);
        self.given("dry_run", args.dry_run);
    }

    fn table(&mut self, name: &'static str) {
        self.table = name;
    }

    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.given(key, Some(value));
    }

    fn given(&mut self, key: &'static str, value: Option<impl Into<Value>>) {
        self.known.push(key);
        let Some(value) = value else { return };
        let table = self.tables.entry(self.table).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(table) = table {
            table.insert(key.into(), value.into());
        }
    }

    fn list(&mut self, key: &'static str, values: Vec<Value>) {
        self.given(key, (!values.is_empty()).then_some(Value::Array(values)));
    }

    fn text(&self, program: &Program) -> String {
        format!(
            "# {} {}: the settings of a run; --config FILE takes them, flags win over them\n\n{}",
            program.name,
            env!("CARGO_PKG_VERSION"),
            toml::to_string(&self.tables).unwrap_or_default()
        )
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
