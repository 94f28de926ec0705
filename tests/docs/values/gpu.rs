//! Values of docs/on_a_gpu.md. No GPU is needed for them: a step is data before it is anywhere.

use super::{Values, list, wide};
use llm_core::model::NORM_EPS;
use llm_core::{Tensor, ops};
use llm_gpu::{Capacity, Planned, listed};
use llm_run::error::Kind;
use llm_run::models::{AttentionKind, BASELINE, Heads, Models};
use llm_run::options::Options;
use llm_run::plan::Plan;
use llm_variant_mha::MultiHead;
use std::sync::Arc;

/// The numbers in the name under which Mesa's driver for the processor calls itself.
const LAVAPIPE: [f64; 7] = [15.0, 6.0, 256.0, 22.3, 6.0, 15.0, 6.0];

pub fn add(values: &mut Values) {
    let (calls, bytes, loss) = first_step();
    let said = [calls as f64, bytes as f64 / 1e6, loss, loss];
    values.insert("gpu.said", [&LAVAPIPE[..], &said].concat());
    values.insert("gpu.list", [&[0.0], &LAVAPIPE[..]].concat());
    values.insert("gpu.moved", LAVAPIPE.to_vec());
    let text = include_str!("../../../crates/llm-gpu/src/ops/rows.wgsl");
    let group = text.split("W: u32 = ").nth(1).and_then(|rest| rest.split('u').next());
    values.insert("gpu.group", vec![group.unwrap().parse().unwrap()]);
    let tests = include_str!("../../../crates/llm-gpu/tests/gpu/models.rs");
    let close = tests.split("const TOLERANCE: f64 = ").nth(1).and_then(|t| t.split(';').next());
    values.insert("gpu.close", vec![close.unwrap().parse().unwrap()]);
    let units = include_str!("../../../crates/llm-gpu/src/ops/units.rs");
    assert!(units.contains(", 16, 32): 128") && units.contains(", 8, 8): 64"), "edges of units");
    values.insert("gpu.units", list![8, 8, 16, 16]);
    values.insert("gpu.kernel", vec![0.0, 1.0, 0.0]); // numbers of its text, which the page has as it is
    row(values);
    use Kind::{Io, NoMemory, Unavailable, Usage};
    let kinds = [Unavailable, Usage, Usage, NoMemory, Io, Io];
    values.insert("gpu.codes", kinds.map(|kind| f64::from(kind.code())).to_vec());
}

/// Kernels, bytes and loss of the first step of the built-in stories, as `train-gpt-mha` trains them.
fn first_step() -> (usize, u64, f64) {
    const ATTENTIONS: [AttentionKind; 1] =
        [AttentionKind::plain(MultiHead::NAME, |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)))];
    let models = Models {
        name: "train-gpt-mha",
        heads: Heads::Many { default: 4 },
        attentions: &ATTENTIONS,
        ..BASELINE
    };
    let plan = Plan::new(&models, &Options::default(), &|_, _| ()).unwrap();
    let (trainer, data) = (&plan.trainer, &plan.data.as_ref().unwrap().train);
    let (_, loss, list) = listed(trainer, data).unwrap();
    let planned = Planned::of(trainer, &list, Capacity::default()).unwrap();
    (planned.calls(), planned.bytes(), loss.into())
}

/// RMSNorm of a row, its sum in halves as the kernel makes it.
fn row(values: &mut Values) {
    const X: [f32; 4] = [1.0, -5.0, 7.0, 5.0];
    let squared = X.map(|x| x * x);
    let two = [squared[0] + squared[2], squared[1] + squared[3]];
    let one = two[0] + two[1];
    let x = Tensor::from_vec(&[4], X.to_vec()).unwrap();
    let y = ops::rmsnorm_lastdim(&x, None, NORM_EPS).unwrap();
    let r = 1.0 / (one / 4.0).sqrt();
    let rows = [
        list![0, 1, 2, 3],
        wide(&X),
        wide(&squared),
        vec![2.0],
        wide(&two),
        wide(&[squared[0], squared[2], squared[1], squared[3]]),
        list![1, one],
        wide(&[two[0], two[1]]),
        wide(&[r; 4]),
        list![1, one, 4],
        wide(y.data()),
    ];
    values.insert("gpu.row", rows.concat());
}
