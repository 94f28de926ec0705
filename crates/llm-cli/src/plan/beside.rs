//! Several trainings on the same data.

use super::checks::{check_savable, named_by_flag, require, training_memory};
use super::files::TextFiles;
use super::fresh::{check_config, plan_epochs, settings};
use super::run::Plan;
use crate::args::TrainArgs;
use crate::error::Result;
use crate::program::{AttentionFlags, Program};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, Config, TinyGPT};
use llm_run::data::Data;
use llm_run::defaults::TextDefaults;
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
pub(crate) struct SharedDecision {
    pub(crate) config: Config,
    pub(crate) recipe: Recipe,
    /// Number of weights.
    pub(crate) parameters: u64,
    /// D.
    pub(crate) head_dim: usize,
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
    pub(crate) fn of(plan: Plan) -> SharedData {
        SharedData {
            data: plan.data,
            tokenizer: plan.tokenizer,
            files: plan.files,
            text: plan.text,
            recipe: plan.trainer.recipe,
        }
    }

    /// The data, while no training has them.
    pub(crate) fn data(&self) -> Option<&Data> {
        self.data.as_ref()
    }

    /// What a training with the settings of `args` is.
    ///
    /// # Errors
    /// What such a training is refused for.
    pub(crate) fn decided(&self, program: &Program, args: &TrainArgs) -> Result<SharedDecision> {
        match self.settled(program, args)? {
            Some(Settled { config, attention, recipe, .. }) => {
                let own = attention.parameters(&config);
                let parameters = recipe.footprint(&config, &own)?.parameter_count();
                let head_dim = attention.head_dim(&config);
                Ok(SharedDecision { config, recipe, parameters, head_dim })
            }
            None => Plan::new(program, args).map(|plan| {
                let Trainer { model, recipe, .. } = plan.trainer;
                let head_dim = model.attention().head_dim(model.config());
                let (config, parameters) = (model.config().clone(), model.parameter_count());
                SharedDecision { config, recipe, parameters, head_dim }
            }),
        }
    }

    /// The plan of a training with the settings of `args`. It takes the data along, see
    /// [`SharedData::back`], unless it needs others: those are read again.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn plan(&mut self, program: &Program, args: &TrainArgs) -> Result<Plan> {
        let settled = self.settled(program, args)?;
        let Some(Settled { config, attention, described, recipe, memory }) = settled else {
            return Plan::new(program, args);
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
            probes: None,
            text: self.text,
        })
    }

    /// Takes the data back from a training that is done with them.
    pub(crate) fn back(&mut self, plan: Plan) {
        self.data = self.data.take().or(plan.data);
    }

    /// What the settings come to on these data; nothing where windows, or what is unseen, would be
    /// cut otherwise.
    fn settled(&self, program: &Program, args: &TrainArgs) -> Result<Option<Settled>> {
        let decided = settings(program, args)?;
        let (mut recipe, first) = (decided.recipe, &self.recipe);
        let same = recipe.seq_len == first.seq_len && recipe.val_frac == first.val_frac;
        let Some(data) = self.data.as_ref().filter(|_| same) else { return Ok(None) };
        let config = Config { vocab_size: self.tokenizer.vocab_size(), ..decided.config };
        (recipe.data, recipe.val_data) = (first.data.clone(), first.val_data.clone());
        check_config(&config, decided.attention.as_ref())?;
        plan_epochs(args, data.train.len(), &mut recipe)?;
        recipe.check().map_err(named_by_flag)?;
        let (attention, described) = (decided.attention, decided.described);
        let memory = training_memory(&config, attention.as_ref(), &recipe, &args.crew)?;
        require(memory)?;
        Ok(Some(Settled { config, attention, described, recipe, memory }))
    }
}
