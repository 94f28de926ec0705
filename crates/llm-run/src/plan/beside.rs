//! Several trainings on the same data.

use super::checks::check_savable;
use super::fresh::{Settings, plan_epochs, settings};
use super::loaded::load_on;
use super::run::Plan;
use crate::data::Data;
use crate::error::Result;
use crate::folder::to_load;
use crate::models::Models;
use crate::options::Options;
use llm_core::model::parameter_list;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, AttentionSpec, Config};
use std::path::Path;
use std::sync::Arc;

/// What several trainings share: the data, and never a model.
#[derive(Debug)]
pub struct SharedData {
    data: Option<Data>,
    /// What tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// How the data were cut.
    recipe: Recipe,
}

/// What is to be said of a training before it is made.
#[derive(Debug)]
pub struct SharedDecision {
    /// Sizes and options of the model.
    pub config: Config,
    /// How it learns.
    pub recipe: Recipe,
    /// Number of weights.
    pub parameters: u64,
    /// Number of weights of the blocks, without tables and the output head.
    pub block_parameters: u64,
    /// D.
    pub head_dim: usize,
    /// Attention of the model.
    pub attention: AttentionSpec,
}

fn in_blocks(config: &Config, attention: &dyn Attention) -> u64 {
    let all = parameter_list(config, &attention.parameters(config));
    all.iter().filter(|(name, _)| name.starts_with("blocks.")).map(|(_, p)| p.numel()).sum()
}

impl SharedData {
    /// The data of this plan, whose model is let go.
    pub fn of(plan: Plan) -> SharedData {
        SharedData { data: plan.data, tokenizer: plan.tokenizer, recipe: plan.trainer.recipe }
    }

    /// The data.
    pub fn data(&self) -> Option<&Data> {
        self.data.as_ref()
    }

    /// What a training with the settings of `options` is.
    ///
    /// # Errors
    /// What such a training is refused for.
    pub fn decided(&self, models: &Models, options: &Options) -> Result<SharedDecision> {
        match self.settled(models, options)? {
            Some((Settings { config, attention, recipe, .. }, _)) => {
                let footprint = recipe.footprint(&config, attention.as_ref(), models.optimizers)?;
                let parameters = footprint.parameter_count();
                let block_parameters = in_blocks(&config, attention.as_ref());
                let attention = attention.spec();
                let head_dim = attention.head_dim(config.d_model);
                Ok(SharedDecision {
                    config,
                    recipe,
                    parameters,
                    block_parameters,
                    head_dim,
                    attention,
                })
            }
            None => Plan::new(models, options, &|_, _| ()).map(|plan| {
                let Trainer { model, recipe, .. } = plan.trainer;
                let attention = model.attention().spec();
                let head_dim = attention.head_dim(model.config().d_model);
                let (config, parameters) = (model.config().clone(), model.parameter_count());
                let block_parameters = in_blocks(&config, model.attention().as_ref());
                SharedDecision { config, recipe, parameters, block_parameters, head_dim, attention }
            }),
        }
    }

    /// Whether a training with the settings of `options` needs other data.
    ///
    /// # Errors
    /// What such a training is refused for.
    pub fn reads_again(&self, models: &Models, options: &Options) -> Result<bool> {
        Ok(self.settled(models, options)?.is_none())
    }

    /// The plan of a training with the settings of `options`. It shares the data, unless it needs
    /// others: those are read again.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self, models: &Models, options: &Options) -> Result<Plan> {
        let Some((settings, data)) = self.settled(models, options)? else {
            return Plan::new(models, options, &|_, _| ());
        };
        let plan = settings.plan(options, data.clone(), self.tokenizer.clone())?;
        check_savable(&plan.trainer, self.tokenizer.as_ref())?;
        Ok(plan)
    }

    /// The plan of a training of these that was begun in a folder, and goes on from the checkpoint there with its
    /// own settings.
    ///
    /// # Errors
    /// As [`load`](super::load) and [`Plan::new`].
    pub fn go_on(&self, models: &Models, folder: &Path) -> Result<Plan> {
        let path = to_load(folder)?;
        let loaded = load_on(models, &path, None)?;
        let (recipe, first) = (&loaded.run.recipe, &self.recipe);
        if recipe.seq_len != first.seq_len || recipe.val_frac != first.val_frac {
            let options = Options { load: Some(folder.into()), reads: true, ..Options::default() };
            return Plan::new(models, &options, &|_, _| ());
        }
        let mut plan = Plan::from(loaded);
        plan.steps = plan.trainer.recipe.total_steps.saturating_sub(plan.trainer.step);
        (plan.data, plan.loaded) = (self.data.clone(), Some(path));
        Ok(plan)
    }

    /// What the settings come to on these data; nothing where windows, or what is unseen, would be
    /// cut otherwise.
    fn settled(&self, models: &Models, options: &Options) -> Result<Option<(Settings, &Data)>> {
        let decided = settings(models, options)?;
        let (recipe, first) = (&decided.recipe, &self.recipe);
        let same = recipe.seq_len == first.seq_len && recipe.val_frac == first.val_frac;
        let Some(data) = self.data.as_ref().filter(|_| same) else { return Ok(None) };
        let sources = (first.data.clone(), first.val_data.clone());
        let vocab_size = self.tokenizer.vocab_size();
        let mut settings = decided.on(options, vocab_size, sources)?;
        plan_epochs(options, data.train.len(), &mut settings)?;
        Ok(Some((settings, data)))
    }
}
