//! What kinds of models cost beside their steps: the cache, and the loss in windows that are longer
//! than those that were learnt.

use crate::error::Result;
use crate::messages::said;
use crate::signals::Signals;
use crate::table::{Column, table};
use llm_core::base::thousands;
use llm_core::model::Positions;
use llm_core::{TinyGPT, message};
use llm_lens::with_context;
use llm_report::{Comparison, GroupSpread};
use llm_run::defaults::PERIODIC_TOKENS;
use llm_run::plan::Plan;
use serde::Serialize;

/// Windows are so many times as long as those that were learnt.
const TIMES: [usize; 3] = [1, 2, 4];

/// What is measured of a model besides its loss.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Costs {
    /// Bytes that are kept of a token while text is written, in all blocks.
    pub cache_bytes_per_token: u64,
    /// The loss in longer windows.
    pub at_lengths: Vec<AtLength>,
}

/// The loss in windows of some length.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AtLength {
    /// Times the length that was learnt.
    pub times: usize,
    /// None where there is no such window, or the model has no such positions.
    pub loss: Option<f64>,
    /// The model has no such positions.
    pub refused: bool,
}

impl Costs {
    /// Of a model that has learnt.
    ///
    /// # Errors
    /// What scoring refuses; after a signal the losses are those of what was scored.
    pub(super) fn of(model: &TinyGPT, plan: &Plan, signals: &Signals) -> Result<Costs> {
        let config = model.config();
        let row = model.attention().cache_row(config) as u64;
        let seq_len = plan.trainer.recipe.seq_len;
        let longest = seq_len * TIMES[TIMES.len() - 1];
        let mut at_lengths = Vec::new();
        for times in TIMES {
            let length = times * seq_len;
            let longer = match length > config.seq_len {
                true => with_context(model, length),
                false => None,
            };
            let refused = length > config.seq_len && config.positions == Positions::Learned;
            let val = plan.data.as_ref().and_then(|data| data.val.as_ref());
            let loss = match val.filter(|_| !refused) {
                Some(val) => val.loss_in_windows(
                    longer.as_ref().unwrap_or(model),
                    [length, longest],
                    PERIODIC_TOKENS,
                    || signals.pending().is_some(),
                )?,
                None => None,
            };
            at_lengths.push(AtLength { times, loss, refused });
        }
        Ok(Costs { cache_bytes_per_token: 4 * config.n_layers as u64 * row, at_lengths })
    }
}

/// The table for a person; nothing where no kinds are compared.
pub(super) fn text(comparison: &Comparison, room: usize) -> String {
    let costs = || comparison.rows.iter().filter_map(|row| Some((row, row.costs.as_ref()?)));
    let Some((_, first)) = costs().next() else { return String::new() };
    let mean = |values: &[f64]| GroupSpread::of(values).map(|spread| spread.mean);
    let headings = ["ms/step", "tokens/s", "cache B/token"].map(said);
    let lengths = first.at_lengths.iter().map(|(times, _)| said(message!("loss at {}×", times)));
    let heading = std::iter::once(comparison.differ_in.clone()).chain(headings).chain(lengths);
    let mut rows = vec![heading.collect::<Vec<_>>()];
    for (row, of) in costs() {
        let ms = mean(&of.step_ms).unwrap_or(0.0);
        let speed = mean(&of.tokens_per_s).unwrap_or(0.0).round() as u64;
        let mut cells = vec![row.values.clone(), format!("{ms:.2}"), thousands(speed)];
        cells.push(thousands(of.cache_bytes));
        cells.extend(of.at_lengths.iter().map(|(times, losses)| match mean(losses) {
            Some(loss) => format!("{loss:.4}"),
            None if of.refused && *times > 1 => said("refused"),
            None => "–".into(),
        }));
        rows.push(cells);
    }
    let mut columns = vec![Column::left(0, 0), Column::right(2, 8), Column::right(2, 9)];
    columns.push(Column::right(2, 13));
    columns.extend(first.at_lengths.iter().map(|_| Column::right(2, 10)));
    let mut text = table(&columns, &rows, room);
    text.push_str(&said(
        "(loss in windows of 1, 2 and 4 times the length that was learnt, over the same tokens)\n",
    ));
    if costs().any(|(_, of)| of.refused) {
        text.push_str(&said(
            "(refused: a table of positions ends at the length that was learnt)\n",
        ));
    }
    text + "\n"
}
