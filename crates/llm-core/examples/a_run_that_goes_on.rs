//! A run in a program of its own: measured, kept, stopped in time, and continued exactly.
//!
//! `cargo run --release -p llm-core --example a_run_that_goes_on`
#![allow(clippy::print_stdout)] // an example may print

use llm_core::checkpoint::{Checkpoint, TokenizerSpec};
use llm_core::model::{BatchShape, SingleHead};
use llm_core::train::{Keeper, OneProcess, Patience, RunPlan, TimeLimit, Trainer};
use llm_core::{Config, Recipe, Result, TokenDataset};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Trains up to `steps` steps in all, in `folder`: from its last state, if there is one.
fn train(folder: &Path, steps: u64) -> Result<Trainer> {
    let text = b"the cat sat on the mat and the dog lay by the door. ".repeat(60);
    let (data, unseen) = TokenDataset::from_bytes(text).split(0.1);
    let mut trainer = match Checkpoint::load(&folder.join("last")) {
        Ok(checkpoint) => checkpoint.into_trainer(Arc::new(SingleHead))?,
        Err(_) => {
            let config = Config { seq_len: 32, d_model: 32, ..Config::default() };
            let shape = BatchShape { batch_size: 4, seq_len: 32 };
            Trainer::fresh(config, Recipe::new(shape, steps, 1e-2))?
        }
    };
    let plan = RunPlan::new(steps - trainer.step).evaluating(&unseen, 32, 20).saving(10);
    let limits = (Patience::new(5), TimeLimit::new(Duration::from_secs(60)));
    let mut keeper = Keeper::new(folder, TokenizerSpec::bytes());
    let ending = trainer.run(&data, &plan, &mut OneProcess, &mut (&mut keeper, limits))?;
    keeper.save_last((&trainer).into())?;
    println!("step {:3}  {ending:?}, best so far: {:?}", trainer.step, keeper.best());
    Ok(trainer)
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let [parts, whole] = ["parts", "whole"].map(|name| {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map(|()| folder).expect("a folder for the run")
    });
    train(&parts, 40)?;
    let continued = train(&parts, 80)?; // a new process would do the same
    let at_once = train(&whole, 80)?;
    assert_eq!(continued.model.wte.data(), at_once.model.wte.data()); // bit for bit
    for folder in [parts, whole] {
        let _ = std::fs::remove_dir_all(folder);
    }
    Ok(())
}
