//! The one thread pool of the process.

use crate::args::OutputArgs;
use crate::error::{CliError, Result};
use llm_core::base::{arenas, memory};
use llm_core::threads::{MAX, STACK};

/// Runs `f` inside the pool, and tells it the number of threads.
///
/// # Errors
/// [`CliError::Usage`] for a number that cannot be, [`CliError::Threads`] when the system does not
/// give so many; what `f` says.
pub(crate) fn in_pool(
    output: &OutputArgs,
    f: impl FnOnce(usize) -> Result<()> + Send,
) -> Result<()> {
    let threads = number_of_threads(output)?;
    arenas::share_if_limited();
    memory::require(threads as u64 * STACK).map_err(|_| CliError::Threads(threads))?;
    // Said here: what `RUST_MIN_STACK` says may be less than any work needs.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(2 << 20).build();
    pool.map_err(|_| CliError::Threads(threads))?.install(|| f(threads))
}

/// As many as are asked for, or as there are cores.
///
/// # Errors
/// [`CliError::Usage`] for a number that cannot be.
pub(crate) fn number_of_threads(output: &OutputArgs) -> Result<usize> {
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match output.threads.unwrap_or_else(cores) {
        threads @ 1..=MAX => Ok(threads),
        threads => Err(CliError::Usage(format!("--threads {threads} is outside 1..={MAX}"))),
    }
}
