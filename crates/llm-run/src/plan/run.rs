//! What a plan is, and what it decided.

use super::files::TextFiles;
use super::loaded::Loaded;
use crate::data::{Data, Validation};
use crate::defaults::TextDefaults;
use crate::error::{Result, RunError};
use crate::folder::{Target, is_same};
use crate::note::Note;
use crate::options::Options;
use crate::rewards::Ground;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{AttentionSpec, Config, message};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that may begin.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Weights, moments, settings, step.
    pub trainer: Trainer,
    /// Steps to do now.
    pub steps: u64,
    /// What tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// The training data; absent when there is no training, and no probe asks for it.
    pub data: Option<Data>,
    /// What a run that learns from rewards, or from pairs, has in place of its data.
    pub ground: Ground,
    /// The text that shows what the model forgets, by its name.
    pub forget: Option<(String, Validation)>,
    /// Where the text comes from.
    pub files: TextFiles,
    /// The loaded file.
    pub loaded: Option<PathBuf>,
    /// Whether a new adapter, or rewards, begin on it, so that it is another run's.
    pub begins: bool,
    /// Settings that differ from the loaded run's, to be said.
    pub notes: Vec<Note>,
    /// Estimated memory, in bytes.
    pub memory: u64,
    /// Seed of generated text.
    pub sample_seed: u64,
    /// How text is written when nothing is said.
    pub text: TextDefaults,
}

/// What a plan decided, as far as settings can say it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<'a> {
    /// Where the text comes from.
    pub files: &'a TextFiles,
    /// Sizes and options of the model.
    pub config: &'a Config,
    /// Settings of the training.
    pub recipe: &'a Recipe,
    /// Attention of the model.
    pub attention: AttentionSpec,
    /// The tokenizer's name.
    pub tokenizer: &'a str,
    /// Steps to do now.
    pub steps: u64,
    /// Seed of generated text.
    pub sample_seed: u64,
}

impl From<Loaded> for Plan {
    /// A run as it was loaded, without data and with nothing to do.
    fn from(loaded: Loaded) -> Plan {
        let Loaded { run: trainer, tokenizer, .. } = loaded;
        Plan {
            steps: 0,
            tokenizer,
            data: None,
            ground: Ground::default(),
            forget: None,
            files: TextFiles::default(),
            loaded: None,
            begins: false,
            notes: Vec::new(),
            memory: 0,
            sample_seed: trainer.recipe.seed,
            text: TextDefaults::choose(None),
            trainer,
        }
    }
}

impl Plan {
    /// Bytes that weights and optimizer hold already, of those in [`Plan::memory`].
    pub fn held(&self) -> u64 {
        held(&self.trainer)
    }

    /// The file of the run that goes on.
    pub fn continued(&self) -> Option<&Path> {
        self.loaded.as_deref().filter(|_| !self.begins)
    }

    /// Whether it is the file of the weights under the adapter.
    fn is_base(&self, file: &Path) -> bool {
        let base = self.trainer.model.base().and_then(|(_, base)| base);
        base.is_some_and(|base| is_same(base, file))
    }

    /// What no model's loss can be below, where that is known: the stories' own entropy.
    pub fn floor(&self) -> Option<f64> {
        Some(self.data.as_ref()?.val.as_ref()?.stories.as_ref()?.floor)
    }

    /// What its settings say.
    pub fn decided(&self) -> Decided<'_> {
        Decided {
            files: &self.files,
            config: self.trainer.model.config(),
            recipe: &self.trainer.recipe,
            attention: self.trainer.model.attention().spec(),
            tokenizer: self.tokenizer.name(),
            steps: self.steps,
            sample_seed: self.sample_seed,
        }
    }

    /// Refuses, without making anything, what [`Plan::target`] would because of what is there.
    ///
    /// # Errors
    /// As [`Plan::target`].
    pub fn check_target(&self, options: &Options) -> Result<()> {
        let check = |dir: &PathBuf| Target::check_folder(dir, self.continued());
        options.out.as_ref().map_or(Ok(()), check)
    }

    /// Chooses, tries and locks the output. `None`: nothing will be saved.
    ///
    /// # Errors
    /// [`Create`](crate::RunError::Create), [`Busy`](crate::RunError::Busy).
    pub fn target(&self, options: &Options) -> Result<Option<Target>> {
        if options.no_save.unwrap_or(false) {
            return Ok(None);
        }
        match (&options.save, &options.out) {
            (Some(file), _) if self.is_base(file) => {
                let why = message!("it holds the weights under the adapter");
                Err(RunError::Create { path: file.clone(), why })
            }
            (Some(file), _) => Target::file(file, self.continued()).map(Some),
            (None, Some(dir)) => Target::folder(dir, self.continued()).map(Some),
            (None, None) if self.steps > 0 => match &options.load {
                // The folder of a run: it goes on there, with its log and its best state.
                Some(dir) if dir.is_dir() && !self.begins => {
                    Target::folder(dir, self.continued()).map(Some)
                }
                _ => Target::next_run().map(Some),
            },
            (None, None) => Ok(None),
        }
    }
}

/// Bytes of the weights and of what the optimizer remembers so far.
pub(super) fn held(trainer: &Trainer) -> u64 {
    let slots = trainer.optimizer.state().parameters.iter().flat_map(|of| &of.slots);
    let remembered: usize = slots.map(|slot| slot.len()).sum();
    let model = &trainer.model;
    let pairs = model.adapter().map_or(0, |_| model.trained_count());
    4 * (model.parameter_count() + pairs + remembered as u64) - 2 * model.half_count()
}
