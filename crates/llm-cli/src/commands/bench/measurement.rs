//! What a workload gives.

use serde::Serialize;

/// One measurement, one JSON line.
#[derive(Debug, Serialize)]
pub struct Measurement {
    /// Who was measured.
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
    /// The same as a share of the measured peak.
    pub share_of_peak: f64,
    /// Bytes of weights and cache read a second, as a share of what memory gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_bandwidth: Option<f64>,
    /// Blocks of 4 KiB and more that the measured steps asked the system for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_allocations: Option<u64>,
}

/// What a workload gives.
pub(super) struct WorkloadResult {
    pub measurements: Vec<Measurement>,
    /// Where the time goes, for a person.
    pub table: String,
}

/// The middle one.
pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
