//! `report`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of runs, or folders that hold such
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The page [default: report.html in the run's folder; of several runs, where the first one's
    /// folder is]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}
