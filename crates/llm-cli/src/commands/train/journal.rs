//! What a run writes about itself into its folder, see [`llm_run_log`].

use crate::args::TrainArgs;
use crate::error::{CliError, Result};
use crate::escape::one_line;
use crate::output::REPORT;
use crate::plan::Plan;
use crate::program::Program;
use crate::report;
use crate::report::run::{About, Ending};
use crate::settings::effective_config;
use llm_core::train::{SpikeGuard, StepReport, Trainer};
use llm_run_log::{Curves, Row, RunLog, Sample, Samples, plot};
use std::path::{Path, PathBuf};

/// The log of a run in its folder.
pub(super) struct Journal {
    dir: PathBuf,
    /// What `config.toml` holds.
    config: String,
    log: RunLog,
    samples: Samples,
    about: About,
    tokens: u64,
    vocab_size: usize,
    floor: Option<f64>,
    /// Of all steps, once the last is done.
    curves: Option<Curves>,
}

impl Journal {
    /// Writes the settings and opens the log for a run that is about to begin or to go on.
    ///
    /// # Errors
    /// [`CliError::Core`] naming the file.
    pub(super) fn open(
        dir: &Path,
        program: &Program,
        plan: &Plan,
        args: &TrainArgs,
        threads: usize,
    ) -> Result<Journal> {
        let (trainer, dir) = (&plan.trainer, dir.to_path_buf());
        let recipe = &trainer.recipe;
        let config = effective_config(program, &plan.decided(), args, threads);
        llm_run_log::write_config(&dir, &config)?;
        let log = RunLog::open(&dir, trainer.step)?;
        let samples = Samples::open(&dir, trainer.step)?;
        let (data, model) = (plan.data.as_ref(), &trainer.model);
        let about = About::new(program, data, model, &plan.tokenizer, threads)?;
        let before = trainer.step.saturating_mul(recipe.tokens_per_step());
        let tokens = log.tokens().unwrap_or(before);
        let stories = plan.data.as_ref().and_then(|d| d.val.as_ref()?.stories.as_ref());
        let (vocab_size, floor) = (trainer.model.config().vocab_size, stories.map(|s| s.floor));
        Ok(Journal { dir, config, log, samples, about, tokens, vocab_size, floor, curves: None })
    }

    /// Whether the log went away.
    pub(super) fn is_gone(&self) -> bool {
        !self.log.exists()
    }

    /// The run's folder, with all that is in it, has another name now.
    pub(super) fn moved_to(&mut self, dir: &Path) {
        self.log.moved_to(dir);
        self.samples.moved_to(dir);
        self.dir = dir.to_path_buf();
    }

    /// Makes the log again, in the folder `dir` that was made again after `done` steps: the rows up
    /// to there went with the old folder.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub(super) fn begin_again(&mut self, dir: &Path, done: u64) -> Result<()> {
        self.dir = dir.to_path_buf();
        llm_run_log::write_config(&self.dir, &self.config)?;
        self.log = RunLog::open(&self.dir, done)?;
        self.samples = Samples::open(&self.dir, done)?;
        Ok(())
    }

    /// What the user should know about the log that was there.
    pub(super) fn notes(&self) -> &[String] {
        self.log.notes()
    }

    /// Tells the guard what the last steps were, so that it goes on as if it had seen them.
    pub(super) fn remind(&self, guard: &mut SpikeGuard) {
        let rows = llm_run_log::rows(&self.dir).into_iter().flatten();
        // The guard itself forgets what is older than its window.
        rows.flatten().for_each(|row| guard.remember(row.loss, row.grad_norm));
    }

    /// After each step.
    ///
    /// # Errors
    /// [`CliError::Core`] naming the file, once.
    pub(super) fn step(&mut self, report: &StepReport, tokens_per_s: f64) -> Result<()> {
        let StepReport { step, loss, lr, grad_norm, tokens, skipped: _ } = *report;
        self.tokens = self.tokens.saturating_add(tokens);
        let (tokens, memory_bytes) = (self.tokens, self.log.memory_bytes());
        let tokens_per_s = tokens_per_s as f32;
        let row =
            Row { step, tokens, loss, val_loss: None, lr, grad_norm, tokens_per_s, memory_bytes };
        self.log.row(row).map_err(CliError::from)
    }

    /// After a measurement.
    pub(super) fn val_loss(&mut self, step: u64, loss: f64) {
        self.log.val_loss(step, loss);
    }

    /// After a text was written.
    ///
    /// # Errors
    /// [`CliError::Core`] naming the file.
    pub(super) fn sample(&self, sample: &Sample) -> Result<()> {
        self.samples.push(sample).map_err(CliError::from)
    }

    /// Writes the page of the run, after its last step, and says where.
    ///
    /// # Errors
    /// [`CliError::Core`] naming the file; nothing else is lost by it.
    pub(super) fn report(&mut self, trainer: &Trainer, ending: Ending<'_>) -> Result<PathBuf> {
        self.log.flush(false)?;
        let curves = Curves::read(&self.dir, self.vocab_size, self.floor)?;
        let ending = Ending { tokens: self.tokens, ..ending };
        let (title, samples) = (self.dir.display().to_string(), self.samples.all()?);
        let page = report::run::page(
            &one_line(&title),
            &self.about,
            trainer,
            (&curves).into(),
            samples,
            ending,
        );
        self.curves = Some(curves);
        let path = self.dir.join(REPORT);
        report::write(&path, &page)?;
        Ok(path)
    }

    /// Before a checkpoint is saved: it must not know a step that the log does not.
    ///
    /// # Errors
    /// [`CliError::Core`] naming the file, once.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.log.flush(true).map_err(CliError::from)
    }
}

impl Drop for Journal {
    /// However a run ends, its picture shows all of its steps.
    fn drop(&mut self) {
        let _ = self.log.flush(false);
        let curves = self
            .curves
            .take()
            .map_or_else(|| Curves::read(&self.dir, self.vocab_size, self.floor), Ok);
        if let Ok(curves) = curves {
            let _ = plot::write(&self.dir, &curves);
        }
    }
}
