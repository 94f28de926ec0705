//! Several processes on one run.

use super::duration::duration;
use crate::crew::CrewKind;
use clap::Args;
use std::time::Duration;

/// Several processes on one run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Several processes")]
pub struct CrewArgs {
    /// Who works on each step: all processes that mpirun or srun started, by the machine's MPI
    /// library (auto, mpi), or this one alone (none) [default: auto]
    /// zh: 由谁做每一步：mpirun 或 srun 启动的所有进程，经由本机的 MPI 库（auto、mpi），或只有这一个（none） [默认：auto]
    #[arg(long, value_name = "KIND", hide_short_help = true)]
    pub crew: Option<CrewKind>,
    /// End all processes when one does not answer for so long [default: 300s]
    /// zh: 有一个进程这么久没有回应时，结束所有进程 [默认：300s]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub crew_timeout: Option<Duration>,
    /// Each process keeps the optimizer's state of its share of the weights only; the same bytes
    /// are saved
    /// zh: 每个进程只存自己那份权重的优化器状态；保存的字节不变
    #[arg(long, value_name = "0|1", hide_short_help = true)]
    pub shard_optimizer: Option<bool>,
}
