//! A measurement on the device that has the weights.

use crate::device::Gpu;
use crate::error::Result;
use crate::loaded::Loaded;
use crate::plan::Part;
use crate::scoring::Scoring;
use crate::step::Step;
use llm_core::model::Batch;

/// A measurement on a device, beside a step.
pub(crate) struct Scores {
    scoring: Scoring,
    loaded: Loaded,
}

impl Scores {
    pub(crate) fn new(scoring: Scoring, step: &Step) -> Result<Scores> {
        let theta = step.planned().rooms.theta.iter().map(|&room| step.loaded.buffer(room));
        let theta: Vec<_> = theta.cloned().collect();
        let loaded = step.gpu.load(&scoring.plan, &scoring.buffers, &theta)?;
        Ok(Scores { scoring, loaded })
    }

    /// Whether a batch of this shape can be measured.
    pub(crate) fn takes(&self, [b, t]: [usize; 2]) -> bool {
        let [most, of] = self.scoring.shape();
        b <= most && t == of
    }

    pub(crate) fn of(&self, gpu: &Gpu, batch: &Batch) -> Result<(Vec<f32>, Vec<bool>)> {
        gpu.say(&self.loaded, &self.scoring.words(batch)?);
        let places: usize = self.scoring.shape().iter().product();
        let out = gpu.outbox(2 * places);
        let report = Some((self.scoring.rooms.report, &out));
        let plan = &self.scoring.plan;
        gpu.queue.submit([gpu.encode(&self.loaded, plan, &[Part::Score], report)]);
        let report = gpu.wait(&out)?;
        Ok(self.scoring.scores(batch, &report))
    }
}
