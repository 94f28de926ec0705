//! What both ways to a run check: flags that need one another, memory, settings under the names of
//! their flags.

use crate::data::{ChatFacts, Data};
use crate::error::{Result, RunError, option, usage};
use crate::models::{Heads, Models};
use crate::note::Note;
use crate::options::Options;
use crate::rewards::Judge;
use crate::settings::{self, Given, Setting, settings as rows};
use llm_core::base::{memory, with_causes};
use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::model::Footprint;
use llm_core::optim::OptimizerRow;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, Config, TinyGPT, message};

/// `--heads` where there is one.
pub fn check_heads(models: &Models, heads: Option<u64>) -> Result<()> {
    match (models.heads, heads) {
        (Heads::One { other }, Some(h)) if h != 1 => usage(message!(
            "{heads} {}: {} has one attention head; for more use {} {heads} {}",
            h,
            models.name,
            other,
            h
        )),
        _ => Ok(()),
    }
}

/// Flags that need something to watch; `measured`: there may be validation data.
pub(super) fn check_watches(options: &Options, measured: bool) -> Result<()> {
    if options.habits.patience.is_some() && !(measured && options.habits.eval_every != Some(0)) {
        return usage(message!("{patience} needs validation data and an {eval_every} above 0"));
    }
    if options.shard_optimizer == Some(true) && options.habits.save_opt == Some(true) {
        return usage(message!(
            "{save_opt} 1 keeps moments in `best`, which a divided optimizer cannot; leave \
                   it out, or {shard_optimizer}"
        ));
    }
    match options.habits.skip_spikes {
        Some(z) if !(z > 0.0 && z.is_finite()) => {
            usage(message!("{skip_spikes} {} is not a number above 0", z))
        }
        _ => Ok(()),
    }
}

/// Said where a place to save in is given, and nothing is saved.
pub(super) fn without_a_place(options: &Options) -> Option<Note> {
    let places = [("save", options.save.is_some()), ("out", options.out.is_some())];
    let (option, _) = places.into_iter().find(|(_, given)| *given)?;
    (options.no_save == Some(true)).then_some(Note::NoPlace { option })
}

/// Steps for `epochs` passes over `tokens`.
pub(super) fn steps_of(epochs: f64, tokens: usize, recipe: &Recipe) -> Result<u64> {
    if !(epochs > 0.0 && epochs.is_finite()) {
        return usage(message!("{epochs} {} is not a number above 0", epochs));
    }
    let per_step = recipe.tokens_per_step() as f64;
    // The cast saturates; what is too many is refused with the other settings.
    Ok((epochs * tokens as f64 / per_step).ceil() as u64)
}

/// What the program takes besides the model: its code, the threads' stacks, the data's window. In
/// WebAssembly all of that is elsewhere, or there already.
const BASE_MEMORY: u64 = if cfg!(target_arch = "wasm32") { 0 } else { 48 << 20 };

/// Estimated bytes of a training with this recipe, for one of those who work on it: of a model that is there
/// already, and on data with rows of these lengths, where that is known.
pub(super) fn training_memory(
    (config, attention): (&Config, &dyn Attention),
    recipe: &Recipe,
    optimizers: &[OptimizerRow],
    options: &Options,
    model: Option<&TinyGPT>,
    lengths: &[usize],
) -> Result<u64> {
    let footprint = recipe.footprint(config, attention, optimizers)?;
    let members = options.members.max(1) as u64;
    let micro_batches = (u64::from(recipe.accum) / members).max(1) as u32;
    let recompute = options.recompute == Some(true);
    let (adapter, halves) =
        (model.and_then(TinyGPT::adapter), model.map_or(0, TinyGPT::half_count));
    let footprint = Footprint { micro_batches, adapter, recompute, halves, ..footprint };
    let elsewhere = match options.shard_optimizer {
        Some(true) => footprint.optimizer() / members * (members - 1),
        _ => 0,
    };
    let group = match &*recipe.reward {
        "" => 1,
        Judge::PAIRS => 2,
        _ => recipe.group as usize,
    };
    let rows = recipe.batch_size.saturating_mul(group);
    let all = match lengths {
        [] => footprint.training(recipe.batch_size, recipe.seq_len),
        _ => footprint.training_of_lengths(rows, lengths.iter().copied()),
    };
    Ok(all.saturating_sub(elsewhere))
}

/// The note when hardly a conversation fits into a window: a model then learns beginnings and ends that no
/// question leads to.
pub(super) fn unfit(data: &Data, recipe: &Recipe) -> Option<Note> {
    let ChatFacts { count, longer, .. } = *data.chats.as_ref()?;
    let seq_len = recipe.seq_len;
    (10 * longer >= 9 * count).then_some(Note::LongChats { longer, count, seq_len })
}

/// The note when a learning-rate schedule was given, and the rate is constant.
pub(super) fn without_a_course(given: &Given, recipe: &Recipe) -> Option<Note> {
    let unused = |setting: &Setting| given.contains_key(setting.name) && !(setting.applies)(recipe);
    rows().any(unused).then_some(Note::NoCourse)
}

/// Refuses, before the first step, a run whose checkpoint could not be written afterwards.
pub(super) fn check_savable(trainer: &Trainer, tokenizer: &dyn Tokenizer) -> Result<()> {
    checkpoint::check_savable(trainer, &TokenizerSpec::of(tokenizer)).map_err(|e| match e {
        llm_core::Error::Checkpoint { source, .. } => {
            RunError::Usage(message!("this run could not be saved: {}", with_causes(&source)))
        }
        other => other.into(),
    })
}

pub(super) fn require(needed: u64) -> Result<()> {
    memory::require(needed.saturating_add(BASE_MEMORY))
        .map_err(|e| RunError::Memory(e, message!("{dmodel}, {layers}, {batch} or {seq}")))
}

/// Settings as the library names them, under the names of the options.
pub fn named_by_option(e: llm_core::Error) -> RunError {
    match e {
        llm_core::Error::Config { field, reason } => {
            let name = settings::of_field(field).map_or(field, |setting| setting.name);
            RunError::Usage(message!("{}: {}", option(name), reason))
        }
        other => other.into(),
    }
}
