//! What has no kernels is refused by name, before anything runs: no adapter is needed.

use crate::support::{Case, planned};
use llm_core::model::{Activation, SingleHead};
use llm_core::{Attention, Config};
use llm_gpu::GpuError;
use llm_variant_mha::MultiHead;

fn refusal(config: Config, attention: impl Attention + 'static) -> GpuError {
    planned(&Case::new(config, attention, 2).trainer()).unwrap_err()
}

#[test]
fn an_op_without_kernels_is_named() {
    let config = Config { activation: Activation::Gelu, ..Config::new(256, 8, 8, 1) };
    let said = refusal(config, SingleHead).to_string();
    assert_eq!(said, "'gelu_exact' has no kernels for a GPU; this model trains on the processor");
}

#[test]
fn what_an_op_cannot_do_is_said() {
    let attention = MultiHead::with_head_mask(2, vec![true, false]);
    let said = refusal(Config::new(256, 8, 8, 1), attention).to_string();
    assert!(
        said.contains("'attention' has no kernels for a GPU with heads switched off"),
        "{said}"
    );
    let config = Config { ngrams: vec![2], ngram_rows: 64, ..Config::new(256, 8, 8, 1) };
    let said = refusal(config, SingleHead).to_string();
    assert!(said.contains("'embedding' has no kernels for a GPU of other rows"), "{said}");
}
