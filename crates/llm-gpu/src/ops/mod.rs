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
mod flash_units;
mod half;
mod head;
mod head_shape;
mod keep;
mod layer;
mod linear;
pub(crate) mod matmul;
mod norm;
mod parts;
mod rotary;
mod step;
mod sums;
pub(crate) mod units;

pub(crate) use common::LOSS;
pub(crate) use cross_entropy::score;
pub(crate) use flash::flash_products;
pub(crate) use matmul::product_costs;
pub(crate) use sums::{clip, norm, sum};

use crate::error::{GpuError, Result};
use crate::maker::{Batches, Made, Maker};
use crate::plan::Room;
use llm_core::listing::{Fact, Input, Listed};
use llm_core::message;

/// Calls of an op.
pub(crate) struct Row {
    op: &'static str,
    /// What the calls ask the listed op for: a fact that is not among these is refused.
    facts: &'static [&'static str],
    pub forward: fn(&mut Maker<'_>, &Listed) -> Result<Made>,
    /// Gets dL/dy and what forward kept.
    pub backward: fn(&mut Maker<'_>, &Listed, Room, &[Room]) -> Result<()>,
}

impl Row {
    const fn of(
        op: &'static str,
        facts: &'static [&'static str],
        forward: fn(&mut Maker<'_>, &Listed) -> Result<Made>,
        backward: fn(&mut Maker<'_>, &Listed, Room, &[Room]) -> Result<()>,
    ) -> Row {
        Row { op, facts, forward, backward }
    }
}

const ROWS: [Row; 17] = [
    Row::of(
        "embedding",
        &["tokens", "places", "rows", "ngrams"],
        embedding::forward,
        embedding::backward,
    ),
    Row::of("add", &[], add::forward, add::backward),
    Row::of("linear", &["transposed", "bits"], linear::forward, linear::backward),
    Row::of("attention", attention::FACTS, attention::forward, attention::backward),
    Row::of("layernorm", &["eps"], norm::forward, norm::backward),
    Row::of("rmsnorm", &["eps"], norm::forward, norm::backward),
    Row::of("gelu", &[], activation::forward, activation::backward),
    Row::of("gelu_exact", &[], activation::forward, activation::backward),
    Row::of("silu", &[], activation::forward, activation::backward),
    Row::of("relu2", &[], activation::forward, activation::backward),
    Row::of("swiglu", &[], activation::forward, activation::backward),
    Row::of("rotary", &["heads", "head_dim", "start", "angles"], rotary::forward, rotary::backward),
    Row::of("reshape", &[], parts::reshape, parts::reshape_back),
    Row::of("slice", &["axis", "start"], parts::slice, parts::slice_back),
    Row::of("concat", &["axis"], parts::concat, parts::concat_back),
    Row::of("dropout", &["masks"], dropout::forward, dropout::backward),
    Row::of(LOSS, &["targets"], cross_entropy::forward, cross_entropy::backward),
];

/// The calls of a listed op, all of whose facts they ask for.
pub(crate) fn row(made: &Listed) -> Result<&'static Row> {
    let row = ROWS.iter().find(|row| row.op == made.op);
    let row = row.ok_or_else(|| GpuError::without(made.op))?;
    let carried = made.only(row.facts).map(|()| row);
    carried.map_err(|fact| GpuError::no(made.op, message!("that know its '{}'", fact)))
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
    use super::{ROWS, Row, row};
    use llm_core::listing::{Fact, Listed};
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Ops of llm-core that have no kernels yet: a model that has one is refused.
    const WITHOUT: [&str; 11] = [
        "adapted_linear",
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
            for made in ["Op::new(\"", "activation(\"", "share_of_sum(\""] {
                let names = text.split(made).skip(1).filter_map(|rest| rest.split('"').next());
                there.extend(names.map(String::from));
            }
        }
        let known = ROWS.iter().map(|row| row.op).chain(WITHOUT);
        assert_eq!(there, known.map(String::from).collect());
    }

    /// Whatever an op comes to say of itself, its kernels know it or it is refused.
    #[test]
    fn a_fact_that_no_kernel_asks_for_is_refused_by_its_name() {
        for Row { op, facts, .. } in &ROWS {
            let facts: Vec<_> = facts.iter().map(|name| (*name, Fact::Number(1.0))).collect();
            let known = Listed { op, result: 1, inputs: Vec::new(), shape: Vec::new(), facts };
            assert!(row(&known).is_ok(), "{op}");
            let mut more = known.clone();
            more.facts.push(("sinks", Fact::Number(4.0)));
            let said = row(&more).err().expect("it is refused").to_string();
            let words = format!("'{op}' has no kernels for a GPU that know its 'sinks'; ");
            assert!(said.starts_with(&words), "{said}");
        }
    }
}
