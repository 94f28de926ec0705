//! Training goes down, continues exactly, and does not depend on the number of threads.

use llm_core::data::TokenDataset;
use llm_core::recipe::{DataSource, Recipe};
use llm_core::train::Trainer;
use llm_core::{AdamWConfig, Config, Error, Schedule, TinyGPT};
use llm_variant_mha::MultiHead;
use std::sync::Arc;

fn text() -> TokenDataset {
    TokenDataset::from_bytes(b"it was the best of times, it was the worst of times; ".repeat(40))
}

fn recipe(data: &TokenDataset) -> Recipe {
    Recipe {
        batch_size: 4,
        seq_len: 32,
        total_steps: 20,
        schedule: Schedule::constant(3e-3),
        adamw: AdamWConfig::default(),
        clip: 1.0,
        seed: 1,
        val_frac: 0.1,
        data: DataSource::Files { len: data.len() as u64, blake3: [0; 32] },
    }
}

fn trainer(heads: usize) -> Trainer {
    let config = Config::new(256, 32, 48, 2);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(heads)), 1).unwrap();
    Trainer::new(model, recipe(&text())).unwrap()
}

fn weights(trainer: &Trainer) -> Vec<Vec<f32>> {
    trainer.model.parameters().map(|(_, p)| p.data().to_vec()).collect()
}

#[test]
fn the_same_bits_with_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config = Config::new(256, 64, 96, 1);
            let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
            let recipe = Recipe { batch_size: 12, seq_len: 64, ..recipe(&text()) };
            let mut trainer = Trainer::new(model, recipe).unwrap();
            let losses: Vec<f32> = (0..5).map(|_| trainer.step(&text()).unwrap().loss).collect();
            (losses, weights(&trainer))
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_diverged_step_changes_nothing() {
    let mut trainer = trainer(2);
    trainer.step(&text()).unwrap();
    trainer.model.blocks[1].w_fc.data_mut()[5] = f32::NAN;
    let before = weights(&trainer);
    let error = trainer.step(&text()).unwrap_err();
    assert!(
        matches!(&error, Error::Diverged { what, step: 2, .. } if what == "the loss"),
        "{error}"
    );
    let same =
        |a: &Vec<f32>, b: &Vec<f32>| a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits());
    assert!(before.iter().zip(&weights(&trainer)).all(|(a, b)| same(a, b)));
    assert_eq!((trainer.step, trainer.optimizer.t()), (1, 1));
}

/// A finite loss with an infinite gradient is caught too, and the tensor named.
#[test]
fn an_infinite_gradient_is_named() {
    let mut trainer = trainer(2);
    // Weights this large leave the loss finite (the norm before them hides their size) ...
    trainer.model.blocks[0].w_out.data_mut().iter_mut().for_each(|x| *x *= 1e37);
    match trainer.step(&text()) {
        Err(Error::Diverged { what, .. }) => {
            assert!(what.starts_with("the gradient") || what == "the loss", "{what}");
        }
        Ok(report) => assert!(report.loss.is_finite() && report.grad_norm.is_finite()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let config = Config::new(256, 16, 8, 1);
    let model = TinyGPT::new(config, 1).unwrap();
    assert!(matches!(
        Trainer::new(model, recipe(&text())),
        Err(Error::Config { field: "seq", .. })
    ));
    let tiny = TokenDataset::from_bytes(vec![1; 32]);
    assert!(matches!(trainer(1).step(&tiny), Err(Error::DataTooSmall { .. })));
}
