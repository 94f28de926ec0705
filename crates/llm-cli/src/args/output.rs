//! Where a command reports to, and on how many threads it works.

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};

/// Where the run reports to, and on how many threads it works.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Threads to work with; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Results only
    #[arg(short, long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", action = ArgAction::Set)]
    pub quiet: Option<bool>,
    /// `json`: standard output holds one JSON object a line and nothing else
    #[arg(long, value_name = "human|json")]
    pub message_format: Option<MessageFormat>,
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

/// Ways to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For a person.
    Human,
    /// For a program.
    Json,
}
