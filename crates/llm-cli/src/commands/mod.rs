//! What can be done.

mod banner;
mod bench;
mod eval;
mod generate;
mod train;

pub use bench::{Name as BenchName, Workload as BenchWorkload, bench};
pub use eval::eval;
pub use generate::generate;
pub use train::train;

use crate::args::command;
use crate::console::Out;
use crate::error::Result;
use crate::program::Program;

/// Prints a completion script.
///
/// # Errors
/// When standard output fails.
pub fn completions(program: &Program, shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(program), program.name, &mut script);
    let mut out = Out::default();
    out.write(&script);
    out.finish()
}
