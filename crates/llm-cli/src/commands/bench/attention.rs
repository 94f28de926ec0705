//! Causal attention alone, between the projections.

use super::measurement::{Bench, Measurement, median};
use crate::error::{Result, RunError};
use llm_core::message;
use llm_core::{Tensor, no_grad, ops};

/// B, H, T, D.
const SHAPES: [[usize; 4]; 2] = [[4, 12, 1024, 64], [8, 6, 256, 64]];

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let attend = bench.program.attend.ok_or_else(|| {
        let name = bench.program.models.name;
        RunError::Usage(message!("{} has no attention that can be measured by itself", name))
    })?;
    let mut measurements = Vec::new();
    for [b, h, t, d] in SHAPES {
        let numbers = |n: usize| (0..n).map(|i| ((i * 37) % 61) as f32 / 30.0 - 1.0).collect();
        let qkv = Tensor::from_vec(&[b, t, 3 * h * d], numbers(b * t * 3 * h * d))?;
        let qkv = Tensor::parameter(qkv.view().to_owned());
        let reps = bench.args.steps.unwrap_or(15);
        let time = |f: &dyn Fn() -> Result<()>| {
            f()?;
            f()?;
            median(reps, f)
        };
        let forward = time(&|| Ok(no_grad(|| attend(&qkv, h)).map(drop)?))?;
        let both = time(&|| Ok(ops::sum(&attend(&qkv, h)?)?.backward().map(drop)?))?;
        // Half of T², for Q·Kᵀ and P·V; backward counts 2.5 times the forward.
        let flops = 3.5 * (2 * b * h * t * t * d) as f64;
        let name = format!("attention-B{b}-H{h}-T{t}-D{d}");
        let measured = bench.measured(name, both, b * t, flops);
        measurements.push(Measurement { fwd_ms: Some(forward * 1e3), ..measured });
    }
    Ok(measurements)
}
