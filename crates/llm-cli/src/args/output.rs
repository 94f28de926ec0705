//! Where a command reports to, and on how many threads it works.

use crate::words::words;
use clap::Args;
use llm_run::config::Beside;

/// Where the run reports to, and on how many threads it works.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Threads to work with; results do not depend on it [default: all cores]
    /// zh: 使用的线程数；结果与它无关 [默认：全部核心]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Results only
    /// zh: 只要结果
    #[arg(short, long, value_name = "0|1")]
    pub quiet: Option<bool>,
    /// `json`: standard output holds one JSON object a line and nothing else
    /// zh: `json`：标准输出每行一个 JSON 对象，没有别的
    #[arg(long, value_name = "human|json", hide_short_help = true)]
    pub message_format: Option<MessageFormat>,
    /// What was typed that stands in a file of settings besides those of a run.
    #[arg(skip)]
    pub beside: Vec<Beside>,
}

impl OutputArgs {
    /// Whether there is one JSON object a line.
    pub fn json(&self) -> bool {
        self.message_format == Some(MessageFormat::Json)
    }

    /// Whether there are results only.
    pub fn quiet(&self) -> bool {
        self.quiet.unwrap_or(false)
    }
}

words! {
    /// Ways to print.
    pub enum MessageFormat {
        /// For a person
        /// zh: 给人看
        Human = "human",
        /// For a program
        /// zh: 给程序用
        Json = "json",
    }
}
