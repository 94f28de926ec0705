//! Causal attention alone, between the projections.

use super::measurement::{Measurement, WorkloadResult, median};
use crate::args::BenchArgs;
use crate::error::{Result, RunError};
use crate::program::Program;
use llm_core::message;
use llm_core::{Tensor, no_grad, ops};
use std::time::Instant;

/// B, H, T, D.
const SHAPES: [[usize; 4]; 2] = [[4, 12, 1024, 64], [8, 6, 256, 64]];

pub(super) fn run(
    program: &Program,
    args: &BenchArgs,
    threads: usize,
    peak: f64,
) -> Result<WorkloadResult> {
    let attend = program.attend.ok_or_else(|| {
        let name = program.models.name;
        RunError::Usage(message!("{} has no attention that can be measured by itself", name))
    })?;
    let mut measurements = Vec::new();
    for [b, h, t, d] in SHAPES {
        let numbers = |n: usize| (0..n).map(|i| ((i * 37) % 61) as f32 / 30.0 - 1.0).collect();
        let qkv = Tensor::from_vec(&[b, t, 3 * h * d], numbers(b * t * 3 * h * d))?;
        let qkv = Tensor::parameter(qkv.view().to_owned());
        let reps = args.steps.unwrap_or(15);
        let time = |f: &dyn Fn() -> Result<()>| -> Result<f64> {
            f()?;
            f()?;
            let mut times = Vec::with_capacity(reps);
            for _ in 0..reps {
                let start = Instant::now();
                f()?;
                times.push(start.elapsed().as_secs_f64());
            }
            Ok(median(times))
        };
        let forward = time(&|| Ok(no_grad(|| attend(&qkv, h)).map(drop)?))?;
        let both = time(&|| Ok(ops::sum(&attend(&qkv, h)?)?.backward().map(drop)?))?;
        // Half of T², for Q·Kᵀ and P·V; backward counts 2.5 times the forward.
        let flops = 3.5 * (2 * b * h * t * t * d) as f64;
        measurements.push(Measurement {
            peer: format!("{} {}", program.models.name, env!("CARGO_PKG_VERSION")),
            workload: format!("attention-B{b}-H{h}-T{t}-D{d}"),
            ms_per_step: both * 1e3,
            fwd_ms: Some(forward * 1e3),
            tokens_per_s: (b * t) as f64 / both,
            threads,
            gflops: flops / both / 1e9,
            share_of_peak: flops / both / 1e9 / peak,
            share_of_bandwidth: None,
            large_allocations: None,
        });
    }
    Ok(WorkloadResult { measurements, table: String::new() })
}
