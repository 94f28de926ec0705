//! A run that leaves a log and what the model wrote; and goes on after a stop.
//!
//! `cargo run -p llm-run --example log_a_run`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::recipe::Recipe;
use llm_core::train::Trainer;
use llm_core::{Config, TinyGPT, TokenDataset};
use llm_run::log::{Row, RunLog, Sample, StepLines, rows};

/// The lesson, from top to bottom.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dir = folder.path();
    let data = TokenDataset::from_bytes(b"a small text to memorise, ".repeat(8));
    let mut trainer = Trainer::new(
        TinyGPT::new(Config::new(256, 16, 32, 1), 1)?,
        Recipe::new([4, 16], 30, 3e-3),
    )?;

    let mut log = RunLog::open(dir, 0)?; // a new run: no step is done
    for _ in 0..30 {
        let report = trainer.step(&data)?;
        let (step, tokens) = (report.step, report.step * trainer.recipe.tokens_per_step());
        log.row(Row { step, tokens, loss: report.loss, lr: report.lr, ..Row::default() })?;
    }
    log.val_loss(30, 4.0); // lands in the row of step 30
    log.flush(true)?; // and now the checkpoint of step 30 may be saved
    drop(log);
    println!("rows    {}", rows(dir)?.count());

    // Going on from a checkpoint of step 20: the log forgets the steps that it does not know.
    let log = RunLog::open(dir, 20)?;
    println!("kept    {} of them, {} tokens", rows(dir)?.count(), log.tokens.unwrap_or(0));

    let sample = Sample { step: 20, prompt: "a small ".into(), text: "text".into() };
    StepLines::open(dir, 20)?.push(&sample)?;
    let mut names: Vec<_> =
        std::fs::read_dir(dir)?.flatten().map(|file| file.file_name()).collect();
    names.sort();
    println!("folder  {names:?}");
    Ok(())
}
