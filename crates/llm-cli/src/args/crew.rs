//! What works on a run: a device, several processes.

use crate::crew::CrewKind;
use crate::words::flags;
use llm_run::device::Device;
use llm_run::numbers::duration;
use std::time::Duration;

flags! {
    /// What works on a run.
    #[derive(Clone, Default)]
    pub struct CrewArgs in "Device and processes" {
        /// Where steps are computed: on this processor, or on a GPU, the first, that of a number, or
        /// the first whose name has NAME in it; list prints them [default: cpu]
        /// zh: 处理器或 GPU：第一块、第 N 块，或名字含 NAME 的；list 列出它们 [gpu、gpu:N、gpu:NAME；默认：cpu]
        device: Option<Device> = "cpu|gpu|gpu:N|gpu:NAME|list";
        /// Processes that work on each step: all that mpirun or srun started, by the machine's MPI
        /// library (auto, mpi), or this one alone (none) [default: auto]
        /// zh: 由谁做每一步：mpirun 或 srun 启动的所有进程，经由本机的 MPI 库（auto、mpi），或只有这一个（none） [默认：auto]
        crew: Option<CrewKind> = "KIND" rare;
        /// End all processes when one does not answer for so long [default: 300s]
        /// zh: 有一个进程这么久没有回应时，结束所有进程 [默认：300s]
        crew_timeout: Option<Duration> = "TIME" rare [value_parser = duration];
        /// Each process keeps the optimizer's state of its share of the weights only; the same
        /// bytes are saved
        /// zh: 每个进程只存自己那份权重的优化器状态；保存的字节不变
        shard_optimizer: Option<bool> = "0|1" rare;
    }
}
