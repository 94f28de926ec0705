//! Which program this is, and what it runs on: for `--version`, and for a run's folder.

use llm_core::kernels::gemm::{Precision, bf16};
use llm_core::kernels::simd;
use std::time::SystemTime;

/// The version, with the commit that it was built from where that is known.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("LLM_COMMIT").map_or(version.into(), |commit| format!("{version} ({commit})"))
}

/// What else decides about speed, in lines.
pub fn details() -> String {
    let features = [("avx512", cfg!(feature = "avx512")), ("bpe", cfg!(feature = "bpe"))];
    let features: Vec<_> = features.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let features = if features.is_empty() { "none".into() } else { features.join(", ") };
    format!(
        "kernels    {} on this machine\nprocessor  {}\nfeatures   {features}\n",
        kernels(Precision::Bf16),
        processor()
    )
}

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
