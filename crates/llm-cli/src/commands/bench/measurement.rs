//! What is measured, and what a workload gives.

use crate::args::BenchArgs;
use crate::error::Result;
use crate::program::Program;
use serde::Serialize;
use std::time::Instant;

/// The program that measures, and how.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub program: &'a Program,
    pub args: &'a BenchArgs,
    pub threads: usize,
    /// Floating-point operations a second that one could reach, in units of 10⁹.
    pub peak: f64,
}

impl Bench<'_> {
    /// The measurement of a workload, by its time, tokens and useful operations.
    pub fn measured(&self, name: String, seconds: f64, tokens: usize, flops: f64) -> Measurement {
        let gflops = flops / seconds / 1e9;
        Measurement {
            peer: format!("{} {}", self.program.models.name, env!("CARGO_PKG_VERSION")),
            workload: name,
            ms_per_step: seconds * 1e3,
            tokens_per_s: tokens as f64 / seconds,
            threads: self.threads,
            gflops,
            share_of_peak: Some(gflops / self.peak),
            ..Measurement::default()
        }
    }
}

/// One measurement, one JSON line.
#[derive(Debug, Default, Serialize)]
pub struct Measurement {
    /// Name and version of the program that was measured.
    pub peer: String,
    /// What was done.
    pub workload: String,
    /// Median time of a step, in milliseconds; of forward and backward for attention.
    pub ms_per_step: f64,
    /// Median time of the forward alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fwd_ms: Option<f64>,
    /// Tokens a second at that time.
    pub tokens_per_s: f64,
    /// Threads at work.
    pub threads: usize,
    /// Useful floating-point operations a second, in units of 10⁹.
    pub gflops: f64,
    /// `gflops` as a share of the processor's measured peak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_peak: Option<f64>,
    /// Bytes of weights and cache read a second, as a share of what memory gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_bandwidth: Option<f64>,
    /// Blocks of 4 KiB and more that the measured steps asked the system for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_allocations: Option<u64>,
    /// The GPU, if it was not the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// The seconds that `work` takes, of `n` times the one in the middle.
pub(super) fn median(n: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(n);
    for _ in 0..n {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(n / 2).copied().unwrap_or(0.0))
}
