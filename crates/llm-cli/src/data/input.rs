//! What was given to learn from or to be judged on, before it is cut into tokens.

use super::files::Files;
use super::reading::{Reading, is_stdin};
use crate::args::DataAs;
use crate::defaults::{STORY_COUNT, STORY_SEED};
use crate::error::{CliError, Result};
use llm_core::recipe::DataSource;
use llm_stories::GRAMMAR_VERSION;
use std::path::PathBuf;

/// Data as it was given.
#[derive(Debug)]
pub enum Input {
    /// The built-in stories.
    Stories {
        /// Their seed.
        seed: u64,
        /// How many.
        count: u64,
    },
    /// Files of one's own.
    Files(Files),
}

impl Input {
    /// The stories of a new run.
    pub fn stories() -> Input {
        Input::Stories { seed: STORY_SEED, count: STORY_COUNT }
    }

    /// Reads files in order, those of a folder too; `-` is standard input. What is larger than
    /// [`in_memory`](crate::defaults::in_memory) stays on the disk, if it can be read in parts; a
    /// stream cannot, nor what is converted, and neither do files beside them.
    ///
    /// # Errors
    /// [`CliError::Input`] for what cannot be read, [`CliError::Data`] for what is no text, and when
    /// nothing is in it.
    pub fn files(paths: &[PathBuf], reading: Reading) -> Result<Input> {
        Files::read(paths, reading).map(Input::Files)
    }

    /// The files that are given, else what a run learnt from if that can be made again; `None`:
    /// it learnt from files, which have to be given.
    ///
    /// # Errors
    /// As [`Input::files`].
    pub fn again(
        source: &DataSource,
        files: &[PathBuf],
        reading: Reading,
    ) -> Result<Option<Input>> {
        match source {
            _ if !files.is_empty() => Input::files(files, reading).map(Some),
            DataSource::Stories { seed, count, .. } => {
                Ok(Some(Input::Stories { seed: *seed, count: *count }))
            }
            DataSource::Files { .. } => Ok(None),
        }
    }

    /// What a checkpoint remembers of it.
    pub fn source(&self) -> DataSource {
        match self {
            Input::Stories { seed, count } => {
                DataSource::Stories { version: GRAMMAR_VERSION, seed: *seed, count: *count }
            }
            Input::Files(files) => files.source().clone(),
        }
    }
}

/// Refuses a word on what files hold when there are none.
///
/// # Errors
/// [`CliError::Usage`].
pub fn check_data_as(data: &[PathBuf], data_as: Option<DataAs>) -> Result<()> {
    if data_as.is_none() || !data.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage("--data-as is for files of one's own: it needs --data".into()))
}

/// Refuses to read standard input more than once.
///
/// # Errors
/// [`CliError::Usage`].
pub fn one_stdin<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.into_iter().filter(|path| is_stdin(path)).nth(1).is_none() {
        return Ok(());
    }
    Err(CliError::Usage("standard input (-) can be read only once; name a file".into()))
}
