//! What the workspace's tests share: PyTorch fixtures and comparisons, and running the programs.

#![allow(clippy::unwrap_used)] // a helper that fails fails the test

pub mod answers;
pub mod cli_support;
pub mod fixture;

use llm_core::Config;
use llm_core::model::{Footprint, SingleHead};
use std::path::PathBuf;

/// The workspace's folder.
pub fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// |got − want| ≤ tol·max(1, |want|) for every element.
///
/// # Panics
/// Naming the worst element otherwise.
pub fn assert_close(what: &str, got: &[f32], want: &[f64], tol: f64) {
    assert_eq!(got.len(), want.len(), "{what}: number of elements");
    let error = |i: &usize| (f64::from(got[*i]) - want[*i]).abs() / want[*i].abs().max(1.0);
    for i in 0..got.len() {
        // NaN fails too
        assert!(error(&i) <= tol, "{what}[{i}]: {} instead of {}", got[i], want[i]);
    }
}

/// Sizes of a model with single-head or multi-head attention.
pub fn baseline(config: &Config) -> Footprint<'_> {
    Footprint::new(config, &SingleHead)
}
