//! What a header says, apart from how it is written.

use super::adapter::SavedAdapter;
use super::limits::Checked;
use super::table::Entry;
use crate::model::{AttentionSpec, Config, ParamList, parameter_list};
use crate::optim::{OptimizerRow, find_optimizer};
use crate::recipe::Recipe;
use serde::{Deserialize, Serialize};

/// The kind of model.
pub(super) const ARCHITECTURE: &str = "tiny-gpt";
/// In what numbers products are made and added up.
pub(super) const PRECISION: &str = "f32";
/// In what order the gradients of micro-batches are added: neighbours first, then their sums.
pub(super) const ACCUMULATION: &str = "tree";

/// Everything of a checkpoint that is no tensor. Read from a file it is believed only after
/// [`check`](super::check::check).
#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub(super) architecture: String,
    pub(super) config: Config,
    pub(super) attention: AttentionSpec,
    /// The parameters of one block's attention: their names and shapes.
    pub(super) own: ParamList,
    pub(super) adapter: Option<SavedAdapter>,
    pub(super) tokenizer: TokenizerHash,
    pub(super) recipe: Recipe,
    pub(super) step: u64,
    pub(super) optimizer: Option<SavedOptimizer>,
    pub(super) precision: String,
    pub(super) accumulation: String,
    pub(super) table: Vec<Entry>,
    /// The optimizers that are known, one of which is the run's.
    pub(super) optimizers: &'static [OptimizerRow],
}

/// A tokenizer without its data. The order of the fields and their types are the format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TokenizerHash {
    pub(super) kind: String,
    /// Length of the tokenizer's data, in bytes.
    pub(super) length: u64,
    pub(super) blake3: [u8; 32],
}

/// An optimizer without its numbers. The order of the fields and their types are the format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedOptimizer {
    pub(super) name: String,
    /// Updates done.
    pub(super) t: u64,
    /// Names of the numbers kept for every weight; none before the first update.
    pub(super) slots: Vec<String>,
}

impl Contents {
    /// Names and shapes of the parameters in the file, in the model's order: all, or those of the adapter.
    pub(super) fn parameters(&self) -> Checked<ParamList> {
        let all = parameter_list(&self.config, &self.own);
        Ok(match &self.adapter {
            Some(adapter) => adapter.spec.parameters(&all)?,
            None => all,
        })
    }

    /// The optimizer's slots that the table has.
    pub(super) fn slots(&self) -> &[String] {
        self.optimizer.as_ref().map_or(&[], |optimizer| &optimizer.slots)
    }

    /// Whether a tensor of this role is never below 0.
    pub(super) fn is_mean_of_squares(&self, role: &str) -> bool {
        let Some(SavedOptimizer { name, .. }) = &self.optimizer else { return false };
        let row = find_optimizer(self.optimizers, name);
        row.is_ok_and(|row| row.slots.iter().any(|s| s.mean_of_squares && s.name == role))
    }
}
