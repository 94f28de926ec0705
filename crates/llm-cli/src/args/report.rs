//! `report`.

use super::OutputArgs;
use crate::words::flags;
use std::path::PathBuf;

flags! {
    /// `report`.
    pub struct ReportArgs {
        /// Folders of runs, or folders that hold such
        /// zh: 训练目录，或装着训练目录的目录
        <runs>: Vec<PathBuf> = "RUN" [required = true];
        /// The page [default: report.html in the run's folder; of several runs, where the first
        /// one's folder is]
        /// zh: 网页的位置 [默认：训练目录里的 report.html；几次训练时，与第一次的目录放在一起]
        html: Option<PathBuf> = "FILE";
        /// What is printed.
        ..output: OutputArgs;
    }
}
