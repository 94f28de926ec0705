//! Way 1 of the page on what changed: one program, the baseline for one head, the variant for more.

use llm_core::model::SingleHead;
use llm_core::{Attention, Batch, Config, TinyGPT};
use llm_variant_mha::MultiHead;
use std::sync::Arc;

fn attention_for(n_heads: usize) -> Arc<dyn Attention> {
    match n_heads {
        1 => Arc::new(SingleHead),
        h => Arc::new(MultiHead::new(h)),
    }
}

#[test]
fn one_head_is_the_baseline_and_more_are_the_variant() {
    let batch = Batch::new(Vec::from_iter(0..16), Vec::from_iter(1..17), [2, 8]);
    let config = Config::new(17, 8, 12, 2);
    let loss = |n_heads| {
        let model = TinyGPT::with_attention(config.clone(), attention_for(n_heads), 5).unwrap();
        assert_eq!(model.attention().spec().n_heads, n_heads);
        model.loss(&batch).unwrap().item()
    };
    let baseline = TinyGPT::new(config.clone(), 5).unwrap().loss(&batch).unwrap().item();
    assert_eq!(loss(1), baseline);
    assert_ne!(loss(4), baseline);
}
