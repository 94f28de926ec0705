//! How a model is measured on a device: the losses of a batch's places, and its first choices.

use crate::error::{GpuError, Result};
use crate::layout::Layout;
use crate::maker::{Batches, Rooms};
use crate::plan::{Buffers, Capacity, Plan};
use crate::planned::Planned;
use crate::walk;
use crate::words::Words;
use llm_core::listing::Listed;
use llm_core::model::Batch;
use llm_core::{Tensor, message};

/// A measurement that is made and not yet on a device. θ is the step's, in the step's memory.
#[derive(Debug)]
pub struct Scoring {
    pub(crate) plan: Plan,
    pub(crate) buffers: Buffers,
    pub(crate) rooms: Rooms,
    pub(crate) batches: Batches,
}

impl Planned {
    /// The measurement of the same parameters on batches of the shape that is listed, from the list of a
    /// loss in [`Mode::Evaluation`](llm_core::model::Mode::Evaluation).
    ///
    /// # Errors
    /// As [`Planned::new`].
    pub fn scoring(&self, list: &[Listed], parameters: &[(String, &Tensor)]) -> Result<Scoring> {
        Scoring::new(&self.layout, self.on, list, parameters)
    }
}

impl Scoring {
    pub(crate) fn new(
        layout: &Layout,
        on: Capacity,
        list: &[Listed],
        parameters: &[(String, &Tensor)],
    ) -> Result<Scoring> {
        let (plan, rooms, batches) = walk::scoring(list, &layout.of(parameters)?, on)?;
        let buffers = plan.buffers();
        Ok(Scoring { plan, buffers, rooms, batches })
    }

    /// Rooms, and calls, which are all of [`Part::Score`](crate::Part::Score).
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where the rooms lie; that of θ is [elsewhere](crate::Use::Elsewhere).
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// θ, tokens, targets, and the report: losses, then first choices. The others are not used.
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// B and T of the batch that was listed.
    pub fn shape(&self) -> [usize; 2] {
        self.batches.shape
    }

    /// Before it is run: tokens and targets. Rows that are missing are made up.
    ///
    /// # Errors
    /// [`GpuError::List`] when there are more rows, or of another length, or a token is beyond the
    /// vocabulary.
    pub fn words(&self, batch: &Batch) -> Result<Vec<Words>> {
        let [b, t] = self.shape();
        if batch.shape[0] > b || batch.shape[1] != t {
            return Err(self.batches.refused(batch));
        }
        if !self.batches.knows(batch) {
            return Err(GpuError::List(message!("a token is beyond the vocabulary")));
        }
        let padded = |tokens: &[u32]| {
            let mut all = tokens.to_vec();
            all.resize(b * t, 0);
            all
        };
        let Rooms { tokens, targets, ref ngrams, .. } = self.rooms;
        let inputs = padded(&batch.inputs);
        let rows = ngrams.iter().map(|(table, _, [ids, _])| (*ids, table.rows(&inputs, t)));
        let rows: Vec<_> = rows.chain([(targets, padded(&batch.targets))]).collect();
        Ok([vec![(tokens, inputs)], rows].concat())
    }

    /// Losses and first choices of the places of such a batch, from what the report holds.
    pub fn scores(&self, batch: &Batch, report: &[f32]) -> (Vec<f32>, Vec<bool>) {
        let (losses, firsts) = report.split_at(self.shape().iter().product());
        let n = batch.inputs.len();
        (losses[..n].to_vec(), firsts[..n].iter().map(|&first| first == 1.0).collect())
    }
}
