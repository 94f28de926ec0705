//! An adapter, models, and how far two arrays are apart.

use llm_core::listing::listing;
use llm_core::model::{Batch, Mode};
use llm_core::optim::OptimizerState;
use llm_core::{AdamW, Hyperparameters, TinyGPT, TokenDataset};
use llm_gpu::{Gpu, GpuError, Planned, Step};

/// The adapter that `LLM_GPU` names a part of, else the system's first; `None`, with the reason
/// printed, where there is none.
pub fn gpu() -> Option<Gpu> {
    let asked = std::env::var("LLM_GPU").ok();
    match Gpu::open(asked.as_deref()) {
        Ok(gpu) => {
            println!("on {}", gpu.name());
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

/// The step of this model over batches of this shape.
pub fn planned(model: &TinyGPT, batch: &Batch) -> Result<Planned, GpuError> {
    let (_, list) = listing(|| model.loss(batch, Mode::Training).unwrap());
    let parameters: Vec<_> = model.parameters().collect();
    Planned::new(&list, &parameters, &adamw(), 1)
}

pub fn on(gpu: &Gpu, model: &TinyGPT, batch: &Batch) -> Step {
    let planned = planned(model, batch).unwrap_or_else(|e| panic!("{e}"));
    planned.load(gpu, model, &OptimizerState::default()).unwrap()
}

/// |a − b| / |b|.
pub fn apart(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let pairs = a.iter().zip(b);
    let off = norm(&mut pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)));
    off / norm(&mut b.iter().map(|b| f64::from(*b))).max(1e-12)
}
