//! Several trainings on the same data.

use super::checks::{check_savable, named_by_option, require, training_memory};
use super::files::TextFiles;
use super::fresh::{check_config, plan_epochs, settings};
use super::run::Plan;
use crate::data::Data;
use crate::defaults::TextDefaults;
use crate::error::Result;
use crate::models::{AttentionFlags, Models};
use crate::options::Options;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, Config, TinyGPT};
use std::sync::Arc;

/// What several trainings share. Between two of them it holds the data, and never a model.
#[derive(Debug)]
pub struct SharedData {
    data: Option<Data>,
    /// What tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    files: TextFiles,
    text: TextDefaults,
    /// How the data were cut.
    recipe: Recipe,
}

/// What is to be told of a training before it is made.
#[derive(Debug)]
pub struct SharedDecision {
    /// Sizes and options of the model.
    pub config: Config,
    /// How it learns.
    pub recipe: Recipe,
    /// Number of weights.
    pub parameters: u64,
    /// D.
    pub head_dim: usize,
}

/// A training that is decided, without its model.
struct Settled {
    config: Config,
    attention: Arc<dyn Attention>,
    described: AttentionFlags,
    recipe: Recipe,
    memory: u64,
}

impl SharedData {
    /// The data of this plan, whose model is let go.
    pub fn of(plan: Plan) -> SharedData {
        SharedData {
            data: plan.data,
            tokenizer: plan.tokenizer,
            files: plan.files,
            text: plan.text,
            recipe: plan.trainer.recipe,
        }
    }

    /// The data, while no training has them.
    pub fn data(&self) -> Option<&Data> {
        self.data.as_ref()
    }

    /// What a training with the settings of `options` is.
    ///
    /// # Errors
    /// What such a training is refused for.
    pub fn decided(&self, models: &Models, options: &Options) -> Result<SharedDecision> {
        match self.settled(models, options)? {
            Some(Settled { config, attention, recipe, .. }) => {
                let own = attention.parameters(&config);
                let parameters = recipe.footprint(&config, &own)?.parameter_count();
                let head_dim = attention.head_dim(&config);
                Ok(SharedDecision { config, recipe, parameters, head_dim })
            }
            None => Plan::new(models, options, &|_, _| ()).map(|plan| {
                let Trainer { model, recipe, .. } = plan.trainer;
                let head_dim = model.attention().head_dim(model.config());
                let (config, parameters) = (model.config().clone(), model.parameter_count());
                SharedDecision { config, recipe, parameters, head_dim }
            }),
        }
    }

    /// The plan of a training with the settings of `options`. It takes the data along, see
    /// [`SharedData::back`], unless it needs others: those are read again.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&mut self, models: &Models, options: &Options) -> Result<Plan> {
        let settled = self.settled(models, options)?;
        let Some(Settled { config, attention, described, recipe, memory }) = settled else {
            return Plan::new(models, options, &|_, _| ());
        };
        let model = TinyGPT::with_attention(config, attention, recipe.seed)?;
        let trainer = Trainer::new(model, recipe)?;
        check_savable(&trainer, self.tokenizer.as_ref())?;
        Ok(Plan {
            attention: described,
            steps: trainer.recipe.total_steps,
            sample_seed: trainer.recipe.seed,
            trainer,
            tokenizer: self.tokenizer.clone(),
            data: self.data.take(),
            files: self.files.clone(),
            loaded: None,
            notes: Vec::new(),
            memory,
            text: self.text,
        })
    }

    /// Takes the data back from a training that is done with them.
    pub fn back(&mut self, plan: Plan) {
        self.data = self.data.take().or(plan.data);
    }

    /// What the settings come to on these data; nothing where windows, or what is unseen, would be
    /// cut otherwise.
    fn settled(&self, models: &Models, options: &Options) -> Result<Option<Settled>> {
        let decided = settings(models, options)?;
        let (mut recipe, first) = (decided.recipe, &self.recipe);
        let same = recipe.seq_len == first.seq_len && recipe.val_frac == first.val_frac;
        let Some(data) = self.data.as_ref().filter(|_| same) else { return Ok(None) };
        let config = Config { vocab_size: self.tokenizer.vocab_size(), ..decided.config };
        (recipe.data, recipe.val_data) = (first.data.clone(), first.val_data.clone());
        check_config(&config, decided.attention.as_ref())?;
        plan_epochs(options, data.train.len(), &mut recipe)?;
        recipe.check().map_err(named_by_option)?;
        let (attention, described) = (decided.attention, decided.described);
        let memory = training_memory(&config, attention.as_ref(), &recipe, options)?;
        require(memory)?;
        Ok(Some(Settled { config, attention, described, recipe, memory }))
    }
}
