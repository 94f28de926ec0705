//! A model that stays as it is, and the adapter that learns beside it.

use super::initial::initial;
use super::tiny_gpt::Base;
use super::{Param, ParamList, Start, TinyGPT, parameter_list};
use crate::adapter::{Pair, Part};
use crate::base::{Error, Result};
use crate::message;
use crate::tensor::{Role, Tensor};
use std::collections::BTreeMap;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Which matrices of a model have a pair beside them: their names, and the parts of each.
///
/// ```
/// use llm_core::model::AdapterSpec;
/// use llm_core::{Config, TinyGPT};
/// let model = TinyGPT::new(Config::new(256, 64, 64, 2), 1)?;
/// let spec = AdapterSpec::uniform([("blocks.1.w_fc".into(), vec![256])], 4, 2.0);
/// let model = model.with_adapter(&spec, 1)?;
/// let names: Vec<String> = model.trained().map(|(name, _)| name).collect();
/// assert_eq!(names, ["blocks.1.w_fc.lora_a", "blocks.1.w_fc.lora_b"]);
/// assert!(!model.wte.wants_grad());
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdapterSpec(pub Vec<(String, Vec<Part>)>);

impl AdapterSpec {
    /// Largest rank.
    pub const MAX_RANK: usize = 1 << 14;

    /// Pairs of one rank and scale for these matrices, each with the columns of its parts.
    pub fn uniform(
        matrices: impl IntoIterator<Item = (String, Vec<usize>)>,
        rank: usize,
        scale: f32,
    ) -> AdapterSpec {
        let part = |columns| Part { columns, rank, scale };
        let parts =
            |(name, widths): (_, Vec<usize>)| (name, widths.into_iter().map(part).collect());
        AdapterSpec(matrices.into_iter().map(parts).collect())
    }

    /// Names, shapes and starts of every A and B, for a model with these parameters and in their order.
    /// A starts even over ±1/√K, B at 0: at first nothing is added.
    ///
    /// # Errors
    /// [`Error::Config`] naming a matrix outside the blocks, one that comes twice, or has other columns.
    pub fn parameters(&self, model: &ParamList) -> Result<ParamList> {
        let refused = |name: &str| message!("'{}' is no matrix of a block", name.escape_default());
        let mut wanted = BTreeMap::new();
        for (name, parts) in &self.0 {
            Error::unless(name.starts_with("blocks."), "adapter", refused(name))?;
            let reason = message!("'{}' has two pairs", name.escape_default());
            Error::unless(wanted.insert(name, parts).is_none(), "adapter", reason)?;
        }
        let mut list = ParamList::new();
        for (name, Param { shape, .. }) in model {
            let Some(parts) = wanted.remove(name) else { continue };
            let &[inputs, outputs] = &shape[..] else {
                return Err(Error::config("adapter", refused(name)));
            };
            let sum = |of: fn(&Part) -> usize| parts.iter().map(of).fold(0, usize::saturating_add);
            let (columns, ranks) = (sum(|p| p.columns), sum(|p| p.rank));
            let reason = message!("{} has {} columns, not {}", name, outputs, columns);
            Error::unless(columns == outputs, "adapter", reason)?;
            let rank = parts.iter().map(|p| p.rank).max().unwrap_or(0);
            let fits = (1..=AdapterSpec::MAX_RANK).contains(&rank) && parts.len() <= 3;
            let reason = message!("a rank of {} is outside 1..={}", rank, AdapterSpec::MAX_RANK);
            Error::unless(fits, "adapter", reason)?;
            let finite = parts.iter().all(|p| p.scale.is_finite());
            Error::unless(finite, "adapter", message!("a scale is not a finite number"))?;
            let a =
                Param::new(vec![inputs, ranks], Start::Uniform { fan_in: inputs }, Role::default());
            list.push((format!("{name}.lora_a"), a));
            let b = Param::new(vec![rank, outputs], Start::Zero, Role::default());
            list.push((format!("{name}.lora_b"), b));
        }
        let reason = message!("it has no matrix");
        Error::unless(!self.0.is_empty(), "adapter", reason)?;
        match wanted.first_key_value() {
            Some((name, _)) => Err(Error::config("adapter", refused(name))),
            None => Ok(list),
        }
    }
}

impl TinyGPT {
    /// The model with an adapter beside its matrices, drawn from `seed`, which learns in its place:
    /// every tensor of the model itself is frozen, and no gradient of it is computed.
    ///
    /// # Errors
    /// As [`AdapterSpec::parameters`]; [`Error::Config`] when the model has an adapter already, or an
    /// attention multiplies with one of the matrices by another way than
    /// [`linear_lastdim`](crate::ops::linear_lastdim): nothing would be added there.
    pub fn with_adapter(self, spec: &AdapterSpec, seed: u64) -> Result<TinyGPT> {
        let list = spec.parameters(&self.parameter_list())?;
        let config = self.config().clone();
        let draw = |(name, param): (String, Param)| {
            let value = initial(&config, seed, &name, &param);
            (name, value)
        };
        let blake3 = self.weights_blake3();
        self.with_pairs(spec, list.into_iter().map(draw).collect(), blake3)
    }

    /// [`TinyGPT::with_adapter`] with given numbers: one tensor for each name and shape of
    /// [`AdapterSpec::parameters`], in any order.
    ///
    /// # Errors
    /// As there; [`Error::Config`] when one is missing or unknown, [`Error::Shape`] when one has another
    /// shape.
    pub fn with_adapter_of(
        self,
        spec: &AdapterSpec,
        parameters: Vec<(String, Tensor)>,
    ) -> Result<TinyGPT> {
        let blake3 = self.weights_blake3();
        self.with_pairs(spec, parameters, blake3)
    }

    /// [`TinyGPT::with_adapter_of`] where the hash of the weights is known.
    pub(crate) fn with_pairs(
        mut self,
        spec: &AdapterSpec,
        parameters: Vec<(String, Tensor)>,
        blake3: [u8; 32],
    ) -> Result<TinyGPT> {
        let reason = message!("the model has one already; merge that first");
        Error::unless(self.base.is_none(), "adapter", reason)?;
        let list = spec.parameters(&self.parameter_list())?;
        let count = parameters.len();
        let mut given: BTreeMap<String, Tensor> = parameters.into_iter().collect();
        let reason = message!("{} tensors where there are {}", count, list.len());
        Error::unless(count == list.len() && given.len() == count, "adapter", reason)?;
        let mut take = |name: String, shape: &[usize]| {
            let missing = || Error::config("adapter", message!("'{}' is missing", &name));
            let tensor = given.remove(&name).ok_or_else(missing)?;
            let (want, got) = (format_args!("{name} {shape:?}"), tensor.shape());
            Error::unless_shaped(shape == got, "adapter", want, got)?;
            Ok(tensor.into_parameter(Role::default()))
        };
        let mut pairs = Vec::new();
        for two in list.chunks_exact(2) {
            let [(a, of_a), (b, of_b)] = two else { continue };
            let name = a.strip_suffix(".lora_a").unwrap_or(a).to_string();
            let parts = spec.0.iter().find(|(of, _)| *of == name).map(|(_, parts)| parts.clone());
            let (a, b) = (take(a.clone(), &of_a.shape)?, take(b.clone(), &of_b.shape)?);
            pairs.push((name, Pair { a, b, parts: parts.unwrap_or_default() }));
        }
        let mut pairs: BTreeMap<String, Pair> = pairs.into_iter().collect();
        let mut storage = Vec::new();
        for (name, tensor) in self.parameters_mut() {
            let frozen = tensor.detach();
            *tensor = match pairs.remove(&name) {
                Some(pair) => frozen.adapted(pair),
                None => frozen.clone(),
            };
            storage.push(frozen);
        }
        self.base = Some(Base { blake3, path: None, storage });
        self.check_pairs()?;
        Ok(self)
    }

    /// Refuses an adapter of which a part takes no part in what the model computes.
    fn check_pairs(&self) -> Result<()> {
        let grads = crate::ops::sum(&self.logits(&[0], [1, 1])?)?.backward()?;
        let idle = self.trained().find(|(_, p)| grads.get(p).is_none());
        let idle = idle.map_or(String::new(), |(name, _)| name);
        let reason = message!(
            "'{}' would not be used: its matrix is read by another way than an adapter's",
            &idle
        );
        Error::unless(idle.is_empty(), "adapter", reason)
    }

    /// Names, shapes and starts of the model's own parameters.
    fn parameter_list(&self) -> ParamList {
        parameter_list(self.config(), &self.attention().parameters(self.config()))
    }

    /// The adapter, if there is one.
    pub fn adapter(&self) -> Option<AdapterSpec> {
        self.base.as_ref()?;
        let pairs =
            self.parameters().filter_map(|(name, p)| Some((name, p.adapter()?.parts.clone())));
        Some(AdapterSpec(pairs.collect()))
    }

    /// The model in which the adapter, if there is one, has become part of the weights: the sums are made in
    /// f64 and rounded once. All weights can be trained.
    pub fn merged(mut self) -> TinyGPT {
        if self.base.take().is_some() {
            for (_, tensor) in self.parameters_mut() {
                tensor.widen();
                let role = tensor.role();
                let frozen = std::mem::replace(tensor, Tensor::new(Default::default()));
                *tensor = frozen.into_parameter(role);
            }
        }
        self
    }

    /// The model without its adapter, whose weights are shared and not copied: none of them learns.
    pub fn without_adapter(&self) -> TinyGPT {
        let mut model = self.clone();
        let frozen = model.base.take().map_or_else(Vec::new, |base| base.storage);
        for ((_, tensor), frozen) in model.parameters_mut().zip(frozen) {
            *tensor = frozen;
        }
        model
    }

    /// BLAKE3 of names, shapes and numbers of all weights in the model's order, without an adapter: two
    /// models with the same are the same, whatever files they come from.
    pub fn weights_blake3(&self) -> [u8; 32] {
        weights_blake3(self.parameters())
    }

    /// BLAKE3 of all that the model computes with: of its weights, and of an adapter's numbers where there is one.
    pub fn blake3(&self) -> [u8; 32] {
        let Some(Base { blake3, .. }) = &self.base else { return self.weights_blake3() };
        let mut hash = blake3::Hasher::new();
        hash.update(blake3).update(&weights_blake3(self.trained()));
        hash.finalize().into()
    }

    /// Numbers of frozen weights that are all bf16 and kept as such, in half the memory.
    pub fn half_count(&self) -> u64 {
        let halves = self.parameters().filter(|(_, p)| p.halves().is_some());
        halves.map(|(_, p)| p.numel() as u64).sum()
    }

    /// Hash and file of the frozen weights under an adapter.
    pub fn base(&self) -> Option<(&[u8; 32], Option<&Path>)> {
        self.base.as_ref().map(|base| (&base.blake3, base.path.as_deref()))
    }

    /// Says which file holds the frozen weights: a checkpoint of the adapter names it.
    pub fn set_base_file(&mut self, path: &Path) {
        if let Some(base) = &mut self.base {
            base.path = Some(path.into());
        }
    }

    /// Refuses a base of which a number was written to since the adapter came.
    ///
    /// # Errors
    /// [`Error::Config`] naming the parameter.
    pub fn check_base(&self) -> Result<()> {
        let Some(Base { storage, .. }) = &self.base else { return Ok(()) };
        let mut all = self.parameters().zip(storage);
        let other = all.find(|((_, p), kept)| p.wants_grad() || !p.shares_storage(kept));
        let name = other.map_or(String::new(), |((name, _), _)| name);
        let reason = message!("'{}' of the frozen weights was changed", &name);
        Error::unless(name.is_empty(), "adapter", reason)
    }
}

/// BLAKE3 of names, shapes and numbers of parameters.
pub(crate) fn weights_blake3<'p>(
    parameters: impl Iterator<Item = (impl AsRef<str>, &'p Tensor)>,
) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    let mut piece = vec![0; 1 << 16];
    for (name, p) in parameters {
        let name = name.as_ref();
        let head = [name.len(), p.rank()].into_iter().chain(p.shape().iter().copied());
        for n in head {
            hash.update(&(n as u64).to_le_bytes());
        }
        hash.update(name.as_bytes());
        for from in (0..p.numel()).step_by(piece.len() / 4) {
            let numbers = p.part(from..p.numel().min(from + piece.len() / 4));
            let bytes = &mut piece[..4 * numbers.len()];
            for (out, x) in bytes.as_chunks_mut().0.iter_mut().zip(&*numbers) {
                *out = x.to_le_bytes();
            }
            hash.update(bytes);
        }
    }
    hash.finalize().into()
}
