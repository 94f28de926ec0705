//! One run: its trainer, its tokens, its data, and the moments of it that are remembered.

use crate::failure::{Code, Failure, Result, shown};
use llm_core::base::memory;
use llm_core::checkpoint::{Checkpoint, Snapshot, TokenizerSpec, to_bytes};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{Flow, Hooks, OneProcess, RunPlan, StepReport, Trainer};
use llm_core::{TinyGPT, TokenDataset, message};
use llm_gpu::Planned;
use llm_run::RunError;
use llm_run::data::{Data, Input, Slices};
use llm_run::models::{AttentionKind, BASELINE, Heads, Models};
use llm_run::plan::{Loaded, opened};
use llm_run::settings::ALL_OPTIONS;
use llm_stories::ToldStories;
use llm_variant_mha::{MultiHead, one_or_several};
use std::path::Path;
use std::sync::Arc;

/// The optimizer's state after many steps may be copied while a file is written.
const COPIES: u64 = 2;

/// The models of the page: the baseline's attention where there is one head.
pub const MODELS: Models = Models {
    name: "train-gpt-mha",
    heads: Heads::Many { default: 4 },
    attentions: &[AttentionKind::plain(MultiHead::NAME, one_or_several)],
    options: ALL_OPTIONS,
    ..BASELINE
};

/// One run.
#[derive(Debug)]
pub struct Run {
    /// Weights, optimizer, settings, step.
    pub trainer: Trainer,
    /// What its tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// What it learns from, once that is there.
    pub data: Option<Data>,
    /// Weights that are kept, by the step that they are of.
    pub moments: Vec<(u64, TinyGPT)>,
    /// A measurement that is not done.
    pub measuring: Option<Measuring>,
    /// The step of the run as a list, if the page has a GPU that makes steps.
    pub planned: Option<Planned>,
    /// The file that it came from, and whether that held the optimizer.
    pub origin: Option<(String, bool)>,
}

/// A measurement that may not be done. It is of the weights that were there when it began.
#[derive(Debug)]
pub struct Measuring {
    /// The step that the weights are of.
    pub step: u64,
    /// Most tokens, evenly spread; 0: all.
    pub tokens: usize,
    /// The weights being measured.
    pub model: TinyGPT,
    /// What is scored.
    pub slices: Slices,
}

/// What the steps of a run reported.
#[derive(Default)]
struct Reports(Vec<StepReport>);

impl Hooks for Reports {
    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> llm_core::Result<Flow> {
        self.0.push(*report);
        Ok(Flow::Continue(()))
    }
}

/// The training tokens of a run.
///
/// # Errors
/// [`Code::Data`] where they are not here.
pub fn training_tokens(data: Option<&Data>) -> Result<&TokenDataset> {
    let missing = || {
        let why =
            message!("this run's text is not here: give it the text that it has learned from");
        Failure::new(Code::Data, why)
    };
    data.map(|data| &data.train).ok_or_else(missing)
}

impl Run {
    /// One without data.
    pub fn new(trainer: Trainer, tokenizer: Arc<dyn Tokenizer>) -> Run {
        Run {
            trainer,
            tokenizer,
            data: None,
            moments: Vec::new(),
            measuring: None,
            planned: None,
            origin: None,
        }
    }

    /// The run in a checkpoint, without its data.
    ///
    /// # Errors
    /// [`Code::Checkpoint`] for a file that is invalid or damaged, [`Code::Attention`] for a model
    /// that is not made here, [`Code::Memory`].
    pub fn load(name: &str, file: &[u8]) -> Result<Run> {
        let name = if name.is_empty() { "model.ckpt".into() } else { shown(name) };
        let checkpoint = Checkpoint::from_bytes_with(&name, file, MODELS.optimizers)?;
        let spec = &checkpoint.meta.attention;
        if MODELS.from_spec(spec).is_err() {
            let other = spec.name.escape_default();
            let why = message!(
                "checkpoint '{}': '{}' attention, which is not made here; open it with \
                 train-gpt-modern",
                &name,
                other
            );
            return Err(Failure::new(Code::Attention, why));
        }
        let loaded = opened(&MODELS, Path::new(&name), checkpoint).map_err(|e| match e {
            RunError::Data(why) => Failure::new(Code::Checkpoint, why),
            other => other.into(),
        });
        let Loaded { run: trainer, tokenizer, has_optimizer } = loaded?;
        let Trainer { model, recipe, .. } = &trainer;
        let footprint =
            recipe.footprint(model.config(), model.attention().as_ref(), MODELS.optimizers)?;
        memory::require(footprint.training(recipe.batch_size, recipe.seq_len))?;
        Ok(Run { origin: Some((name, has_optimizer)), ..Run::new(trainer, tokenizer) })
    }

    /// Gives it what it learns from; stories that `told` holds are not generated again.
    ///
    /// # Errors
    /// [`Code::Data`] for a text that cannot be trained on, [`Code::Memory`].
    pub fn learns(&mut self, input: Input, told: &mut Option<ToldStories>) -> Result<()> {
        let recipe = &self.trainer.recipe;
        let data = Data::divided(input, recipe.val_frac, recipe.into(), &self.tokenizer, told)?;
        self.data = Some(data);
        self.measuring = None;
        Ok(())
    }

    /// The complete checkpoint of now.
    ///
    /// # Errors
    /// [`Code::Memory`]; [`Code::Checkpoint`] when a weight is not finite.
    pub fn save(&self, with_optimizer: bool) -> Result<Vec<u8>> {
        let floats = self.trainer.model.parameter_count() * if with_optimizer { 3 } else { 1 };
        memory::require(floats.saturating_mul(4 * COPIES))?;
        Ok(to_bytes(&self.trainer, &TokenizerSpec::of(&*self.tokenizer), with_optimizer)?)
    }

    /// Makes `n` steps, or those up to the last one.
    ///
    /// # Errors
    /// [`Code::Data`] without data; [`Code::Diverged`].
    pub fn step(&mut self, n: u64) -> Result<Vec<StepReport>> {
        let plan = RunPlan::new(self.left().min(n));
        let tokens = training_tokens(self.data.as_ref())?;
        let mut reports = Reports::default();
        self.trainer.run(tokens, &plan, &mut OneProcess, &mut reports)?;
        Ok(reports.0)
    }

    /// Steps up to the last one.
    pub fn left(&self) -> u64 {
        self.trainer.recipe.total_steps.saturating_sub(self.trainer.step)
    }

    /// The weights of a remembered moment, or of now.
    ///
    /// # Errors
    /// [`Code::Run`] when there is no such moment.
    pub fn model(&self, moment: Option<u64>) -> Result<&TinyGPT> {
        let Some(step) = moment else { return Ok(&self.trainer.model) };
        let found = self.moments.iter().find(|(of, _)| *of == step);
        let missing =
            || Failure::new(Code::Run, message!("no moment of step {} is remembered", step));
        found.map(|(_, model)| model).ok_or_else(missing)
    }

    /// Keeps the weights of now. The moment's name is its step.
    ///
    /// # Errors
    /// [`Code::Memory`].
    pub fn remember(&mut self) -> Result<u64> {
        let (step, model) = (self.trainer.step, &self.trainer.model);
        // The next update copies what is kept.
        memory::require(4 * model.parameter_count())?;
        self.moments.retain(|(of, _)| *of != step);
        self.moments.push((step, model.clone()));
        self.moments.sort_by_key(|(of, _)| *of);
        Ok(step)
    }

    /// Lets a remembered moment go.
    ///
    /// # Errors
    /// [`Code::Run`] when there is no such moment.
    pub fn forget(&mut self, moment: u64) -> Result<()> {
        self.model(Some(moment))?;
        self.moments.retain(|(of, _)| *of != moment);
        Ok(())
    }
}
