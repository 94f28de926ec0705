//! One run: its trainer, its tokens, its data, and the moments of it that are remembered.

use crate::data::{Data, shown};
use crate::failure::{Code, Failure, Result};
use crate::measure::Measuring;
use crate::memory::room;
use crate::recipe;
use crate::request::Make;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, to_bytes};
use llm_core::model::{SingleHead, check_attention};
use llm_core::recipe::DataSource;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{Attention, AttentionSpec, Config, Recipe, TinyGPT, message};
use llm_formats::tokenizers;
use llm_variant_mha::MultiHead;
use serde_json::{Value, json};
use std::sync::Arc;

/// The optimizer's state after many steps may be copied while a file is written.
const COPIES: u64 = 2;

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
    /// Where it came from.
    origin: Origin,
}

/// Where a run came from.
#[derive(Clone, Debug)]
enum Origin {
    Made,
    Loaded { name: String, has_optimizer: bool },
}

/// The attention of a new model: the baseline's where there is one head.
fn attention(heads: usize) -> Arc<dyn Attention> {
    if heads == 1 { Arc::new(SingleHead) } else { Arc::new(MultiHead::new(heads)) }
}

/// The one of a checkpoint.
fn attention_of(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    match SingleHead::from_spec(spec) {
        Ok(single) => Ok(Arc::new(single)),
        Err(_) => Ok(Arc::new(MultiHead::from_spec(spec)?)),
    }
}

/// Is there room to train such a model?
fn room_to_train(config: &Config, attention: &dyn Attention, recipe: &Recipe) -> Result<()> {
    let own = attention.parameters(config);
    room(recipe.footprint(config, &own)?.training(recipe.batch_size, recipe.seq_len))
}

impl Run {
    /// The settings of a run that is asked for, when they can be and there is room for it.
    ///
    /// # Errors
    /// [`Code::Setting`], [`Code::Memory`].
    pub fn settings(make: &Make, data: DataSource) -> Result<(Config, Recipe, usize)> {
        let (config, recipe) = recipe::settings(make, data)?;
        let heads = recipe::heads(make, &config);
        let attention = attention(heads);
        check_attention(attention.as_ref(), &config)?;
        room_to_train(&config, attention.as_ref(), &recipe)?;
        Ok((config, recipe, heads))
    }

    /// A run at its start.
    ///
    /// # Errors
    /// [`Code::Setting`].
    pub fn new((config, recipe, heads): (Config, Recipe, usize), data: Data) -> Result<Run> {
        let model = TinyGPT::with_attention(config, attention(heads), recipe.seed)?;
        let trainer = Trainer::new(model, recipe)?;
        let tokenizer = Arc::new(ByteTokenizer);
        let (moments, measuring) = (Vec::new(), None);
        Ok(Run { trainer, tokenizer, data: Some(data), moments, measuring, origin: Origin::Made })
    }

    /// The run in a checkpoint, without its data.
    ///
    /// # Errors
    /// [`Code::Checkpoint`] for a file that is none or damaged, [`Code::Attention`] for a model that
    /// is not made here, [`Code::Memory`].
    pub fn load(name: &str, file: &[u8]) -> Result<Run> {
        let name = match name {
            "" => "model.ckpt".into(),
            name => shown(name),
        };
        let checkpoint = Checkpoint::from_bytes(&name, file)?;
        let spec = checkpoint.meta.attention.clone();
        let attention = attention_of(&spec).map_err(|_| {
            let other = spec.name.escape_default();
            let why = message!(
                "checkpoint '{}': '{}' attention, which is not made here; open it with \
                 train-gpt-modern",
                &name,
                other
            );
            Failure::new(Code::Attention, why)
        })?;
        let meta = &checkpoint.meta;
        let tokenizer = tokenizers::from_spec(&meta.tokenizer).map_err(|e| match e {
            e @ llm_core::Error::Memory { .. } => e.into(),
            other => Failure::from(other).in_checkpoint(&name),
        })?;
        let tokenizer = tokenizers::fit(tokenizer, meta.config.vocab_size)
            .map_err(|e| Failure::from(e).in_checkpoint(&name))?;
        room_to_train(&meta.config, attention.as_ref(), &meta.recipe)?;
        let has_optimizer = checkpoint.has_optimizer();
        let trainer = checkpoint.into_trainer(attention)?;
        let origin = Origin::Loaded { name, has_optimizer };
        let (data, moments, measuring) = (None, Vec::new(), None);
        Ok(Run { trainer, tokenizer, data, moments, measuring, origin })
    }

    /// The complete checkpoint of now.
    ///
    /// # Errors
    /// [`Code::Memory`]; [`Code::Checkpoint`] when a weight is not finite.
    pub fn save(&self, with_optimizer: bool) -> Result<Vec<u8>> {
        let parameters = self.trainer.model.parameters().map(|(_, p)| p.numel() as u64);
        let floats = parameters.sum::<u64>() * if with_optimizer { 3 } else { 1 };
        room(floats.saturating_mul(4 * COPIES))?;
        Ok(to_bytes(&self.trainer, &TokenizerSpec::of(&*self.tokenizer), with_optimizer)?)
    }

    /// So many steps, or up to the last one: their losses.
    ///
    /// # Errors
    /// [`Code::Data`] without data; [`Code::Diverged`].
    pub fn step(&mut self, n: u64) -> Result<Vec<f32>> {
        let left = self.left().min(n);
        let Some(data) = &self.data else {
            let why =
                message!("this run's text is not here: give it the text that it has learnt from");
            return Err(Failure::new(Code::Data, why));
        };
        let losses = (0..left).map(|_| Ok(self.trainer.step(&data.train)?.loss));
        losses.collect()
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
        room(model.parameters().map(|(_, p)| 4 * p.numel() as u64).sum())?;
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

    /// What there is to say about it.
    pub fn describe(&self) -> Value {
        let Trainer { model, recipe, step, .. } = &self.trainer;
        let (config, spec) = (model.config(), model.attention().spec());
        let Origin::Loaded { name, has_optimizer } = &self.origin else {
            return self.described(config, &spec, recipe, *step);
        };
        let mut said = self.described(config, &spec, recipe, *step);
        said["name"] = json!(name);
        said["optimizer"] = json!(has_optimizer);
        said
    }

    fn described(
        &self,
        config: &Config,
        spec: &AttentionSpec,
        recipe: &Recipe,
        step: u64,
    ) -> Value {
        let parameters: usize = self.trainer.model.parameters().map(|(_, p)| p.numel()).sum();
        let source = match (&recipe.data, recipe.data == DataSource::NONE) {
            (_, true) => "none",
            (DataSource::Stories { .. }, _) => "stories",
            (DataSource::Files { .. }, _) => "text",
        };
        let gpt2 = config.tied_head && config.norm_affine;
        json!({
            "program": if spec.n_heads == 1 && spec.head_mask.is_empty() { "train-gpt" } else { "train-gpt-mha" },
            "attention": spec.name,
            "heads": spec.n_heads,
            "heads_off": spec.head_mask.iter().enumerate().filter(|(_, on)| !**on)
                .map(|(i, _)| [i / spec.n_heads.max(1), i % spec.n_heads.max(1)]).collect::<Vec<_>>(),
            "layers": config.n_layers,
            "width": config.d_model,
            "window": config.seq_len,
            "arch": if gpt2 { "gpt2" } else { "baseline" },
            "tokenizer": self.tokenizer.name(),
            "vocabulary": config.vocab_size,
            "parameters": parameters,
            "data": source,
            "has_data": self.data.is_some(),
            "train_tokens": self.data.as_ref().map_or(0, |data| data.train.len()),
            "validation_tokens": self.data.as_ref().map_or(0, |data| data.windows.tokens()),
            "opening": self.data.as_ref().and_then(Data::opening),
            "batch": recipe.batch_size,
            "train_window": recipe.seq_len,
            "rate": recipe.schedule.lr,
            "seed": recipe.seed,
            "step": step,
            "trained": step,
            "steps": recipe.total_steps,
            "tokens_per_step": recipe.tokens_per_step(),
        })
    }
}
