//! The list of a batch's forward, made from one of its rows: what the processor computes for it is a
//! row's, however many the batch has.

use llm_core::Result;
use llm_core::kernels::gemm::within;
use llm_core::listing::{Fact, Input, Listed, listing};
use llm_core::model::{Batch, Mode, Origin, TinyGPT};
use llm_core::train::Trainer;
use llm_core::{TokenDataset, TokenId};
use std::collections::HashSet;

/// The list of the next step's first micro-batch, its rows as long as any of the run's; its last row
/// that has a loss, as a batch of the same shape in which nothing else counts; and that loss on the
/// processor.
///
/// # Errors
/// What data and model say.
pub fn listed(trainer: &Trainer, data: &TokenDataset) -> Result<(Batch, f32, Vec<Listed>)> {
    let Trainer { model, recipe, step, .. } = trainer;
    let batch = recipe.batch(data, *step, 0)?.padded(recipe.seq_len).into_owned();
    let (row, loss, list) = within(recipe.matmul, || list_of(model, &batch, Mode::Training))?;
    Ok((alone(batch, row), loss, list))
}

/// The list of a batch's forward, and the loss of its last row that has one.
pub(crate) fn list_of(
    model: &TinyGPT,
    batch: &Batch,
    mode: Mode,
) -> Result<(usize, f32, Vec<Listed>)> {
    let [b, t] = batch.shape;
    let counts = |targets: &[TokenId]| targets.iter().any(|&target| target != Batch::IGNORED);
    let row = batch.targets.chunks(t.max(1)).rposition(counts).unwrap_or_default();
    let (loss, mut list) = listing(|| model.loss(&row_of(batch, row), mode));
    let loss = loss?.item();
    // Along the first axis rows of several sequences would be taken apart or put together.
    if list.iter().any(|made| made.number("axis") == Some(0.0)) {
        let (whole, all) = listing(|| model.loss(batch, mode));
        whole?;
        list = all;
    } else {
        widen(&mut list, b);
    }
    Ok((row, loss, list))
}

/// A row as a batch of its own, with the masks that it has in this one.
fn row_of(batch: &Batch, row: usize) -> Batch {
    let [b, t] = batch.shape;
    let of = row * t..(row + 1) * t;
    if batch.inputs.len() != b * t || batch.targets.len() != b * t {
        return batch.clone(); // which is refused
    }
    let (inputs, targets) = (batch.inputs[of.clone()].to_vec(), batch.targets[of].to_vec());
    let Origin { first_row, .. } = batch.origin;
    let origin = Origin { first_row: first_row.wrapping_add(row as u64), ..batch.origin };
    Batch { origin, ..Batch::new(inputs, targets, [1, t]) }
}

/// The batch, in which this row alone counts.
fn alone(batch: Batch, row: usize) -> Batch {
    let t = batch.shape[1];
    let mut targets = batch.targets.to_vec();
    targets[..row * t].fill(Batch::IGNORED);
    targets[(row + 1) * t..].fill(Batch::IGNORED);
    Batch { targets: targets.into(), step_targets: None, ..batch }
}

/// Makes the list of one row that of `b` rows: the first axis of each result is the batch's, or holds
/// it, but that of the loss.
fn widen(list: &mut [Listed], b: usize) {
    let made: HashSet<u64> = list.iter().map(|made| made.result).collect();
    let last = list.len().saturating_sub(1);
    for (i, Listed { inputs, shape, facts, .. }) in list.iter_mut().enumerate() {
        let results = inputs.iter_mut().filter_map(|input| match input {
            Input::Variable { id, shape } => made.contains(id).then_some(shape),
            Input::Constant { .. } => None,
        });
        let own = (i < last).then_some(shape);
        results.chain(own).filter_map(|shape| shape.first_mut()).for_each(|n| *n *= b);
        for (_, fact) in facts {
            if let Fact::Ids(ids) = fact {
                *ids = ids.repeat(b);
            }
        }
    }
}
