//! What a run runs on.

use llm_core::kernels::gemm::{Precision, bf16};
use llm_core::kernels::simd;
use std::time::SystemTime;

/// The kernels that make the bits of a run with such products.
pub fn kernels(matmul: Precision) -> String {
    let level = simd::level().name();
    let order = bf16::order().name();
    match matmul {
        Precision::F32 => level.into(),
        Precision::Bf16 if bf16::has_unit() => format!("{level}, bf16 in {order}"),
        Precision::Bf16 => format!("{level}, bf16 in {order} emulated"),
    }
}

/// The processor as it calls itself, or its architecture.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| {
        let (key, name) = line.split_once(':')?;
        (key.trim() == "model name").then(|| name.trim().to_string())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The time, in UTC as RFC 3339 writes it; 1970 where the clock is before that.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now().max(SystemTime::UNIX_EPOCH)).to_string()
}
