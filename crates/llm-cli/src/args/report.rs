//! `report`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of runs, or folders that hold such
    /// zh: 训练目录，或装着训练目录的目录
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The page [default: report.html in the run's folder; of several runs, where the first one's
    /// folder is]
    /// zh: 网页的位置 [默认：训练目录里的 report.html；几次训练时，与第一次的目录放在一起]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}
