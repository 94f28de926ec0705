//! The program of way 1 makes the baseline for one head, and the variant for more.

#[path = "../../examples/way_one/src/main.rs"]
#[allow(dead_code)] // its main is run by its own tests
mod program;

use llm_core::model::Mode;
use llm_core::{Batch, Config, TinyGPT};
use program::attention_for;

#[test]
fn one_head_is_the_baseline_and_more_are_the_variant() {
    let batch = Batch::new(Vec::from_iter(0..16), Vec::from_iter(1..17), [2, 8]);
    let config = Config::new(17, 8, 12, 2);
    let loss = |n_heads| {
        let model = TinyGPT::with_attention(config.clone(), attention_for(n_heads), 5).unwrap();
        assert_eq!(model.attention().spec().n_heads, n_heads);
        model.loss(&batch, Mode::Evaluation).unwrap().item()
    };
    let baseline =
        TinyGPT::new(config.clone(), 5).unwrap().loss(&batch, Mode::Evaluation).unwrap().item();
    assert_eq!(loss(1), baseline);
    assert_ne!(loss(4), baseline);
}
