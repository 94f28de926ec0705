//! What kinds of models cost besides their steps: the cache, and the loss in windows that are
//! longer than those that were trained on.

use llm_core::model::Positions;
use llm_lens::with_context;
use llm_run::Result;
use llm_run::defaults::PERIODIC_TOKENS;
use llm_run::plan::Plan;
use serde::Serialize;

/// Lengths of windows, in multiples of the training length.
const TIMES: [usize; 3] = [1, 2, 4];

/// What is measured of a model besides its loss.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// Bytes that are kept of a token while text is written, in all blocks.
    pub cache_bytes_per_token: u64,
    /// The loss in longer windows.
    pub at_lengths: Vec<AtLength>,
}

/// The loss in windows of some length.
#[derive(Clone, Debug, Serialize)]
pub struct AtLength {
    /// Multiple of the training length.
    pub times: usize,
    /// Nats for a token; `None` where there is no such window, or the model has no such positions.
    pub loss: Option<f64>,
    /// The model has no such positions.
    pub refused: bool,
}

impl Costs {
    /// The costs of the model of a plan that was carried out.
    ///
    /// # Errors
    /// What scoring refuses; after `stop` the losses are those of what was scored.
    pub fn of(plan: &Plan, stop: impl Fn() -> bool) -> Result<Costs> {
        let model = &plan.trainer.model;
        let config = model.config();
        let row = model.attention().cache_row(config) as u64;
        let seq_len = plan.trainer.recipe.seq_len;
        let longest = seq_len * TIMES[TIMES.len() - 1];
        let mut at_lengths = Vec::new();
        for times in TIMES {
            let length = times * seq_len;
            let longer = if length > config.seq_len { with_context(model, length) } else { None };
            let refused = length > config.seq_len && config.positions == Positions::Learned;
            let val = plan.data.as_ref().and_then(|data| data.val.as_ref());
            let loss = match val.filter(|_| !refused) {
                Some(val) => val.loss_in_windows(
                    longer.as_ref().unwrap_or(model),
                    [length, longest],
                    PERIODIC_TOKENS,
                    &stop,
                )?,
                None => None,
            };
            at_lengths.push(AtLength { times, loss, refused });
        }
        Ok(Costs { cache_bytes_per_token: 4 * config.n_layers as u64 * row, at_lengths })
    }
}
