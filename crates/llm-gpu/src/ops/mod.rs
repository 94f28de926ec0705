//! The ops that have kernels. Each file has an op's calls forward and back; the equations stand in
//! the WGSL file of the same name.

mod activation;
mod add;
mod attention;
mod common;
mod cross_entropy;
mod dropout;
mod embedding;
mod flash;
mod heads;
mod linear;
pub(crate) mod matmul;
mod norm;
mod parts;
mod rotary;
mod sums;
pub(crate) mod units;

pub(crate) use cross_entropy::score;
pub(crate) use sums::{clip, norm, sum};

use crate::error::{GpuError, Result};
use crate::maker::{Batches, Made, Maker};
use crate::plan::Room;
use llm_core::listing::{Fact, Input, Listed};
use llm_core::message;

/// The op that ends a list.
pub(crate) const LOSS: &str = "cross_entropy";

/// Calls of an op.
pub(crate) struct Row {
    op: &'static str,
    pub forward: fn(&mut Maker<'_>, &Listed) -> Result<Made>,
    /// Gets dL/dy and what forward kept.
    pub backward: fn(&mut Maker<'_>, &Listed, Room, &[Room]) -> Result<()>,
}

const ROWS: [Row; 17] = [
    Row { op: "embedding", forward: embedding::forward, backward: embedding::backward },
    Row { op: "add", forward: add::forward, backward: add::backward },
    Row { op: "linear", forward: linear::forward, backward: linear::backward },
    Row { op: "attention", forward: attention::forward, backward: attention::backward },
    Row { op: "layernorm", forward: norm::forward, backward: norm::backward },
    Row { op: "rmsnorm", forward: norm::forward, backward: norm::backward },
    Row { op: "gelu", forward: activation::forward, backward: activation::backward },
    Row { op: "gelu_exact", forward: activation::forward, backward: activation::backward },
    Row { op: "silu", forward: activation::forward, backward: activation::backward },
    Row { op: "relu2", forward: activation::forward, backward: activation::backward },
    Row { op: "swiglu", forward: activation::gate_forward, backward: activation::gate_backward },
    Row { op: "rotary", forward: rotary::forward, backward: rotary::backward },
    Row { op: "reshape", forward: parts::reshape, backward: parts::reshape_back },
    Row { op: "slice", forward: parts::slice, backward: parts::slice_back },
    Row { op: "concat", forward: parts::concat, backward: parts::concat_back },
    Row { op: "dropout", forward: dropout::forward, backward: dropout::backward },
    Row { op: LOSS, forward: cross_entropy::forward, backward: cross_entropy::backward },
];

/// The calls of a listed op.
pub(crate) fn row(made: &Listed) -> Result<&'static Row> {
    ROWS.iter().find(|row| row.op == made.op).ok_or_else(|| GpuError::without(made.op))
}

/// B, T and V of a list: that of a loss over tokens.
pub(crate) fn batch_of(list: &[Listed]) -> Result<Batches> {
    let no_loss = || GpuError::List(message!("the list is not that of a loss"));
    if list.last().is_none_or(|made| made.op != LOSS) {
        return Err(no_loss());
    }
    // An op that is refused is named before anything else is found wrong.
    list.iter().try_for_each(|made| row(made).map(drop))?;
    let tokens = |made: &&Listed| matches!(made.fact("tokens"), Some(Fact::Ids(_)));
    let first = list.iter().find(tokens).ok_or_else(no_loss)?;
    match (&first.shape[..], first.inputs.first().map(Input::shape)) {
        ([b, t, _], Some([v, _])) => Ok(Batches { shape: [*b, *t], vocab: *v }),
        _ => Err(no_loss()),
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Ops of llm-core that have no kernels yet: a model that has one is refused.
    const WITHOUT: [&str; 10] = [
        "add_scalar",
        "broadcast",
        "matmul",
        "mean",
        "mul",
        "mul_scalar",
        "softmax",
        "sub",
        "sum",
        "transpose",
    ];

    /// An op that is added to llm-core gets kernels, or a place on the list above.
    #[test]
    fn every_op_has_kernels_or_is_known_to_have_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm-core/src/ops");
        let mut there = BTreeSet::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let names = text.split("Op::new(\"").skip(1).filter_map(|rest| rest.split('"').next());
            there.extend(names.map(String::from));
        }
        let known = ROWS.iter().map(|row| row.op).chain(WITHOUT);
        assert_eq!(there, known.map(String::from).collect());
    }
}
