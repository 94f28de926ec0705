//! Options, checkpoint and data made into a run. Everything that can be refused is refused here,
//! before a step is taken or a byte written.

mod adapter;
mod apart;
mod beside;
mod checks;
mod data;
mod files;
mod fresh;
mod habits;
mod loaded;
mod resume;
mod rewarded;
mod run;

pub use apart::{Apart, load, load_beside, merged};
pub use beside::{SharedData, SharedDecision};
pub use checks::{check_heads, named_by_option};
pub use fresh::{Settings, fitted};

pub use data::{about_training_data, own_data, own_unseen};
pub use files::TextFiles;
pub use habits::with_habits;
pub use loaded::{Loaded, more_than_offered, opened, read_checkpoint};
pub use resume::{going_on, more_steps, taken_up};
pub use run::{Decided, Plan};

use crate::data::{Data, Input, Reading, Validation, check_about_files, one_stdin};
use crate::error::{Result, usage};
use crate::folder::to_load;
use crate::models::Models;
use crate::options::Options;
use crate::settings::whole;
use crate::tokenizers::Watching;
use checks::{check_savable, check_watches, without_a_place};
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_stories::ToldStories;
use std::path::Path;
use std::sync::Arc;

impl Plan {
    /// Makes the plan; `watch` is called with the progress of a vocabulary.
    ///
    /// # Errors
    /// Usage, data, checkpoint or memory errors, each naming the option or file.
    pub fn new(models: &Models, options: &Options, watch: &Watching<'_>) -> Result<Plan> {
        options.check_device()?;
        adapter::check(options)?;
        rewarded::check(options)?;
        if options.forget.is_some() && options.load.is_none() {
            let why =
                message!("{forget} measures what a trained model forgets: name it with {load}");
            return usage(why);
        }
        check_files_and_heads(models, options)?;
        let mut plan = match &options.load {
            None => fresh::plan(models, options, watch)?,
            Some(path) => resume::plan(models, options, &to_load(path)?)?,
        };
        plan.trainer.model.set_recompute(options.recompute == Some(true));
        check_savable(&plan.trainer, plan.tokenizer.as_ref())?;
        plan.forget = options.forget.as_ref().map(|file| to_forget(&plan, file)).transpose()?;
        plan.notes.extend(without_a_place(options));
        let unseen = plan.ground.pairs.as_ref().is_some_and(|pairs| pairs.unseen_count() > 0);
        let measured = plan.data.as_ref().is_none_or(|data| data.val.is_some() || unseen);
        check_watches(options, measured)?;
        Ok(plan)
    }
}

/// A new run on an input that is there already, see [`Data::divided`].
///
/// # Errors
/// As [`Plan::new`].
pub fn on_input(
    models: &Models,
    options: &Options,
    input: Input,
    tokenizer: Arc<dyn Tokenizer>,
    told: &mut Option<ToldStories>,
) -> Result<Plan> {
    let fitting = fresh::fitting(&input, options, &tokenizer)?;
    let options = fitting.as_ref().unwrap_or(options);
    let settings = fresh::settings(models, options)?;
    let settings = settings.on(options, tokenizer.vocab_size(), (input.source(), None))?;
    let recipe = &settings.recipe;
    let data = Data::divided(input, recipe.val_frac, recipe.into(), &tokenizer, told)?;
    settings.plan(options, data, tokenizer)
}

/// A text of the kind that the model knows, in windows as long as a step's rows.
fn to_forget(plan: &Plan, file: &Path) -> Result<(String, Validation)> {
    let (tokenizer, recipe) = (&plan.tokenizer, &plan.trainer.recipe);
    let reading = Reading::for_model(&**tokenizer, &DataSource::NONE, Some(DataForm::Text));
    let input = Input::files(&[file.into()], reading)?;
    Ok((file.display().to_string(), Data::whole(input, recipe.into(), tokenizer)?))
}

fn check_files_and_heads(models: &Models, options: &Options) -> Result<()> {
    check_heads(models, whole(&options.given, "heads"))?;
    check_about_files(&options.data, options.data_as, options.end_of_text)?;
    one_stdin(options.data.iter().chain(&options.val).chain(&options.forget))
}

/// The model of a new run before its first step, in tokens of a vocabulary if its size is known, without
/// data.
///
/// # Errors
/// What such a run is refused for.
pub fn untaught(models: &Models, options: &Options, vocab_size: Option<usize>) -> Result<Trainer> {
    check_files_and_heads(models, options)?;
    let settings = fresh::settings(models, options)?;
    let vocab_size = vocab_size.unwrap_or(settings.config.vocab_size);
    settings.on(options, vocab_size, (Input::stories().source(), None))?.trainer()
}

/// What is decided about a new run before anything is read or made, as if there were data of `tokens`
/// tokens to learn and some to judge by.
///
/// # Errors
/// What such a run is refused for.
pub fn check_options(models: &Models, options: &Options, tokens: usize) -> Result<Settings> {
    check_files_and_heads(models, options)?;
    let mut settings = fresh::settings(models, options)?;
    fresh::plan_epochs(options, tokens, &mut settings)?;
    check_watches(options, true)?;
    Ok(settings)
}
