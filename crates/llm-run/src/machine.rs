//! What a run runs on.

use llm_core::base::machine;
use llm_core::kernels::gemm::engine::{Engine, engine};
use llm_core::kernels::gemm::{Precision, bf16};
use llm_core::kernels::simd;
use std::time::SystemTime;

/// The kernels that make the bits of a run with such products.
pub fn kernels(matmul: Precision) -> String {
    let level = match engine() {
        Engine::Own => simd::level().name().into(),
        other => format!("{}, products by {}", simd::level().name(), other.name()),
    };
    let order = bf16::order().name();
    match matmul {
        Precision::F32 => level,
        Precision::Bf16 if bf16::has_unit() => format!("{level}, bf16 in {order}"),
        Precision::Bf16 => format!("{level}, bf16 in {order} emulated"),
        Precision::F16 => format!("{level}, f16"),
    }
}

/// The processor as it calls itself, or its architecture.
pub fn processor() -> String {
    machine::processor().unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The time, in UTC as RFC 3339 writes it; 1970 where the clock is before that.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now().max(SystemTime::UNIX_EPOCH)).to_string()
}
