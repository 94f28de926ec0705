//! Parameters and memory of a model, worked out from its settings alone.

use crate::flops::AttentionCost;
use llm_core::model::{Footprint, ParamList, SingleHead, parameter_list};
use llm_core::settings::{MODEL, Row};
use llm_core::{Attention, AttentionSpec, Config, Result};
use serde::Serialize;

/// What there is to know about a model without running it.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// V, T, C, L.
    pub sizes: [usize; 4],
    /// H: heads of queries.
    pub n_heads: usize,
    /// D: channels of a head, C/H unless the attention says otherwise.
    pub head_dim: usize,
    /// Settings of model and attention that are not the baseline's.
    pub beyond: Vec<Beyond>,
    /// Heads that are switched off.
    pub heads_off: usize,
    /// Every tensor, in the model's order.
    pub tensors: Vec<TensorRow>,
    /// Numbers in all.
    pub parameters: u64,
    /// Numbers in all, biases left out.
    pub without_biases: u64,
    /// Weights of one block's attention: 4·C² for one head and for several.
    pub attention_weights: u64,
    /// Biases of one block's attention: 4·C.
    pub attention_biases: u64,
    /// Bytes of a training run.
    pub memory: Memory,
    /// Windows in its batches, and their length.
    pub batch: [usize; 2],
    /// One block's attention with one head, and with as many as the model has or could have. Empty
    /// for an attention with tensors of its own: what it costs is not known here.
    pub attention: Vec<AttentionCost>,
}

/// A setting that is not the baseline's.
#[derive(Clone, Debug, Serialize)]
pub struct Beyond {
    /// Name of a model's setting that neither sizes nor tensors show; `attention.` and a key of
    /// [`AttentionSpec::settings`].
    pub setting: String,
    /// The setting's value.
    pub value: String,
}

/// A tensor.
#[derive(Clone, Debug, Serialize)]
pub struct TensorRow {
    /// The name in checkpoints.
    pub name: String,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// Numbers in it.
    pub count: u64,
    /// Share of all parameters, 0..=1.
    pub share: f64,
}

/// Bytes that training takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// Weights: four for each parameter, an adapter's too.
    pub weights: u64,
    /// Gradients: as much as the weights that learn, and as much again for each group of micro-batches that waits for its sum.
    pub gradients: u64,
    /// What the optimizer keeps: two numbers for each parameter that learns with AdamW.
    pub moments: u64,
    /// What a batch leaves for backward, by the estimate that training is refused by.
    pub activations: u64,
}

impl Memory {
    /// All four together.
    pub fn total(&self) -> u64 {
        let parts = [self.weights, self.gradients, self.moments, self.activations];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl ModelReport {
    /// The report of a model and its optimizer, in training with `[B, T]` batches. `compared` is the
    /// number of heads that one head is held against.
    ///
    /// # Errors
    /// As [`AttentionSpec::settings`].
    pub fn new(
        footprint: Footprint<'_>,
        spec: &AttentionSpec,
        batch: [usize; 2],
        compared: usize,
    ) -> Result<ModelReport> {
        let Footprint { config, attention: ref own, .. } = footprint;
        let mut beyond = beyond(config);
        beyond.extend(spec.settings()?.iter().map(|(key, value)| Beyond {
            setting: format!("attention.{key}"),
            value: value.to_string(),
        }));
        let parameters = footprint.parameter_count();
        let row = |name: &str, shape: &[usize]| {
            let count = shape.iter().map(|&n| n as u64).product();
            let share = count as f64 / parameters.max(1) as f64;
            TensorRow { name: name.into(), shape: shape.into(), count, share }
        };
        let list = parameter_list(config, own);
        let tensors: Vec<_> = list.iter().map(|(name, p)| row(name, &p.shape)).collect();
        let biases = |rows: &[TensorRow]| -> u64 {
            rows.iter().filter(|t| t.is_bias()).map(|t| t.count).sum()
        };
        let of_attention: Vec<_> = own.iter().map(|(name, p)| row(name, &p.shape)).collect();
        let attention_biases = biases(&of_attention);
        let learn = footprint.trained_count();
        let weights = 4 * (parameters + if footprint.adapter.is_some() { learn } else { 0 });
        let gradients = 4 * learn * u64::from(1 + footprint.kept_gradients());
        let moments = footprint.optimizer();
        let all = footprint.training(batch[0], batch[1]);
        let cost = |heads| AttentionCost::new(batch[1], config.d_model, heads);
        let is_counted = is_standard(config, own) && spec.only(COUNTED).is_ok();
        let counts = match is_counted {
            true if compared > 1 => vec![1, compared],
            true => vec![1],
            false => Vec::new(),
        };
        Ok(ModelReport {
            sizes: [config.vocab_size, config.seq_len, config.d_model, config.n_layers],
            n_heads: spec.n_heads,
            head_dim: spec.head_dim(config.d_model),
            beyond,
            heads_off: spec.head_mask.iter().filter(|on| !**on).count(),
            without_biases: parameters - biases(&tensors),
            parameters,
            attention_weights: of_attention.iter().map(|t| t.count).sum::<u64>() - attention_biases,
            attention_biases,
            memory: Memory {
                weights,
                gradients,
                moments,
                activations: all.saturating_sub(weights + gradients + moments),
            },
            batch,
            attention: counts.into_iter().map(cost).collect(),
            tensors,
        })
    }
}

/// Settings that leave the count over the whole `[T, T]` square what it is.
const COUNTED: &[&str] = &["rotary", "window", "soft_cap", "head_mask"];

/// Settings that sizes and tensors show, or that only training has.
const SHOWN: &[&str] = &[
    "vocab_size",
    "seq_len",
    "d_model",
    "n_layers",
    "norm_affine",
    "tied_head",
    "head_bias",
    "n_inner",
    "init",
    "dropout",
];

fn beyond(config: &Config) -> Vec<Beyond> {
    let baseline = Config::new(0, 0, 0, 0);
    let rows = MODEL.iter().filter(|row| !SHOWN.contains(&row.field));
    let changed = rows.filter(|row| (row.get)(config) != (row.get)(&baseline));
    let value = |row: &Row<Config>| (row.get)(config).to_string();
    changed.map(|row| Beyond { setting: row.field.into(), value: value(row) }).collect()
}

/// Whether these are the tensors of single-head and multi-head attention. How they start does not
/// matter.
fn is_standard(config: &Config, own: &ParamList) -> bool {
    same_tensors(own, &SingleHead.parameters(config))
}

/// Whether names and shapes are the same, in the same order.
pub(crate) fn same_tensors(a: &ParamList, b: &ParamList) -> bool {
    a.iter().map(|(name, p)| (name, &p.shape)).eq(b.iter().map(|(name, p)| (name, &p.shape)))
}

impl TensorRow {
    /// The tensor's name without the block's.
    pub fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// Whether the tensor is added, not multiplied.
    pub fn is_bias(&self) -> bool {
        self.own_name().starts_with("b_") || self.own_name().ends_with("_b")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Mlp, Param};
    use llm_core::settings::Value;

    fn plain(config: &Config) -> Footprint<'_> {
        Footprint::new(config, &SingleHead)
    }

    fn report(footprint: Footprint<'_>, name: &str) -> ModelReport {
        ModelReport::new(footprint, &AttentionSpec::new(name, 4), [2, 64], 4).unwrap()
    }

    #[test]
    fn an_optimizer_with_less_and_more_micro_batches_are_counted() {
        let config = Config::new(256, 64, 48, 3);
        let of = |slots, micro_batches| {
            let footprint = Footprint { slots, micro_batches, ..plain(&config) };
            report(footprint, "multi-head").memory
        };
        let (two, one, more) = (of(2, 1), of(1, 1), of(2, 5));
        assert_eq!((one.moments, 2 * one.moments), (one.weights, two.moments));
        assert_eq!((one.activations, more.activations), (two.activations, two.activations));
        assert_eq!(more.gradients, 3 * two.gradients); // 5 = 4 + 1: two sums may wait
    }

    #[test]
    fn parts_add_up() {
        for config in [Config::new(256, 64, 48, 3), Config::gpt2(50_257, 1024, 768, 12)] {
            let report = report(plain(&config), "multi-head");
            let count: u64 = report.tensors.iter().map(|t| t.count).sum();
            assert_eq!(count, plain(&config).parameter_count());
            let share: f64 = report.tensors.iter().map(|t| t.share).sum();
            assert!((share - 1.0).abs() < 1e-9);
            assert_eq!(report.memory.total(), plain(&config).training(2, 64));
        }
    }

    #[test]
    fn an_attention_with_tensors_of_its_own_is_counted_by_them() {
        let config = Config::new(256, 64, 48, 3);
        let own = vec![("w_v".into(), Param::weight([48, 12])), ("b_v".into(), Param::bias(12))];
        let footprint = Footprint { attention: own, ..plain(&config) };
        let report = report(footprint, "own");
        assert_eq!((report.attention_weights, report.attention_biases), (576, 12));
        let standard = 4 * 48 * 48 + 4 * 48;
        assert_eq!(report.parameters, plain(&config).parameter_count() - 3 * (standard - 588));
        assert!(report.tensors.iter().any(|t| t.name == "blocks.2.w_v" && t.shape == [48, 12]));
        assert!(report.memory.total() < plain(&config).training(2, 64));
        assert!(report.attention.is_empty());
    }

    #[test]
    fn what_a_model_is_beyond_the_baseline_is_said() {
        let baseline = Config::new(256, 64, 48, 3);
        let gated = Config { mlp: Mlp::SwiGlu, mlp_bias: false, ..baseline.clone() };
        let said = |config: &Config| {
            let narrow = AttentionSpec { head_dim: Some(6), ..AttentionSpec::new("narrow", 4) };
            let report = ModelReport::new(plain(config), &narrow, [2, 64], 4).unwrap();
            assert_eq!(report.head_dim, 6);
            report.beyond.iter().map(|b| format!("{} {}", b.setting, b.value)).collect::<Vec<_>>()
        };
        assert_eq!(said(&baseline), ["attention.head_dim 6"]);
        assert_eq!(said(&gated), ["mlp swiglu", "mlp_bias false", "attention.head_dim 6"]);
    }

    /// A setting that only the attention knows is said as well; what such an attention costs is not shown.
    #[test]
    fn every_setting_of_an_attention_is_said() {
        let config = Config::new(256, 64, 48, 3);
        let mut spec = AttentionSpec { window: Some(9), ..AttentionSpec::new("own", 4) };
        let of = |spec: &AttentionSpec| ModelReport::new(plain(&config), spec, [2, 64], 4).unwrap();
        assert_eq!(of(&spec).attention.len(), 2);
        spec.other.insert("sinks", Value::Whole(4)).unwrap();
        let settings: Vec<_> = of(&spec).beyond.into_iter().map(|more| more.setting).collect();
        assert_eq!(settings, ["attention.sinks", "attention.window"]);
        assert!(of(&spec).attention.is_empty());
    }

    #[test]
    fn attention_of_a_block_is_four_squares() {
        let config = Config::gpt2(50_257, 1024, 768, 12);
        let report = report(plain(&config), "multi-head");
        let of_block = |biases: bool| -> u64 {
            let own = ["w_qkv", "w_proj", "b_qkv", "b_proj"].map(|n| format!("blocks.3.{n}"));
            let is_one = |t: &&TensorRow| own.contains(&t.name) && t.is_bias() == biases;
            report.tensors.iter().filter(is_one).map(|t| t.count).sum()
        };
        assert_eq!((of_block(false), of_block(true)), (2_359_296, 3072));
        assert_eq!(report.attention_weights, of_block(false));
        assert_eq!(report.attention_biases, of_block(true));
        // 124,439,808, of which each block has 9·C biases and 2·C in its norms, and 2·C at the end
        // has one half.
        assert_eq!(report.parameters - report.without_biases, 12 * (9 + 2) * 768 + 768);
    }
}
