//! The whole model: embeddings, blocks, final norm, output head.

use super::initial::initial;
use super::parameters::{Field, Given, Plan, Structure, parameters};
use super::{
    Attention, Block, Config, Param, ParamList, Positions, SingleHead, Start, check_attention,
};
use crate::adapter::Pair;
use crate::base::{Error, Result};
use crate::message;
use crate::tensor::{Role, Tensor};
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

/// A GPT: decoder-only, pre-norm, learned positions.
///
/// ```text
/// h = wte[tokens] + wpe[0..T]   (and the rows of n-grams, where there are tables of them)
/// h = h + attention(norm(h));  h = h + MLP(norm(h))      for each block
/// logits = norm(h)·w_lm + b_lm
/// ```
///
/// ```
/// use llm_core::{Config, TinyGPT};
/// let model = TinyGPT::new(Config::new(256, 64, 64, 1), 1)?;
/// let logits = model.logits(&[72, 105], [1, 2])?;
/// assert_eq!(logits.shape(), [1, 2, 256]);
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// Reference: Radford et al., "Language Models are Unsupervised Multitask Learners".
///
/// The parameters are fields, see [`Weights`]: `model.wte`, `model.blocks[0].w_fc`, ...
#[derive(Clone)]
pub struct TinyGPT {
    config: Config,
    attention: Arc<dyn Attention>,
    weights: Weights,
    /// Whether a step computes each block twice in place of keeping what is in it.
    pub(super) recompute: bool,
    /// What is frozen, with an adapter.
    pub(super) base: Option<Base>,
}

/// The frozen weights under an adapter.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) blake3: [u8; 32],
    /// The file that holds them.
    pub(super) path: Option<PathBuf>,
    /// Each with its storage: who writes to one gets a copy, so where a parameter still has it, its
    /// numbers are those of the hash.
    pub(super) storage: Vec<Tensor>,
}

parameters! {
    /// The parameters of a model. Field names are checkpoint keys.
    pub struct Weights(plan) {
        /// `[V, C]`: a row for every token.
        wte: Tensor = Param::table([plan.config.vocab_size, plan.config.d_model]).sensitive(),
        /// `[R, C]`, only with [`Config::ngrams`]: rows for the last n tokens, starting at 0.
        ngrams: Option<Tensor> = (!plan.config.ngrams.is_empty()).then(|| {
            let shape = vec![plan.config.all_ngram_rows(), plan.config.d_model];
            Param::new(shape, Start::Zero, Role::Table)
        }),
        /// `[seq_len, C]`, only with learned positions: a row for every position.
        wpe: Option<Tensor> = (plan.config.positions == Positions::Learned)
            .then(|| Param::table([plan.config.seq_len, plan.config.d_model])),
        /// L blocks.
        blocks: Vec<Block> = plan.config.n_layers,
        /// `[C]`, only with `norm_affine`: gain of the final norm.
        lnf_g: Option<Tensor> = plan.config.norm_affine.then(|| Param::gain(plan.config.d_model)),
        /// `[C]`, only with `norm_affine` where the norm has a bias.
        lnf_b: Option<Tensor> = plan.config.norm_bias().then(|| Param::bias(plan.config.d_model)),
        /// `[C, V]`, absent with `tied_head`: the output head, from which every token's score comes.
        w_lm: Option<Tensor> = (!plan.config.tied_head)
            .then(|| Param::head([plan.config.d_model, plan.config.vocab_size]).sensitive()),
        /// `[V]`, only with `head_bias`.
        b_lm: Option<Tensor> = plan.config.head_bias.then(|| Param::bias(plan.config.vocab_size)),
    }
}

/// All parameters of a model with their names, shapes and starts, in the order of the equations.
/// `attention` lists those of a block's attention, see [`Attention::parameters`].
pub fn parameter_list(config: &Config, attention: &ParamList) -> ParamList {
    let mut list = ParamList::new();
    Weights::describe(&Plan { config, attention }, "", &mut list);
    list
}

/// Names and shapes of [`parameter_list`] with single-head or multi-head attention.
pub fn parameter_shapes(config: &Config) -> Vec<(String, Vec<usize>)> {
    let list = parameter_list(config, &SingleHead.parameters(config));
    list.into_iter().map(|(name, p)| (name, p.shape)).collect()
}

impl Deref for TinyGPT {
    type Target = Weights;

    fn deref(&self) -> &Weights {
        &self.weights
    }
}

impl DerefMut for TinyGPT {
    fn deref_mut(&mut self) -> &mut Weights {
        &mut self.weights
    }
}

/// The settings; the parameters' numbers would fill pages.
impl fmt::Debug for TinyGPT {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("TinyGPT");
        let fields = fields.field("config", &self.config).field("attention", &self.attention);
        fields.finish_non_exhaustive()
    }
}

impl TinyGPT {
    /// The baseline: single-head attention, weights drawn from `seed`.
    ///
    /// # Errors
    /// [`Error::Config`] when a size is outside its limits.
    pub fn new(config: Config, seed: u64) -> Result<TinyGPT> {
        TinyGPT::with_attention(config, Arc::new(SingleHead), seed)
    }

    /// The model with any other attention. Equal seeds give equal weights for every attention.
    ///
    /// # Errors
    /// [`Error::Config`] when a size is outside its limits or the attention does not fit.
    pub fn with_attention(
        config: Config,
        attention: Arc<dyn Attention>,
        seed: u64,
    ) -> Result<Self> {
        config.check()?;
        check_attention(attention.as_ref(), &config)?;
        let list = parameter_list(&config, &attention.parameters(&config));
        let draw = |(name, param): (String, Param)| {
            let value = initial(&config, seed, &name, &param);
            (name, value)
        };
        let parameters = list.into_iter().map(draw).collect();
        TinyGPT::from_parameters(config, attention, parameters)
    }

    /// A model with given weights, for example those of a file: one tensor for each name and shape
    /// of [`parameter_list`], in any order. All are trained, constants and results of ops too, of
    /// which the values are taken.
    ///
    /// # Errors
    /// [`Error::Config`] when a size is outside its limits, the attention does not fit, or a
    /// parameter is missing or unknown; [`Error::Shape`] when one has another shape.
    pub fn from_parameters(
        config: Config,
        attention: Arc<dyn Attention>,
        parameters: Vec<(String, Tensor)>,
    ) -> Result<TinyGPT> {
        config.check()?;
        check_attention(attention.as_ref(), &config)?;
        let own = attention.parameters(&config);
        let all = parameter_list(&config, &own);
        let count = all.len();
        let list: HashMap<String, Param> = all.into_iter().collect();
        let reason = message!("two are of one name; an attention's must not be those of its block");
        Error::unless(list.len() == count, "parameters", reason)?;
        for (name, p) in &parameters {
            let unknown = || message!("'{}' is not one of them", name.escape_default());
            let param = list.get(name).ok_or_else(|| Error::config("parameters", unknown()))?;
            let (want, got) = (&param.shape, p.shape());
            Error::unless_shaped(want == got, "model", format_args!("{name} {want:?}"), got)?;
        }
        let plan = Plan { config: &config, attention: &own };
        let weights = Weights::take(&plan, "", &mut Given(parameters.into_iter().collect()))?;
        Ok(TinyGPT { config, attention, weights, recompute: false, base: None })
    }

    /// The sizes and options.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Trains on with another probability of dropout.
    ///
    /// # Errors
    /// [`Error::Config`] when it is outside 0..1; the old one then stays.
    pub fn set_dropout(&mut self, dropout: f32) -> Result<()> {
        let config = Config { dropout, ..self.config.clone() };
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// Whether a step keeps only what goes into each block, and computes the block again on the way back:
    /// less memory and more time for the same bits.
    pub fn set_recompute(&mut self, recompute: bool) {
        self.recompute = recompute;
    }

    /// The attention in use.
    pub fn attention(&self) -> &Arc<dyn Attention> {
        &self.attention
    }

    /// The model's parameters, shared and not copied, behind another attention: for example with some
    /// heads switched off.
    ///
    /// # Errors
    /// [`Error::Config`] when the attention does not fit the model.
    pub fn attending_with(&self, attention: Arc<dyn Attention>) -> Result<TinyGPT> {
        check_attention(attention.as_ref(), &self.config)?;
        let [given, own] = [&attention, &self.attention].map(|a| a.parameters(&self.config));
        let reason = message!("it has other parameters than the model's attention");
        Error::unless(given == own, "attention", reason)?;
        Ok(TinyGPT { attention, ..self.clone() })
    }

    /// All parameters with their names, in the order of the equations.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let mut list = Vec::new();
        self.weights.list("", &mut list);
        list.into_iter()
    }

    /// [`TinyGPT::parameters`], for changing them.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = (String, &mut Tensor)> {
        let mut list = Vec::new();
        self.weights.list_mut("", &mut list);
        list.into_iter()
    }

    /// The parameters that a step moves, and an optimizer remembers something of: all of them, or the
    /// matrices of an [adapter](TinyGPT::with_adapter).
    pub fn trained(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let mut list: Vec<(String, &Tensor)> = self.parameters().collect();
        if self.base.is_some() {
            let pairs = list.into_iter().filter_map(|(name, p)| Some((name, p.adapter()?)));
            list = pairs.flat_map(|(name, Pair { a, b, .. })| named(&name, [a, b])).collect();
        }
        list.into_iter()
    }

    /// [`TinyGPT::trained`], for changing them.
    pub fn trained_mut(&mut self) -> impl Iterator<Item = (String, &mut Tensor)> {
        let adapted = self.base.is_some();
        let mut list: Vec<(String, &mut Tensor)> = self.parameters_mut().collect();
        if adapted {
            let pairs = list.into_iter().filter_map(|(name, p)| Some((name, p.adapter_mut()?)));
            list = pairs.flat_map(|(name, Pair { a, b, .. })| named(&name, [a, b])).collect();
        }
        list.into_iter()
    }

    /// Number of single weights, without those of an adapter.
    pub fn parameter_count(&self) -> u64 {
        self.parameters().map(|(_, p)| p.numel() as u64).sum()
    }

    /// Number of single weights that learn.
    pub fn trained_count(&self) -> u64 {
        self.trained().map(|(_, p)| p.numel() as u64).sum()
    }
}

/// A and B of a matrix with their names.
fn named<T>(of: &str, [a, b]: [T; 2]) -> [(String, T); 2] {
    [(format!("{of}.lora_a"), a), (format!("{of}.lora_b"), b)]
}

#[cfg(test)]
mod tests;
