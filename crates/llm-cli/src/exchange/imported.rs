//! A model from elsewhere, made into a run that has not begun.

use super::Problem;
use crate::defaults::Defaults;
use crate::program::{Heads, Program};
use llm_core::checkpoint::TokenizerSpec;
use llm_core::optim::{AdamWConfig, Moments, Schedule};
use llm_core::recipe::{DataSource, Recipe};
use llm_core::tokenizer::{ByteTokenizer, IdsTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{AdamW, Attention, AttentionSpec, Config, Tensor, TinyGPT};
use std::sync::Arc;

/// What was read, all of it checked.
pub struct Imported {
    /// Sizes and options.
    pub config: Config,
    /// Its attention.
    pub attention: Arc<dyn Attention>,
    /// Names and weights.
    pub parameters: Vec<(String, Tensor)>,
    /// What its tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// How it would be trained on.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
    /// Updates done and moments, where they came along.
    pub optimizer: Option<(u64, Vec<Moments>)>,
    /// What the person should know.
    pub notes: Vec<String>,
}

impl Imported {
    /// The run, and the tokenizer to be stored with it.
    ///
    /// # Errors
    /// [`Problem::Core`] when the parts do not fit together.
    pub fn into_trainer(self) -> Result<(Trainer, TokenizerSpec), Problem> {
        let Imported { config, attention, parameters, tokenizer, recipe, step, .. } = self;
        let tokenizer = TokenizerSpec::of(tokenizer.as_ref());
        let model = TinyGPT::from_parameters(config, attention, parameters)?;
        let adamw = recipe.adamw;
        let mut trainer = Trainer::new(model, recipe)?;
        trainer.step = step;
        if let Some((t, moments)) = self.optimizer {
            trainer.optimizer = AdamW::with_state(adamw, t, moments)?;
        }
        Ok((trainer, tokenizer))
    }
}

/// How a model from elsewhere is trained on, when nothing is said: small steps of an even size,
/// so that it does not forget, over windows that fit into memory. Nothing is planned yet.
pub fn fine_tuning(config: &Config) -> Recipe {
    const LR: f32 = 5e-5;
    let Defaults { clip, weight_decay, decay_all, beta1, beta2, eps, val_frac, .. } =
        Defaults::choose(None, false);
    Recipe {
        batch_size: 4,
        accum: 1,
        seq_len: config.seq_len.min(256),
        total_steps: 0,
        schedule: Schedule::constant(LR),
        adamw: AdamWConfig { beta1, beta2, eps, weight_decay, decay_all },
        clip,
        seed: 1,
        val_frac,
        data: DataSource::NONE,
        val_data: None,
    }
}

/// The attention with so many heads.
pub(super) fn heads(program: &Program, n_heads: usize) -> Result<Arc<dyn Attention>, Problem> {
    match program.heads {
        Heads::One { other } if n_heads != 1 => Err(Problem::content(format!(
            "it has {n_heads} attention heads, which {} does not have; import it with {other}",
            program.name
        ))),
        _ => Ok((program.with_heads)(n_heads)),
    }
}

/// The attention of a description.
pub(super) fn attention(
    program: &Program,
    spec: &AttentionSpec,
) -> Result<Arc<dyn Attention>, Problem> {
    heads(program, spec.n_heads)?;
    (program.from_spec)(spec).map_err(|_| {
        let name = spec.name.escape_default();
        Problem::content(format!("it has {name} attention, which {} does not have", program.name))
    })
}

/// Are the sizes within their limits, and does the attention fit them?
pub(super) fn check(config: &Config, attention: &dyn Attention) -> Result<(), Problem> {
    let refused = |e: llm_core::Error| Problem::content(e.to_string());
    config.check().map_err(refused)?;
    if config.parameter_count() > Config::MAX_PARAMETERS {
        let count = llm_core::util::thousands(config.parameter_count());
        return Err(Problem::content(format!(
            "{count} parameters are more than this program takes"
        )));
    }
    attention.check(config).map_err(refused)
}

/// The tokenizer of a model that does not name one: 256 tokens are bytes.
pub(super) fn nameless(vocab_size: usize) -> Result<Arc<dyn Tokenizer>, Problem> {
    match vocab_size {
        ByteTokenizer::VOCAB_SIZE => Ok(Arc::new(ByteTokenizer)),
        other => Ok(Arc::new(IdsTokenizer::new(other)?)),
    }
}
