//! `runs`.

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
