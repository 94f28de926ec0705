//! The parts that a matrix has for an adapter, as peft knows them.

use crate::holder::ATTENTIONS;
use llm_core::model::{Positions, parameter_list};
use llm_core::{Attention, Config};

/// Every matrix of a model's blocks, with the numbers of columns that have an A and a B of their own: where
/// others keep queries, keys and values apart, as Llama and its kin do, they are three parts of ours, and gate
/// and value of an MLP are two; GPT-2 has one matrix for the first three.
pub fn adapter_parts(config: &Config, attention: &dyn Attention) -> Vec<(String, Vec<usize>)> {
    let is_gpt2 = config.positions != Positions::Rotary
        && ATTENTIONS.contains(&attention.spec().name.as_str());
    let list = parameter_list(config, &attention.parameters(config)).into_iter();
    let parts = list.filter(|(name, _)| name.starts_with("blocks.")).filter_map(|(name, p)| {
        let parts = p.role.matrices(&p.shape);
        let whole = || p.shape.last().copied().into_iter().collect();
        let parts = if is_gpt2 && name.ends_with(".w_qkv") { whole() } else { parts };
        (!parts.is_empty()).then_some((name, parts))
    });
    parts.collect()
}
