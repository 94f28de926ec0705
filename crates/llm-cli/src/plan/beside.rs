//! Another training on the data of one that is planned already.

use super::checks::{named_by_flag, require, training_memory};
use super::fresh::{check_config, plan_epochs, settings};
use super::run::Plan;
use crate::args::TrainArgs;
use crate::error::Result;
use crate::program::Program;
use llm_core::train::Trainer;
use llm_core::{Config, TinyGPT};

impl Plan {
    /// The plan of another new run: with the settings of `args`, on the same text. The data are
    /// taken out of this plan where they are the same for both, and else read again.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub(crate) fn beside(&mut self, program: &Program, args: &TrainArgs) -> Result<Plan> {
        let decided = settings(program, args)?;
        let mut recipe = decided.recipe;
        let old = &self.trainer.recipe;
        // Windows and what is unseen are cut when the data are read.
        let same = recipe.seq_len == old.seq_len && recipe.val_frac == old.val_frac;
        let Some(data) = self.data.take_if(|_| same) else { return Plan::new(program, args) };
        let config = Config { vocab_size: self.tokenizer.vocab_size(), ..decided.config };
        (recipe.data, recipe.val_data) = (old.data.clone(), old.val_data.clone());
        check_config(&config)?;
        plan_epochs(args, data.train.len(), &mut recipe)?;
        recipe.check().map_err(named_by_flag)?;
        let memory = training_memory(&config, decided.attention.as_ref(), &recipe)?;
        require(memory)?;
        let model = TinyGPT::with_attention(config, decided.attention, recipe.seed)?;
        Ok(Plan {
            steps: recipe.total_steps,
            sample_seed: recipe.seed,
            trainer: Trainer::new(model, recipe)?,
            tokenizer: self.tokenizer.clone(),
            data: Some(data),
            files: self.files.clone(),
            loaded: None,
            notes: Vec::new(),
            memory,
            probes: None,
            text: self.text,
        })
    }
}
