//! `runs` and `report`.

use super::OutputArgs;
use crate::words::{flags, words};
use std::path::PathBuf;

flags! {
    /// `runs`.
    pub struct RunsArgs {
        /// Folders of runs, or folders that hold such [default: runs]
        /// zh: 训练目录，或装着训练目录的目录 [默认：runs]
        <folders>: Vec<PathBuf> = "DIR";
        /// Which come first [default: name]
        /// zh: 按什么排序 [默认：name]
        sort: Option<RunsOrder> = "BY";
        /// One JSON object a line
        /// zh: 每行一个 JSON 对象
        json: bool;
    }
}

words! {
    /// The order of a list of runs.
    pub enum RunsOrder {
        /// By their folders
        /// zh: 按目录名
        Name = "name",
        /// The lowest validation loss first
        /// zh: 验证损失最低的在前
        Loss = "loss",
        /// The newest first
        /// zh: 最新的在前
        Date = "date",
    }
}

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
