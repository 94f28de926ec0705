//! Which program this is, and what it runs on, for `--version`.

use llm_core::base::Message;
use llm_core::kernels::gemm::Precision;
use llm_core::message;
use llm_run::machine::{kernels, processor};

/// The version, with the commit that it was built from where that is known.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    option_env!("LLM_COMMIT").map_or(version.into(), |commit| format!("{version} ({commit})"))
}

/// What else decides about speed, in lines.
pub fn details() -> Message {
    let features = [("avx512", cfg!(feature = "avx512")), ("bpe", cfg!(feature = "bpe"))];
    let features: Vec<_> = features.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let features = if features.is_empty() { message!("none") } else { Message::list(features) };
    message!(
        "kernels    {} on this machine\nprocessor  {}\nfeatures   {}\n",
        kernels(Precision::Bf16),
        processor(),
        features
    )
}
