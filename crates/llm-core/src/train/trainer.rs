//! A run between two steps, and its next step.

use super::hooks::{Hooks, StepReport};
use super::step::{Update, train_step};
use super::work::{OneProcess, Work};
use crate::base::{Error, Result};
use crate::checkpoint::{Checkpoint, Snapshot, State};
use crate::crew::micro_batches;
use crate::data::TokenDataset;
use crate::kernels::gemm::within;
use crate::message;
use crate::model::{Attention, Config, TinyGPT};
use crate::optim::{OPTIMIZERS, Optimizer, OptimizerRow};
use crate::recipe::Recipe;
use std::ops::Range;
use std::sync::Arc;

/// A run between two steps: all that a checkpoint holds.
#[derive(Clone, Debug)]
pub struct Trainer {
    /// The weights.
    pub model: TinyGPT,
    /// The optimizer with its state.
    pub optimizer: Box<dyn Optimizer>,
    /// The settings.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
}

impl Trainer {
    /// A run at its start.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range.
    pub fn new(model: TinyGPT, recipe: Recipe) -> Result<Trainer> {
        Trainer::with_optimizers(model, recipe, OPTIMIZERS)
    }

    /// [`Trainer::new`] where the recipe names one of these optimizers.
    ///
    /// # Errors
    /// As [`Trainer::new`].
    pub fn with_optimizers(model: TinyGPT, recipe: Recipe, rows: &[OptimizerRow]) -> Result<Self> {
        recipe.check_with(rows)?;
        let most = model.config().seq_len;
        let reason = message!("longer than the model's context of {}", most);
        Error::unless(recipe.seq_len <= most, "seq_len", reason)?;
        let optimizer = recipe.make_optimizer(rows)?;
        let recipe = Recipe { optimizer_settings: optimizer.settings(), ..recipe };
        Ok(Trainer { model, optimizer, recipe, step: 0 })
    }

    /// The baseline at its start: single-head attention, weights drawn from the recipe's seed.
    ///
    /// # Errors
    /// As [`TinyGPT::new`] and [`Trainer::new`].
    pub fn fresh(config: Config, recipe: Recipe) -> Result<Trainer> {
        Trainer::new(TinyGPT::new(config, recipe.seed)?, recipe)
    }

    /// The next step. Its batches and learning rate are functions of the recipe and the step's
    /// number alone.
    ///
    /// # Errors
    /// [`Error::DataTooSmall`], [`Error::Diverged`], or [`Error::Io`] from data in files; then
    /// nothing has changed. [`Error::Unusable`] when the update ruined the weights.
    pub fn step(&mut self, data: &TokenDataset) -> Result<StepReport> {
        self.step_with(data, &mut OneProcess, &mut ())
    }

    /// [`Trainer::step`] by those who work, with hooks. A skipped step counts, but leaves weights and
    /// optimizer as they are.
    ///
    /// # Errors
    /// As [`Trainer::step`]; [`Error::Config`] where the run learns from rewards and `work` does not give any, or
    /// the other way round; [`Error::Stopped`] when a hook gave the step up, and the hook's own.
    pub fn step_with(
        &mut self,
        data: &TokenDataset,
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
    ) -> Result<StepReport> {
        let Trainer { model, optimizer, recipe, step } = self;
        let why = message!("the run learns from rewards, which nobody here gives");
        Error::unless(recipe.reward.is_empty() != work.rewards(), "reward", why)?;
        let (step, optimizer) = (*step, optimizer.as_mut());
        let all = u64::from(recipe.accum);
        let Range { start, end } = micro_batches(work.rank(), work.size(), all)?;
        let batches = (start as u32..end as u32).map(|micro| recipe.batch(data, step, micro));
        let update = Update { step, lr: recipe.schedule.at(step), clip: recipe.clip };
        let report =
            within(recipe.matmul, || train_step(model, optimizer, batches, update, work, hooks))?;
        self.step = report.step;
        Ok(report)
    }
}

impl<'a> From<&'a Trainer> for Snapshot<'a> {
    fn from(trainer: &'a Trainer) -> Snapshot<'a> {
        let Trainer { model, optimizer, recipe, step } = trainer;
        Snapshot { model, optimizer: optimizer.as_ref(), recipe, step: *step }
    }
}

impl Checkpoint {
    /// [`Checkpoint::into_state`] as a run that can go on.
    ///
    /// # Errors
    /// As [`Checkpoint::into_state`].
    pub fn into_trainer(self, attention: Arc<dyn Attention>) -> Result<Trainer> {
        let optimizers = self.optimizers;
        let State { model, optimizer, recipe, step } = self.into_state(attention)?;
        Ok(Trainer { optimizer, step, ..Trainer::with_optimizers(model, recipe, optimizers)? })
    }
}
