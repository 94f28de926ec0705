//! Measurements on the device that has the weights.

use crate::device::Gpu;
use crate::error::{GpuError, Result, check_close};
use crate::layout::Layout;
use crate::listed::list_of;
use crate::loaded::Loaded;
use crate::plan::{Capacity, Part};
use crate::scoring::Scoring;
use llm_core::model::{Batch, Mode, TinyGPT};

/// Measurements that are kept ready, each for one shape.
const SHAPES: usize = 2;

/// Measurements beside weights that are there, made when first asked for.
#[derive(Default)]
pub(crate) struct Measuring {
    ready: Vec<Scores>,
}

impl Measuring {
    /// The losses and first choices of a batch. A new measurement is first tried on its last row that counts, whose
    /// loss the processor computes too, if the model there has the same weights.
    pub(crate) fn score(
        &mut self,
        gpu: &Gpu,
        (layout, on, theta): (&Layout, Capacity, &[wgpu::Buffer]),
        (model, is_same): (&TinyGPT, bool),
        batch: &Batch,
    ) -> Result<(Vec<f32>, Vec<bool>)> {
        if let Some(of) = self.ready.iter().find(|scores| scores.takes(batch.shape)) {
            return of.of(gpu, batch);
        }
        let listed = list_of(model, batch, Mode::Evaluation);
        let (row, loss, list) = listed.map_err(|e| GpuError::List(e.message()))?;
        let parameters: Vec<_> = model.parameters().collect();
        let scoring = Scoring::new(layout, on, &list, &parameters)?;
        // What is given up makes room for the new one.
        self.ready.truncate(SHAPES - 1);
        self.ready.insert(0, Scores::new(gpu, scoring, theta)?);
        let scores = self.ready[0].of(gpu, batch)?;
        let t = batch.shape[1];
        let of_row = (row * t..(row + 1) * t).filter(|&i| batch.targets[i] != Batch::IGNORED);
        let of_row: Vec<f32> = of_row.map(|i| scores.0[i]).collect();
        if is_same && !of_row.is_empty() {
            check_close([loss, of_row.iter().sum::<f32>() / of_row.len() as f32], false)?;
        }
        Ok(scores)
    }
}

/// A measurement on a device.
struct Scores {
    scoring: Scoring,
    loaded: Loaded,
}

impl Scores {
    fn new(gpu: &Gpu, scoring: Scoring, theta: &[wgpu::Buffer]) -> Result<Scores> {
        let loaded = gpu.load(&scoring.plan, &scoring.buffers, theta)?;
        Ok(Scores { scoring, loaded })
    }

    /// Whether a batch of this shape can be measured.
    fn takes(&self, [b, t]: [usize; 2]) -> bool {
        let [most, of] = self.scoring.shape();
        b <= most && t == of
    }

    fn of(&self, gpu: &Gpu, batch: &Batch) -> Result<(Vec<f32>, Vec<bool>)> {
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
