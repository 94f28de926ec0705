//! Training goes down, continues exactly, and does not depend on the number of threads.

use llm_core::data::{Batch, ByteFiles, Origin, TokenDataset};
use llm_core::model::{Init, Mode};
use llm_core::optim::OPTIMIZERS;
use llm_core::recipe::{DataSource, Recipe};
use llm_core::train::{Hooks, OneProcess, StepReport, Trainer, Verdict, Work, evaluate};
use llm_core::{Config, Error, Gradients, TinyGPT};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::sync::Arc;

fn text() -> TokenDataset {
    TokenDataset::from_bytes(b"it was the best of times, it was the worst of times; ".repeat(40))
}

fn recipe(data: &TokenDataset) -> Recipe {
    Recipe {
        val_frac: 0.1,
        data: DataSource::text(data.len() as u64, [0; 32]),
        ..Recipe::new([4, 32], 20, 3e-3)
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
    for row in OPTIMIZERS {
        bits_of_any_number_of_threads(row.name);
    }
}

fn bits_of_any_number_of_threads(optimizer: &str) {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config = Config::new(256, 64, 96, 1);
            let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
            let optimizer = optimizer.into();
            let recipe = Recipe { batch_size: 12, seq_len: 64, optimizer, ..recipe(&text()) };
            let mut trainer = Trainer::new(model, recipe).unwrap();
            let losses: Vec<f32> = (0..5).map(|_| trainer.step(&text()).unwrap().loss).collect();
            (losses, weights(&trainer))
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{optimizer}, {threads} threads");
    }
}

/// What blocks add to the stream starts at 0, everything else as without; gradients that are exactly 0 in the
/// first step harm no optimizer.
#[test]
fn blocks_that_start_at_zero_are_learned() {
    let config = Config { init: Init::ZeroOut, ..Config::new(256, 32, 48, 2) };
    let start = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
    for ((name, p), (_, of_others)) in start.parameters().zip(trainer(4).model.parameters()) {
        match name.ends_with("w_proj") || name.ends_with("w_out") {
            true => assert!(p.data().iter().all(|x| *x == 0.0), "{name}"),
            false => assert_eq!(p.data(), of_others.data(), "{name}"),
        }
    }
    for row in OPTIMIZERS {
        let recipe = Recipe { optimizer: row.name.into(), ..recipe(&text()) };
        let mut trainer = Trainer::new(start.clone(), recipe).unwrap();
        (0..3).for_each(|_| assert!(trainer.step(&text()).unwrap().loss.is_finite()));
        for ((name, p), (_, before)) in trainer.model.parameters().zip(start.parameters()) {
            assert!(p.data().iter().all(|x| x.is_finite()), "{}: {name}", row.name);
            assert_ne!(p.data(), before.data(), "{}: {name}", row.name);
        }
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
        matches!(&error, Error::Diverged { what, step: 2, .. } if what.template() == "the loss"),
        "{error}"
    );
    let same =
        |a: &Vec<f32>, b: &Vec<f32>| a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits());
    assert!(before.iter().zip(&weights(&trainer)).all(|(a, b)| same(a, b)));
    assert_eq!((trainer.step, trainer.optimizer.state().t), (1, 1));
}

/// A finite loss with an infinite gradient is caught too, and the tensor named.
#[test]
fn an_infinite_gradient_is_named() {
    let mut trainer = trainer(2);
    // Weights this large leave the loss finite (the norm before them hides their size) ...
    trainer.model.blocks[0].w_out.data_mut().iter_mut().for_each(|x| *x *= 1e37);
    match trainer.step(&text()) {
        Err(Error::Diverged { what, .. }) => {
            let what = what.to_string();
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
        Err(Error::Config { field: "seq_len", .. })
    ));
    let tiny = TokenDataset::from_bytes(vec![1; 32]);
    assert!(matches!(trainer(1).step(&tiny), Err(Error::DataTooSmall { .. })));
}

/// Four micro-batches are one batch of four times as many windows, dropout's masks included.
#[test]
fn accumulation_equals_the_bigger_batch() {
    for dropout in [0.0, 0.2] {
        let run = |batch_size, accum| {
            let config = Config { dropout, ..Config::new(256, 32, 48, 2) };
            let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
            let recipe = Recipe { batch_size, accum, ..recipe(&text()) };
            let mut trainer = Trainer::new(model, recipe).unwrap();
            let reports: Vec<_> = (0..6).map(|_| trainer.step(&text()).unwrap()).collect();
            (reports, weights(&trainer))
        };
        let ((whole, a), (parts, b)) = (run(8, 1), run(2, 4));
        for (whole, parts) in whole.iter().zip(&parts) {
            assert_eq!(whole.tokens, parts.tokens);
            assert!((whole.loss - parts.loss).abs() < 1e-6 * whole.loss);
            assert!((whole.grad_norm - parts.grad_norm).abs() < 1e-5 * whole.grad_norm);
        }
        // AdamW turns the last bit of a gradient near 0 into more: most weights, not all, to 1e-6.
        let near = |tol: f32| {
            let pairs = a.iter().flatten().zip(b.iter().flatten());
            pairs.filter(|(x, y)| (*x - *y).abs() <= tol).count() as f64
        };
        let all = near(f32::INFINITY);
        assert!(near(1e-6) > 0.99 * all, "{} of {all} within 1e-6", near(1e-6));
    }
}

/// Gradients of a sum of losses, to the 1e-6 that accumulation promises.
#[test]
fn gradients_add_up() {
    let trainer = trainer(4);
    let data = text();
    let whole = data.batch(3, 0, [6, 32]).unwrap();
    let want = trainer.model.loss(&whole, Mode::Evaluation).unwrap().backward().unwrap();
    let mut grads = Gradients::default();
    for first_row in [0, 2, 4] {
        let part = data.rows(Origin { seed: 3, first_row, ..Origin::default() }, [2, 32]).unwrap();
        let loss = trainer.model.loss(&part, Mode::Evaluation).unwrap();
        grads = loss.backward_into(grads, 1.0 / 3.0).unwrap();
    }
    for (name, p) in trainer.model.parameters() {
        for (g, w) in grads.get(p).unwrap().iter().zip(want.get(p).unwrap()) {
            assert!((g - w).abs() <= 1e-6 * w.abs().max(1.0), "{name}: {g}, not {w}");
        }
    }
}

struct StopAt {
    at: usize,
    asked: usize,
}

impl Hooks for StopAt {
    fn interrupted(&mut self) -> bool {
        self.asked += 1;
        self.asked == self.at + 1
    }
}

struct SkipAll;

impl Hooks for SkipAll {
    fn check(&mut self, report: &StepReport, _: &mut dyn Work) -> llm_core::Result<Verdict> {
        assert!(report.loss > 0.0);
        Ok(Verdict::Skip)
    }
}

/// A step that is stopped between two micro-batches has changed nothing.
#[test]
fn a_stopped_accumulation_changes_nothing() {
    let run = |stop_at: Option<usize>| {
        let mut trainer = trainer(2);
        trainer.recipe.accum = 3;
        if let Some(at) = stop_at {
            let stopped = trainer.step_with(&text(), &mut OneProcess, &mut StopAt { at, asked: 0 });
            assert!(matches!(stopped, Err(Error::Stopped { step: 0 })));
            assert_eq!((trainer.step, trainer.optimizer.state().t), (0, 0));
        }
        trainer.step(&text()).unwrap();
        weights(&trainer)
    };
    let want = run(None);
    assert!([0, 1, 2].into_iter().all(|at| run(Some(at)) == want));
}

/// A skipped step takes its batch and its number, and nothing else.
#[test]
fn a_skipped_step_changes_no_weight() {
    let mut trainer = trainer(2);
    trainer.step(&text()).unwrap();
    let (before, losses) = (weights(&trainer), trainer.clone().step(&text()).unwrap());
    let report = trainer.step_with(&text(), &mut OneProcess, &mut SkipAll).unwrap();
    assert_eq!((report.loss, report.skipped, trainer.step), (losses.loss, true, 2));
    assert_eq!(trainer.optimizer.state().t, 1);
    assert!(weights(&trainer) == before);
}

#[test]
fn dropout_is_for_training_only_and_changes_with_every_step() {
    let config = Config { dropout: 0.3, ..Config::gpt2(256, 32, 48, 2) };
    let model = TinyGPT::with_attention(config.clone(), Arc::new(MultiHead::new(4)), 1).unwrap();
    let without = TinyGPT::from_parameters(
        Config { dropout: 0.0, ..config },
        Arc::new(MultiHead::new(4)),
        model.parameters().map(|(name, p)| (name, p.clone())).collect(),
    );
    let data = text();
    let batch = data.batch(1, 0, [4, 32]).unwrap();
    assert_eq!(
        model.loss(&batch, Mode::Evaluation).unwrap().item(),
        without.unwrap().loss(&batch, Mode::Evaluation).unwrap().item()
    );
    let loss = |step| {
        let batch = Batch { origin: Origin { step, ..batch.origin }, ..batch.clone() };
        model.loss(&batch, Mode::Training).unwrap().item()
    };
    assert_eq!(loss(0), loss(0));
    assert!(loss(0) != loss(1) && loss(0) != model.loss(&batch, Mode::Evaluation).unwrap().item());
}

#[test]
fn data_in_a_file_train_the_same_and_a_lost_file_changes_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = text().tokens(0, text().len()).unwrap().iter().map(|&t| t as u8).collect();
    std::fs::write(file.path(), &bytes).unwrap();
    let data = TokenDataset::from_files(ByteFiles::open(&[file.path()]).unwrap());
    let (mut on_disk, mut in_memory) = (trainer(1), trainer(1));
    for trainer in [&mut on_disk, &mut in_memory] {
        trainer.recipe.accum = 2;
    }
    for _ in 0..3 {
        assert_eq!(on_disk.step(&data).unwrap(), in_memory.step(&text()).unwrap());
    }
    file.as_file().set_len(40).unwrap();
    assert!(matches!(on_disk.step(&data), Err(Error::Io { .. })));
    assert_eq!((on_disk.step, on_disk.optimizer.state().t), (3, 3));
    assert!(weights(&on_disk) == weights(&in_memory));
    let windows = data.windows(32);
    let scored = evaluate(&on_disk.model, &data, &windows, 4, |_| ControlFlow::Continue(()));
    assert!(matches!(scored, Err(Error::Io { .. })));
}
