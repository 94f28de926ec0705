//! The one thread pool of the process.

use crate::args::OutputArgs;
use crate::error::{Result, RunError, usage};
use llm_core::base::machine::{self, Cores};
use llm_core::base::memory;
use llm_core::message;
use llm_core::threads::{MAX, STACK};
use llm_crew_mpi::Launcher;

/// The stack on which words are read and done.
pub(crate) const STACK_OF_MAIN: usize = 4 << 20;

/// Runs `f` inside the pool, and tells it the number of threads.
///
/// # Errors
/// [`RunError::Usage`] for an invalid number, [`RunError::Threads`] when the system does not
/// give that many; what `f` says.
pub fn in_pool(output: &OutputArgs, f: impl FnOnce(usize) -> Result<()> + Send) -> Result<()> {
    let threads = number_of_threads(output)?;
    memory::require(threads as u64 * STACK).map_err(|_| RunError::Threads(threads))?;
    // Said here: what `RUST_MIN_STACK` says may be less than any work needs.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(2 << 20).build();
    pool.map_err(|_| RunError::Threads(threads))?.install(|| f(threads))
}

/// As many as are asked for, or as there are fast cores for each process that shares them.
///
/// # Errors
/// [`RunError::Usage`] for a number that cannot be.
pub(crate) fn number_of_threads(output: &OutputArgs) -> Result<usize> {
    let cores = || cores_of_one(machine::cores(), Launcher::neighbours());
    match output.threads.unwrap_or_else(cores) {
        threads @ 1..=MAX => Ok(threads),
        threads => usage(message!("--threads {} is outside 1..={}", threads, MAX)),
    }
}

/// The cores of one of several `neighbours` on a machine with `all` cores, of which this process may
/// use `free`. A launcher that has bound each process to cores of its own has divided them already.
fn cores_of_one(Cores { all, free }: Cores, neighbours: usize) -> usize {
    let share = (all / neighbours.max(1)).max(1);
    if neighbours > 1 && free < all { free } else { share.min(free) }
}

#[cfg(test)]
mod tests {
    use super::{Cores, cores_of_one};

    #[test]
    fn processes_share_the_cores_of_their_machine() {
        assert_eq!(cores_of_one(Cores { free: 16, all: 16 }, 1), 16);
        assert_eq!(cores_of_one(Cores { free: 16, all: 16 }, 4), 4);
        assert_eq!(cores_of_one(Cores { free: 2, all: 2 }, 8), 1);
        // Bound to cores of its own.
        assert_eq!(cores_of_one(Cores { free: 4, all: 16 }, 4), 4);
        assert_eq!(cores_of_one(Cores { free: 1, all: 16 }, 4), 1);
        // One process that may not use all.
        assert_eq!(cores_of_one(Cores { free: 3, all: 16 }, 1), 3);
    }
}
