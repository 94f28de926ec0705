//! An adapter, models, and how far two arrays are apart.

use llm_core::listing::listing;
use llm_core::model::{Batch, Mode};
use llm_core::train::Trainer;
use llm_core::{
    AdamW, Attention, Config, Hyperparameters, Recipe, Schedule, TinyGPT, TokenDataset,
};
use llm_gpu::{Capacity, Gpu, GpuError, Planned, Step};
use std::sync::Arc;

/// The adapter that `LLM_GPU` names a part of, else the system's first; `None`, with the reason
/// printed, where no adapter is found.
pub fn gpu() -> Option<Gpu> {
    let asked = std::env::var("LLM_GPU").ok();
    match Gpu::open_with_units(asked.as_deref()) {
        Ok(gpu) => {
            println!("on {}, {:?}", gpu.name(), gpu.units());
            Some(gpu)
        }
        Err(GpuError::NoAdapter { asked, .. }) => {
            println!("skipped: no adapter ({asked:?}); Debian has one in mesa-vulkan-drivers");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

pub fn text() -> TokenDataset {
    let line =
        b"Lily found a red ball in the park. Tom said: what a nice ball it is! They played. ";
    TokenDataset::from_bytes(line.repeat(20))
}

pub fn hyper() -> Hyperparameters {
    Hyperparameters { beta1: 0.9, beta2: 0.99, eps: 1e-8, weight_decay: 0.1, decay_all: false }
}

pub fn adamw() -> AdamW {
    AdamW::new(hyper()).unwrap()
}

/// A run of a few steps: what it is of, and how it is trained.
pub struct Case {
    pub config: Config,
    pub attention: Arc<dyn Attention>,
    pub batch_size: usize,
    pub accum: u32,
    pub optimizer: &'static str,
    pub lr: f32,
}

impl Case {
    /// With AdamW and one micro-batch.
    pub fn new(config: Config, attention: impl Attention + 'static, batch_size: usize) -> Case {
        let attention = Arc::new(attention);
        Case { config, attention, batch_size, accum: 1, optimizer: "adamw", lr: 3e-3 }
    }

    /// At its start.
    pub fn trainer(self) -> Trainer {
        let Case { config, attention, batch_size, accum, optimizer, lr } = self;
        let mut recipe = Recipe::new([batch_size, config.seq_len], 1000, lr);
        recipe.schedule = Schedule::constant(lr);
        (recipe.optimizer, recipe.hyperparameters) = (optimizer.into(), hyper());
        (recipe.clip, recipe.seed, recipe.accum) = (1.0, 1, accum);
        Trainer::new(TinyGPT::with_attention(config, attention, 1).unwrap(), recipe).unwrap()
    }

    /// The step of a run on a device.
    pub fn step(gpu: &Gpu, trainer: &Trainer) -> Step {
        let planned = planned(trainer, gpu.capacity()).unwrap_or_else(|e| panic!("{e}"));
        planned.load(gpu, &trainer.model, trainer.optimizer.state()).unwrap()
    }
}

/// The micro-batches of the next step.
pub fn first_batches(trainer: &Trainer) -> Vec<Batch> {
    let Trainer { recipe, step, .. } = trainer;
    (0..recipe.accum).map(|micro| recipe.batch(&text(), *step, micro).unwrap()).collect()
}

pub fn planned(trainer: &Trainer, on: Capacity) -> Result<Planned, GpuError> {
    let Trainer { model, optimizer, recipe, .. } = trainer;
    let batch = &first_batches(trainer)[0];
    let (_, list) = listing(|| model.loss(batch, Mode::Training).unwrap());
    let parameters: Vec<_> = model.parameters().collect();
    Planned::by(on, &list, &parameters, optimizer.as_ref(), recipe.accum)
}

/// |a − b| / |b|.
pub fn apart(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let pairs = a.iter().zip(b);
    let off = norm(&mut pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)));
    off / norm(&mut b.iter().map(|b| f64::from(*b))).max(1e-12)
}
