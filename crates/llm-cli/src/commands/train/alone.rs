//! A prompt without a model.

use crate::args::{RecipeArgs, TrainArgs};
use crate::error::{Result, usage};
use crate::next_commands;
use crate::program::Program;
use llm_core::message;
use llm_run::folder::newest_run;
use std::path::Path;

/// A prompt and nothing about training: the user wants text of a model that is there already.
pub(super) fn refuse_prompt_alone(program: &Program, args: &TrainArgs) -> Result<()> {
    let flag = args.sampling.prompt.flag().filter(|_| args.load.is_none());
    let Some(flag) = flag else { return Ok(()) };
    let shape = args.files.tokenizer.kind.is_some()
        || args.model.arch.is_some()
        || !args.heads.0.is_empty();
    let RecipeArgs { epochs, time, max_time, .. } = &args.recipe;
    let length = epochs.is_some() || time.is_some() || max_time.is_some();
    let place = args.save.is_some() || args.out.is_some() || args.config.is_some();
    let others = args.recipe.preset.is_some() || args.dry_run.is_some() || args.overfit.is_some();
    // The seed is one of the text, too.
    let settings = args.given().keys().any(|name| *name != "seed");
    if shape || length || place || others || settings || !args.files.data.is_empty() {
        return Ok(());
    }
    let (name, run) = (program.models.name, newest_run());
    let path = run.as_deref().unwrap_or(Path::new("RUN"));
    let load = next_commands::load_flag(path);
    usage(message!(
        "{}: no model is given; {} generate{} {} .. writes text, --steps N trains \
         a new one first",
        flag,
        name,
        load,
        flag
    ))
}
