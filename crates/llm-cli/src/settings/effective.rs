//! The settings that the command line has beside those of a run, as TOML.

use crate::args::{CrewArgs, ProbeArgs, SamplingArgs, TrainArgs};
use clap::ValueEnum;
use llm_run::config::{Beside, Sheet, number, seconds, text, whole};
use llm_run::options::Options;
use llm_run::plan::Decided;
use toml::Value;

/// All settings, for `--print-config`: given to `--config`, the text is the same command. What
/// follows from other settings stands in it as a remark, so that it still follows when they are
/// changed.
pub fn printable_config(
    name: &str,
    decided: &Decided<'_>,
    args: &TrainArgs,
    threads: usize,
) -> String {
    let mut sheet = all(decided, args, threads);
    sheet.let_follow(&args.options());
    sheet.text(&head(name))
}

/// What stands above the settings of a program.
pub fn head(name: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{name} {version}: the settings of a run; --config FILE takes them, flags win over them"
    )
}

/// Every setting. A new flag that is no option of a run needs its line in [`beside`], or here where
/// it does not belong to the run.
pub(super) fn all(decided: &Decided<'_>, args: &TrainArgs, threads: usize) -> Sheet {
    // What is learnt by heart is not saved, and nobody said so.
    let options = Options { no_save: args.no_save, ..args.options() };
    let mut sheet = Sheet::of(decided, &options, threads, beside(args));
    sheet.place(&options);
    sheet.given("dry_run", args.dry_run);
    let CrewArgs { crew, crew_timeout, shard_optimizer } = &args.crew;
    sheet.table("processes");
    sheet.given("crew", crew.map(name));
    sheet.given("crew_timeout", crew_timeout.map(seconds));
    sheet.given("shard_optimizer", *shard_optimizer);
    sheet
}

/// What is printed, written and checked.
#[rustfmt::skip]
pub fn beside(args: &TrainArgs) -> Vec<Beside> {
    let SamplingArgs { prompt, n, num_samples, stop, ignore_eos, temp, topk, top_p, min_p, repetition_penalty, repeat_last_n, slide, ascii_only, escape_bytes, raw, print_next_top, print_next_top_each_step } = &args.sampling;
    let ProbeArgs { sanity_next_from_data, sanity_ctx, sanity_top, sanity_offset, min_acc, sanity_preview } = &args.probes;
    let size = |n: &Option<usize>| n.map(|n| whole(n as u64));
    let yes = |of: &Option<bool>| of.map(Value::Boolean);
    let list = |values: Vec<Value>| (!values.is_empty()).then_some(Value::Array(values));
    vec![
        ("output", "overfit", yes(&args.overfit)),
        ("output", "quiet", yes(&args.output.quiet)),
        ("output", "message_format", args.output.message_format.map(|of| name(of).into())),
        ("text", "prompt", prompt.text.as_deref().map(text)),
        ("text", "prompt_file", prompt.file.as_ref().map(|path| text(path.as_os_str()))),
        ("text", "start", prompt.start.as_deref().map(text)),
        ("text", "prompt_ids", list(prompt.ids.iter().flatten().map(|&id| whole(id.into())).collect())),
        ("text", "gen", size(n)),
        ("text", "num_samples", num_samples.map(whole)),
        ("text", "stop", list(stop.iter().map(|stop| text(stop)).collect())),
        ("text", "ignore_eos", yes(ignore_eos)),
        ("text", "temp", temp.map(number)),
        ("text", "topk", size(topk)),
        ("text", "top_p", top_p.map(number)),
        ("text", "min_p", min_p.map(number)),
        ("text", "repetition_penalty", repetition_penalty.map(number)),
        ("text", "repeat_last_n", size(repeat_last_n)),
        ("text", "slide", size(slide)),
        ("text", "ascii_only", yes(ascii_only)),
        ("text", "escape_bytes", yes(escape_bytes)),
        ("text", "raw", yes(raw)),
        ("text", "print_next_top", size(print_next_top)),
        ("text", "print_next_top_each_step", yes(print_next_top_each_step)),
        ("checks", "sanity_next_from_data", size(sanity_next_from_data)),
        ("checks", "sanity_ctx", size(sanity_ctx)),
        ("checks", "sanity_top", size(sanity_top)),
        ("checks", "sanity_offset", size(sanity_offset)),
        ("checks", "min_acc", min_acc.map(Value::Float)),
        ("checks", "sanity_preview", size(sanity_preview)),
    ]
}

/// What is typed for it.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
}
