//! Gradients averaged over two trainers, through a hook: each learns from batches of its own, and
//! both stay one model. Two threads and two channels stand for two machines and a network.
//!
//! `cargo run --release -p llm-core --example two_trainers`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::model::BatchShape;
use llm_core::train::{Hooks, OneProcess, Pending, RunPlan, Trainer};
use llm_core::{Config, Error, Recipe, Result, TinyGPT, TokenDataset};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A loss, and the gradients of all parameters in the model's order.
type Share = (f64, Vec<Vec<f32>>);

/// One of two trainers that learn together.
struct Together {
    to: Sender<Share>,
    from: Receiver<Share>,
}

impl Hooks for Together {
    /// Between backward and update: the gradient is complete, the weights are as before.
    fn before_update(&mut self, pending: &mut Pending<'_>) -> Result<()> {
        let gone = || Error::Hook("the other trainer has ended".into());
        let mine = pending.gradients().into_iter().map(|(_, g)| g.to_vec()).collect();
        self.to.send((*pending.loss, mine)).map_err(|_| gone())?;
        let (loss, theirs) = self.from.recv().map_err(|_| gone())?;
        *pending.loss = (*pending.loss + loss) / 2.0;
        for ((_, mine), theirs) in pending.gradients().into_iter().zip(theirs) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = (*a + b) / 2.0);
        }
        Ok(()) // what follows is the step's: norm, clipping, the optimizer
    }
}

/// Equal weights at the start; the recipe's seed decides which rows of the text are read.
fn trainer(seed: u64) -> Result<Trainer> {
    let config = Config { seq_len: 16, d_model: 16, ..Config::default() };
    let shape = BatchShape { batch_size: 4, seq_len: 16 };
    Trainer::new(TinyGPT::new(config, 1)?, Recipe { seed, ..Recipe::new(shape, 40, 1e-2) })
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let text = b"the cat sat on the mat and the dog lay by the door. ".repeat(30);
    let data = TokenDataset::from_bytes(text);
    let ((to_two, from_one), (to_one, from_two)) = (channel(), channel());
    let mut first = Together { to: to_two, from: from_two };
    let mut second = Together { to: to_one, from: from_one };
    let (mut one, mut two) = (trainer(1)?, trainer(2)?);
    let plan = RunPlan::new(40);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| two.run(&data, &plan, &mut OneProcess, &mut second));
        one.run(&data, &plan, &mut OneProcess, &mut first)?;
        other.join().expect("the other trainer's thread")
    })?;
    for ((_, a), (_, b)) in one.model.parameters().zip(two.model.parameters()) {
        assert_eq!(a.data(), b.data()); // bit for bit, after every step
    }
    println!("step {}  two trainers, one model", one.step);

    // A trainer alone, with half as much to read in a step, goes another way.
    let mut alone = trainer(1)?;
    alone.run(&data, &plan, &mut OneProcess, &mut ())?;
    assert_ne!(alone.model.wte.data(), one.model.wte.data());

    // One that is left alone ends with an error; its weights are as before the step.
    drop(second);
    let error = one.run(&data, &plan, &mut OneProcess, &mut first).expect_err("nobody answers");
    println!("step {}  {error}", one.step);
    Ok(())
}
