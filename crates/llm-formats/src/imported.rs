//! A model from elsewhere, all of it checked.

use crate::error::{FormatError, Result, refuse};
use llm_core::base::Message;
use llm_core::checkpoint::TokenizerSpec;
use llm_core::model::{SingleHead, check_attention, parameter_list};
use llm_core::optim::{Hyperparameters, OptimizerState};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::{ByteTokenizer, IdsTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{Attention, AttentionSpec, Config, Tensor, TinyGPT, TokenId, message};
use std::fmt;
use std::sync::Arc;

/// The caller's way to make the attention that a file asks for: `SingleHead::from_spec` or a
/// variant's.
pub type FromSpec<'a> = dyn Fn(&AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> + 'a;

/// The name of attention with several heads in an [`AttentionSpec`]: what formats mean that give
/// a number of heads and nothing else.
pub(crate) const SEVERAL: &str = "multi-head";

/// The name of the attention of today's models in an [`AttentionSpec`]: rotary positions, grouped
/// queries, a window.
pub(crate) const MODERN: &str = "modern";

/// Tensors with their names.
pub(crate) type Tensors = Vec<(String, Tensor)>;

/// A model that was read, all of it checked.
#[derive(Debug)]
pub struct Imported {
    /// Sizes and options.
    pub config: Config,
    /// The attention, made.
    pub attention: Arc<dyn Attention>,
    /// Names and weights.
    pub parameters: Tensors,
    /// Meaning of the tokens.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Settings with which training would go on.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
    /// Updates done and moments, where they came along.
    pub optimizer: Option<OptimizerState>,
    /// Decisions that the reader should know of.
    pub notes: Vec<Note>,
}

impl Imported {
    /// A model without steps and moments, to be trained on by [`fine_tuning`]. Without a tokenizer its
    /// tokens are numbers.
    pub(crate) fn untrained(
        config: Config,
        attention: Arc<dyn Attention>,
        parameters: Tensors,
        tokenizer: Option<Arc<dyn Tokenizer>>,
        mut notes: Vec<Note>,
    ) -> Result<Imported> {
        notes.extend(tokenizer.is_none().then_some(Note::NoTokenizer));
        let tokenizer = match tokenizer {
            Some(tokenizer) => tokenizer,
            None => Arc::new(IdsTokenizer::new(config.vocab_size)?),
        };
        let (recipe, step, optimizer) = (fine_tuning(&config), 0, None);
        Ok(Imported { config, attention, parameters, tokenizer, recipe, step, optimizer, notes })
    }

    /// The model, and what its tokens mean.
    ///
    /// # Errors
    /// [`FormatError::Core`] when the parts do not fit together.
    pub fn into_model(self) -> Result<(TinyGPT, Arc<dyn Tokenizer>)> {
        let Imported { config, attention, parameters, tokenizer, .. } = self;
        Ok((TinyGPT::from_parameters(config, attention, parameters)?, tokenizer))
    }

    /// A run that has not begun here, and the tokenizer to be stored with it.
    ///
    /// # Errors
    /// [`FormatError::Core`] when the parts do not fit together.
    pub fn into_trainer(self) -> Result<(Trainer, TokenizerSpec)> {
        let Imported { config, attention, parameters, tokenizer, recipe, step, .. } = self;
        let tokenizer = TokenizerSpec::of(tokenizer.as_ref());
        let model = TinyGPT::from_parameters(config, attention, parameters)?;
        let mut trainer = Trainer::new(model, recipe)?;
        trainer.step = step;
        if let Some(state) = self.optimizer {
            trainer.optimizer.restore(state);
        }
        Ok((trainer, tokenizer))
    }
}

/// What was decided about a model because its files left it open, or cannot be held here.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// GPT-2's three dropout probabilities differ; there is one here, set to 0.
    UnequalDropouts {
        /// `embd_pdrop`.
        embd: f64,
        /// `attn_pdrop`.
        attn: f64,
        /// `resid_pdrop`.
        resid: f64,
    },
    /// Dropout is said of the attention alone; here it is everywhere or nowhere.
    AttentionDropout {
        /// `attention_dropout`.
        dropout: f64,
    },
    /// The model may read more positions than one here.
    LongContext {
        /// `max_position_embeddings`.
        said: usize,
    },
    /// Several tokens end a text; one does here.
    FurtherEnds {
        /// The token that is taken.
        end: TokenId,
    },
    /// The model's table has more rows than the vocabulary has tokens.
    FewerTokens {
        /// Tokens of the vocabulary.
        tokens: usize,
        /// Rows of the model's table.
        rows: usize,
    },
    /// There are no tokenizer files: tokens are numbers.
    NoTokenizer,
    /// The file has shapes and nothing else: what they leave open is as in the baseline.
    Undescribed,
    /// The number of heads was neither in the files nor given: one.
    HeadsUnknown,
    /// Weights were stored rounded: they are what was left of them.
    Rounded {
        /// Type that most weights were stored as.
        kind: &'static str,
    },
    /// The file has a chat template, which has no place here.
    ChatTemplate,
    /// Two files have a chat template, and not the same one.
    TwoTemplates,
    /// The file ends a text with a token that does not end one here.
    OtherEnd {
        /// Number of that token.
        token: u32,
    },
    /// An adapter of which nothing says which weights it learned on.
    BaseUnproven,
    /// An adapter that adds 0.
    NoChange,
}

impl Note {
    /// The sentence, for any language.
    pub fn message(self) -> Message {
        match self {
            Note::UnequalDropouts { embd, attn, resid } => message!(
                "embd_pdrop, attn_pdrop, resid_pdrop are {}, {} and {}, there is one here: training \
                 goes on without dropout",
                embd,
                attn,
                resid
            ),
            Note::AttentionDropout { dropout } => message!(
                "attention_dropout is {}, dropout is everywhere or nowhere here: training goes on \
                 without",
                dropout
            ),
            Note::LongContext { said } => {
                message!("max_position_embeddings is {}, {} are read here", said, Config::MAX_SEQ)
            }
            Note::FurtherEnds { end } => {
                message!("several tokens end a text: token {} is taken, the others are not", end)
            }
            Note::FewerTokens { tokens, rows } => message!(
                "the tokenizer has {} tokens, the model {}: the others stay, and stand for nothing",
                tokens,
                rows
            ),
            Note::NoTokenizer => message!(
                "no tokenizer files (tokenizer.json, or vocab.json and merges.txt): text is not \
                 understood"
            ),
            Note::Rounded { kind } => message!(
                "weights were stored rounded ({}): they go on from what is left of them",
                kind
            ),
            Note::ChatTemplate => message!("its chat template is not kept"),
            Note::TwoTemplates => message!(
                "chat_template.jinja is taken, not the other chat template in tokenizer_config.json"
            ),
            Note::OtherEnd { token } => message!(
                "it ends a text with token {}, which is a token like any other here",
                token
            ),
            Note::Undescribed => message!(
                "the file has no description of its model (tiny-gpt): taken for one with GELU, \
                 whose attention sees all that came before"
            ),
            Note::BaseUnproven => message!(
                "the base is not proven: its shapes fit, and nothing says which weights the adapter \
                 learned on"
            ),
            Note::NoChange => message!("the adapter changes nothing: every B is 0"),
            Note::HeadsUnknown => message!("the files do not say how many heads: read as one"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

/// The way in which a model from elsewhere is trained on, when nothing is said: small steps of an even size,
/// so that it does not forget, over windows that fit into memory. Nothing is planned yet.
pub fn fine_tuning(config: &Config) -> Recipe {
    let hyperparameters = Hyperparameters {
        beta1: 0.9,
        beta2: 0.99,
        weight_decay: 0.1,
        decay_all: false,
        ..Hyperparameters::default()
    };
    let windows = Recipe::new([4, config.seq_len.min(256)], 0, 5e-5);
    Recipe { hyperparameters, val_frac: 0.1, ..windows }
}

/// The attention with `n_heads` heads and nothing else.
pub(crate) fn several(n_heads: usize) -> AttentionSpec {
    AttentionSpec::new(if n_heads == 1 { SingleHead::NAME } else { SEVERAL }, n_heads)
}

/// A description without the widths that follow from others.
pub(crate) fn shortest(mut spec: AttentionSpec, d_model: usize) -> AttentionSpec {
    let width = spec.head_dim(d_model);
    if let Some(rotary) = &mut spec.rotary {
        rotary.width = rotary.width.filter(|turned| *turned != width);
    }
    spec.head_dim = spec.head_dim.filter(|d| d.checked_mul(spec.n_heads) != Some(d_model));
    spec
}

/// A model whose MLP has this width. The usual one is not written down, so that a model that says it is
/// one that does not.
pub(crate) fn with_inner(config: Config, inner: usize) -> Config {
    let n_inner = if inner == config.inner() { 0 } else { inner };
    Config { n_inner, ..config }
}

/// [`several`] as an attention.
pub(crate) fn heads(n_heads: usize, from_spec: &FromSpec<'_>) -> Result<Arc<dyn Attention>> {
    attention(several(n_heads), from_spec)
}

/// The attention of a description.
pub(crate) fn attention(spec: AttentionSpec, make: &FromSpec<'_>) -> Result<Arc<dyn Attention>> {
    make(&spec).map_err(|source| FormatError::Attention { spec: Box::new(spec), source })
}

/// `Err` unless the sizes are within their limits, and the attention fits them.
pub(crate) fn check(config: &Config, attention: &dyn Attention) -> Result<()> {
    config.check().map_err(FormatError::Refused)?;
    check_attention(attention, config).map_err(FormatError::Refused)?;
    let list = parameter_list(config, &attention.parameters(config));
    let count = list.iter().map(|(_, p)| p.numel()).fold(0, u64::saturating_add);
    if count > Config::MAX_PARAMETERS {
        let count = llm_core::base::thousands(count);
        return refuse(message!("{} parameters are more than this program takes", count));
    }
    Ok(())
}

/// The tokenizer of a model that does not name one: 256 tokens are bytes.
pub(crate) fn nameless(vocab_size: usize) -> Result<Arc<dyn Tokenizer>> {
    match vocab_size {
        ByteTokenizer::VOCAB_SIZE => Ok(Arc::new(ByteTokenizer)),
        other => Ok(Arc::new(IdsTokenizer::new(other)?)),
    }
}

/// A parameter from its elements.
pub(crate) fn parameter(shape: &[usize], values: Vec<f32>) -> Result<Tensor> {
    let array = llm_core::ndarray::ArrayD::from_shape_vec(shape, values)
        .map_err(|e| FormatError::content(e.to_string()))?;
    Ok(Tensor::parameter(array))
}
