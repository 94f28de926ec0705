//! What a step costs, by its list: no device is needed to count.

use llm_core::listing::listing;
use llm_core::model::{Config, Mode};
use llm_core::optim::{AdamW, Hyperparameters};
use llm_core::{TinyGPT, TokenDataset};
use llm_gpu::Planned;
use llm_variant_mha::MultiHead;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plan of a step of a model with four heads.
fn planned(config: Config, rows: usize) -> Planned {
    let [vocab, seq] = [config.vocab_size, config.seq_len];
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
    let text = TokenDataset::from_bytes((0..4 * seq + 1).map(|i| (i % vocab) as u8).collect());
    let batch = text.batch(1, 0, [rows, seq]).unwrap();
    let (loss, list) = listing(|| model.loss(&batch, Mode::Training));
    loss.unwrap();
    let parameters: Vec<_> = model.parameters().collect();
    let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    Planned::new(&list, &parameters, &optimizer, 1).unwrap()
}

#[test]
fn calls_of_a_step() {
    for (config, rows) in [(Config::new(65, 64, 128, 4), 12), (Config::new(65, 64, 128, 12), 12)] {
        let planned = planned(config, rows);
        let mut of = BTreeMap::<_, usize>::new();
        for call in &planned.plan.calls {
            *of.entry(call.kernel.entry).or_default() += 1;
        }
        println!("{} calls: {of:?}", planned.calls());
    }
}
