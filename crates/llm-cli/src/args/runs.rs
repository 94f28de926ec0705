//! `runs`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Folders of runs, or folders that hold such [default: runs]
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Which come first [default: name]
    #[arg(long, value_name = "BY")]
    pub sort: Option<RunsOrder>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// The order of a list of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunsOrder {
    /// By their folders
    Name,
    /// The lowest validation loss first
    Loss,
    /// The newest first
    Date,
}
