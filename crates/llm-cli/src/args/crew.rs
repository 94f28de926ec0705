//! Several processes on one run.

use super::duration::duration;
use crate::crew::CrewKind;
use clap::Args;
use clap::builder::BoolishValueParser;
use std::time::Duration;

/// Several processes on one run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Several processes")]
pub struct CrewArgs {
    /// Who works on each step: all processes that mpirun or srun started, by the machine's MPI
    /// library (auto, mpi), or this one alone (none) [default: auto]
    #[arg(long, value_name = "KIND", hide_short_help = true)]
    pub crew: Option<CrewKind>,
    /// End all processes when one does not answer for so long [default: 300s]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub crew_timeout: Option<Duration>,
    /// Each process keeps the optimizer's state of its share of the weights only; the same bytes
    /// are saved
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", hide_short_help = true)]
    pub shard_optimizer: Option<bool>,
}
