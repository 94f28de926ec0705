//! Flags, checkpoint and data made into a run. Everything that can be refused is refused here,
//! before a step is taken or a byte written.

mod beside;
mod checks;
mod data;
mod files;
mod fresh;
mod habits;
mod loaded;
mod resume;
mod run;

#[cfg(test)]
mod tests;

pub(crate) use beside::{SharedData, SharedDecision};
pub(crate) use checks::{check_heads_flag, named_by_flag};
#[cfg(any(test, fuzzing))]
pub(crate) use fresh::Settings;
pub(crate) use fresh::{largest_divisor, usual_heads};

pub(crate) use data::{about_learnt, own_data, own_unseen};
pub use files::TextFiles;
pub(crate) use habits::with_habits;
pub(crate) use loaded::more_than_offered;
pub use loaded::{Loaded, load};
pub use run::{Decided, Plan};

use crate::args::TrainArgs;
use crate::error::Result;
use crate::probes::Probes;
use crate::program::Program;
use checks::{check_savable, check_watches, without_a_place};
use llm_run::data::{check_about_files, one_stdin};
use llm_run::folder::to_load;

impl Plan {
    /// Makes the plan.
    ///
    /// # Errors
    /// Usage, data, checkpoint or memory errors, each naming the flag or file.
    pub fn new(program: &Program, args: &TrainArgs) -> Result<Plan> {
        check_heads_flag(program, args.heads)?;
        let (data_as, ends) = (args.data_as.map(Into::into), args.end_of_text.map(Into::into));
        check_about_files(&args.data, data_as, ends)?;
        one_stdin(args.data.iter().chain(&args.val))?;
        let mut plan = match &args.load {
            None => fresh::plan(program, args)?,
            Some(path) => resume::plan(program, args, &to_load(path)?)?,
        };
        check_savable(&plan.trainer, plan.tokenizer.as_ref())?;
        plan.notes.extend(without_a_place(args));
        if let Some(data) = &plan.data {
            let most = plan.trainer.model.config().seq_len;
            let (len, seq) = (data.train.len(), plan.trainer.recipe.seq_len);
            let (probes, seed) = (&args.probes, plan.sample_seed);
            plan.probes = Probes::new(probes, len, seq, most, seed, &plan.tokenizer)?;
        }
        check_watches(args, plan.data.as_ref().is_none_or(|data| data.val.is_some()))?;
        Ok(plan)
    }
}

/// What is decided about a new run before anything is read or made, as if there were data of 4000
/// tokens to learn and some to judge by, for the fuzz targets.
#[cfg(any(test, fuzzing))]
pub(crate) fn check_flags(program: &Program, args: &TrainArgs) -> Result<Settings> {
    const TOKENS: usize = 4000;
    check_heads_flag(program, args.heads)?;
    let (data_as, ends) = (args.data_as.map(Into::into), args.end_of_text.map(Into::into));
    check_about_files(&args.data, data_as, ends)?;
    one_stdin(args.data.iter().chain(&args.val))?;
    let mut settings = fresh::settings(program, args)?;
    fresh::plan_epochs(args, TOKENS, &mut settings.recipe)?;
    let seq_len = settings.config.seq_len;
    let tokenizer: std::sync::Arc<dyn llm_core::tokenizer::Tokenizer> =
        std::sync::Arc::new(llm_core::tokenizer::ByteTokenizer);
    Probes::new(&args.probes, TOKENS, seq_len, seq_len, 1, &tokenizer)?;
    check_watches(args, true)?;
    Ok(settings)
}
