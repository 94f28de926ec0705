//! What both ways to a run check: flags that need one another, memory, settings under the names of
//! their flags.

use crate::args::{CrewArgs, TrainArgs};
use crate::crew;
use crate::error::{Result, RunError, of_library};
use crate::flags::{self, Flag, Given};
use crate::program::{Heads, Program};
use llm_core::base::memory;
use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::message;
use llm_core::model::Footprint;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, Config};
use llm_run::note::Note;

/// `--heads` where there is one.
pub(crate) fn check_heads_flag(program: &Program, heads: Option<usize>) -> Result<()> {
    match (program.heads, heads) {
        (Heads::One { other }, Some(h)) if h != 1 => Err(RunError::Usage(message!(
            "--heads {}: {} has one attention head; for more use {} --heads {}",
            h,
            program.name,
            other,
            h
        ))),
        _ => Ok(()),
    }
}

/// Flags that need something to watch; `measured`: there may be validation data.
pub(super) fn check_watches(args: &TrainArgs, measured: bool) -> Result<()> {
    if args.recipe.patience.is_some() && !(measured && args.eval_every != Some(0)) {
        let why = "--patience needs validation data and an --eval-every above 0";
        return Err(RunError::Usage(why.into()));
    }
    if args.crew.shard_optimizer == Some(true) && args.save_opt == Some(true) {
        let why = "--save-opt 1 keeps moments in `best`, which a divided optimizer cannot; leave \
                   it out, or --shard-optimizer";
        return Err(RunError::Usage(why.into()));
    }
    match args.recipe.skip_spikes {
        Some(z) if !(z > 0.0 && z.is_finite()) => {
            Err(RunError::Usage(message!("--skip-spikes {} is not a number above 0", z)))
        }
        _ => Ok(()),
    }
}

/// Said where a place to save in is given, and nothing is saved.
pub(super) fn without_a_place(args: &TrainArgs) -> Option<Note> {
    let places = [("save", args.save.is_some()), ("out", args.out.is_some())];
    let (option, _) = places.into_iter().find(|(_, given)| *given)?;
    (args.no_save == Some(true)).then_some(Note::NoPlace { option })
}

/// Steps for `epochs` passes over `tokens`.
pub(super) fn steps_of(epochs: f64, tokens: usize, recipe: &Recipe) -> Result<u64> {
    if !(epochs > 0.0 && epochs.is_finite()) {
        return Err(RunError::Usage(message!("--epochs {} is not a number above 0", epochs)));
    }
    let per_step = recipe.tokens_per_step() as f64;
    // The cast saturates; what is too many is refused with the other settings.
    Ok((epochs * tokens as f64 / per_step).ceil() as u64)
}

/// What the program takes besides the model: its code, the threads' stacks, the data's window.
const BASE_MEMORY: u64 = 48 << 20;

/// Estimated bytes of a training with this recipe, for one of those who work on it.
pub(super) fn training_memory(
    config: &Config,
    attention: &dyn Attention,
    recipe: &Recipe,
    crew: &CrewArgs,
) -> Result<u64> {
    let own = attention.parameters(config);
    let footprint = recipe.footprint(config, &own)?;
    let members = crew::members(crew.crew) as u64;
    let micro_batches = (u64::from(recipe.accum) / members).max(1) as u32;
    let footprint = Footprint { micro_batches, ..footprint };
    let elsewhere = match crew.shard_optimizer {
        Some(true) => footprint.optimizer() / members * (members - 1),
        _ => 0,
    };
    Ok(footprint.training(recipe.batch_size, recipe.seq_len).saturating_sub(elsewhere))
}

/// Said where the course of the rate was given, and there is none.
pub(super) fn without_a_course(given: &Given, recipe: &Recipe) -> Option<Note> {
    let unused = |flag: &Flag| given.contains_key(flag.name) && !(flag.applies)(recipe);
    flags::flags().any(unused).then_some(Note::NoCourse)
}

/// Refuses, before the first step, a run whose checkpoint could not be written afterwards.
pub(super) fn check_savable(trainer: &Trainer, tokenizer: &dyn Tokenizer) -> Result<()> {
    checkpoint::check_savable(trainer, &TokenizerSpec::of(tokenizer)).map_err(|e| match e {
        llm_core::Error::Checkpoint { source, .. } => {
            RunError::Usage(message!("this run could not be saved: {}", of_library(&source)))
        }
        other => other.into(),
    })
}

pub(super) fn require(needed: u64) -> Result<()> {
    memory::require(needed.saturating_add(BASE_MEMORY))
        .map_err(|e| RunError::Memory(e, message!("--dmodel, --layers, --batch or --seq")))
}

/// Settings as the library names them, under the names of the flags.
pub(crate) fn named_by_flag(e: llm_core::Error) -> RunError {
    match e {
        llm_core::Error::Config { field, reason } => {
            let of_row = flags::of_field(field).map(|flag| flag.name.to_string());
            let flag = of_row.unwrap_or_else(|| field.replace('_', "-"));
            RunError::Usage(message!("--{}: {}", flag, reason))
        }
        other => other.into(),
    }
}
