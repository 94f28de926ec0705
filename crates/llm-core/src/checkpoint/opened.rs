//! A checkpoint in memory, and the run that is made of it.

use super::adapter::{SavedAdapter, hex};
use super::limits::{Checked, unless};
use super::meta::Meta;
use super::state::State;
use crate::base::{CheckpointError, Error, Message, Result};
use crate::model::{
    Attention, AttentionSpec, Footprint, Pair, Param, ParamList, SingleHead, Start, TinyGPT,
    check_attention, parameter_list,
};
use crate::optim::{OptimizerRow, OptimizerState};
use crate::tensor::Tensor;
use crate::{counted, message};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checkpoint as it was read: checked in every respect, nothing installed yet.
///
/// ```
/// use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
/// use llm_core::model::SingleHead;
/// use llm_core::recipe::Recipe;
/// use llm_core::train::Trainer;
/// use llm_core::{Config, TinyGPT};
/// use std::sync::Arc;
///
/// let recipe = Recipe::new([2, 8], 10, 1e-3);
/// let trainer = Trainer::new(TinyGPT::new(Config::new(256, 8, 8, 1), 1)?, recipe)?;
/// let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("model.ckpt");
/// save(&path, &trainer, &TokenizerSpec::bytes(), true)?;
///
/// let checkpoint = Checkpoint::load(&path)?;
/// let attention = SingleHead::from_spec(&checkpoint.meta.attention)?;
/// let again = checkpoint.into_trainer(Arc::new(attention))?;
/// assert_eq!(again.model.wte.data(), trainer.model.wte.data());
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Everything but the tensors. A caller may change the recipe before
    /// [`into_trainer`](Checkpoint::into_trainer).
    pub meta: Meta,
    /// In the model's order.
    pub(super) parameters: Vec<(String, Tensor)>,
    /// Name and state of the saved optimizer.
    pub(super) optimizer: Option<(String, OptimizerState)>,
    pub(super) path: PathBuf,
    pub(super) adapter: Option<SavedAdapter>,
    /// A and B of the adapter, in the model's order.
    pub(super) pairs: Vec<(String, Tensor)>,
    /// The file that the weights under the adapter came from.
    pub(super) base_path: Option<PathBuf>,
    /// The optimizers that were known when the file was read.
    pub(crate) optimizers: &'static [OptimizerRow],
}

impl Checkpoint {
    /// Whether the optimizer was saved, so that training goes on exactly.
    pub fn has_optimizer(&self) -> bool {
        self.optimizer.is_some()
    }

    /// Number of single weights, without those of an adapter.
    pub fn parameter_count(&self) -> u64 {
        self.parameters.iter().map(|(_, p)| p.numel() as u64).sum()
    }

    /// The pairs of the adapter, each with the name of its matrix.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, Pair)> {
        let spec = self.meta.adapter.iter().flat_map(|spec| &spec.0);
        spec.filter_map(|(name, parts)| {
            let find = |kind: &str| {
                let own = |n: &str| n.strip_prefix(&**name).is_some_and(|rest| rest == kind);
                self.pairs.iter().find(|(n, _)| own(n)).map(|(_, p)| p.clone())
            };
            let (a, b) = (find(".lora_a")?, find(".lora_b")?);
            Some((name.as_str(), Pair { a, b, parts: parts.clone() }))
        })
    }

    /// The file of the weights under the adapter, and the beginning of their BLAKE3.
    pub fn base(&self) -> Option<(&Path, String)> {
        Some((self.base_path.as_deref()?, hex(&self.adapter.as_ref()?.base_blake3)))
    }

    /// Names and weights, in the order of [`TinyGPT::parameters`].
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.parameters.iter().map(|(name, p)| (name.as_str(), p))
    }

    /// The parameters of one block's attention, whatever attention it is. How they started is not in
    /// the file: every start is [`Start::Zero`].
    pub fn attention_parameters(&self) -> ParamList {
        let others = parameter_list(&self.meta.config, &Vec::new());
        let others: HashMap<String, Param> = others.into_iter().collect();
        let own = self.parameters.iter().filter(|(name, _)| !others.contains_key(name));
        let of_first = own.filter_map(|(name, p)| Some((name.strip_prefix("blocks.0.")?, p)));
        let param = |p: &Tensor| Param::new(p.shape().to_vec(), Start::Zero, p.role());
        of_first.map(|(name, p)| (name.to_string(), param(p))).collect()
    }

    /// What the memory of the run depends on, whatever attention it has.
    ///
    /// # Errors
    /// As [`Recipe::footprint`](crate::Recipe::footprint).
    pub fn footprint(&self) -> Result<Footprint<'_>> {
        let Meta { config, attention, recipe, .. } = &self.meta;
        let (kept, attention) = (attention.kept(config.d_model), self.attention_parameters());
        let adapter = self.meta.adapter.clone();
        let of = recipe.footprint(config, &SingleHead, self.optimizers)?;
        Ok(Footprint { attention, kept, adapter, ..of })
    }

    /// Builds what it holds. `attention` is what the caller made from `meta.attention`. Without a
    /// saved optimizer, or when the recipe was changed to name another one, the recipe's starts
    /// anew, with its count of updates at 0.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] when the attention is not the one in `meta`, or `meta` was changed so
    /// that it does not fit the weights; [`Error::Config`] when a changed setting is outside its
    /// range.
    pub fn into_state(self, attention: Arc<dyn Attention>) -> Result<State> {
        let Checkpoint { meta, parameters, optimizer, path, adapter, pairs, base_path, optimizers } =
            self;
        let Meta { config, attention: saved, adapter: _, tokenizer: _, recipe, step } = meta;
        if attention.spec() != saved {
            let (saved, given) = (describe(&saved), describe(&attention.spec()));
            let source = CheckpointError::Attention { saved, given };
            return Err(Error::Checkpoint { path, source });
        }
        config.check()?;
        check_attention(attention.as_ref(), &config)?;
        let expected = parameter_list(&config, &attention.parameters(&config));
        fits(expected, &parameters).map_err(|source| Error::Checkpoint { path, source })?;
        let mut model = TinyGPT::from_parameters(config, attention, parameters)?;
        if let (Some(SavedAdapter { spec, base_blake3, .. }), Some(file)) = (adapter, base_path) {
            model = model.with_pairs(&spec, pairs, base_blake3)?;
            model.set_base_file(&file);
        }
        recipe.check_with(optimizers)?;
        let mut fresh = recipe.make_optimizer(optimizers)?;
        if let Some((_, state)) = optimizer.filter(|(name, _)| *name == recipe.optimizer) {
            fresh.restore(state);
        }
        Ok(State { model, optimizer: fresh, recipe, step })
    }
}

/// Refuses parameters that are not those of that model.
fn fits(list: ParamList, loaded: &[(String, Tensor)]) -> Checked {
    let (actual, expected) = (loaded.len(), list.len());
    unless(actual == expected, CheckpointError::TensorCount { actual, expected })?;
    for ((tensor, Param { shape, .. }), (name, p)) in list.into_iter().zip(loaded) {
        if tensor != *name || shape != p.shape() {
            let found = format!("{name} {:?}", p.shape());
            let expected = format!("{tensor} {shape:?}");
            return Err(CheckpointError::Tensor { tensor, field: "shape", found, expected });
        }
    }
    Ok(())
}

/// An attention in a few words, its name escaped.
fn describe(spec: &AttentionSpec) -> Message {
    let off = spec.head_mask.iter().filter(|on| !**on).count();
    let off = (off > 0).then(|| message!("{} switched off", off));
    let own = spec.settings().unwrap_or_default();
    let own = own.iter().map(|(key, value)| Message::from(format!("{key} {value}")));
    let rest = off.into_iter().chain(own);
    let all = rest.fold(counted!(spec.n_heads, "head"), |all, one| message!("{}, {}", all, one));
    message!("{} attention ({})", spec.name.escape_default(), all)
}
