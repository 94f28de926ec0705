//! A file as it was when the format was made: it loads, and it is written like this.

use super::*;
use crate::optim::{OptimizerState, ParameterState};

pub(super) const GOLDEN: &[u8] = include_bytes!("../golden_v2.ckpt");

/// Built from formulas without rounding, so equal on every machine.
fn trainer() -> Trainer {
    let mut model = TinyGPT::with_attention(Config::gpt2(5, 4, 2, 1), two_heads(), 1).unwrap();
    let mut moments = Vec::new();
    for (k, (name, p)) in model.parameters_mut().enumerate() {
        let value = |i: usize| (i as f32 - 3.0) / 8.0 + k as f32;
        p.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x = value(i));
        let m = (0..p.numel()).map(|i| -value(i) / 16.0).collect::<Vec<_>>().into();
        let v = (0..p.numel()).map(|i| value(i) * value(i)).collect::<Vec<_>>().into();
        moments.push(ParameterState { name, slots: vec![m, v] });
    }
    let mut trainer = Trainer::new(model, recipe()).unwrap();
    trainer.optimizer.restore(OptimizerState { t: 300, parameters: moments });
    trainer.step = 301;
    trainer
}

#[test]
fn the_golden_file_still_loads() {
    let checkpoint = read(GOLDEN).unwrap();
    assert!(checkpoint.has_optimizer());
    assert_eq!(checkpoint.meta.tokenizer, tokenizer());
    assert_equal(&trainer(), &checkpoint.into_trainer(two_heads()).unwrap(), true);
}

#[test]
fn the_format_has_not_changed() {
    assert_eq!(FORMAT_VERSION, 2, "a new version needs a golden file of its own");
    let file = bytes_of(&trainer(), &tokenizer(), true);
    assert!(file == GOLDEN);
}

/// `cargo test -p llm-core --lib write_the_golden_file -- --ignored`, once per format.
#[test]
#[ignore = "writes into the source tree"]
fn write_the_golden_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checkpoint/golden_v2.ckpt");
    save(&path, &trainer(), &tokenizer(), true).unwrap();
}
