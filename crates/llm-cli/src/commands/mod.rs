//! What can be done.

use crate::learning::Learning;
use llm_run::options::Options;
mod banner;
mod bench;
mod compare;
mod eval;
mod export;
mod generate;
mod import;
mod inspect;
mod report;
mod runs;
mod tokenizer;
mod trace;
mod train;
mod written;

pub use bench::{Workload as BenchWorkload, bench, workload as bench_workload};
pub use compare::compare;
pub use eval::eval;
pub use export::export;
pub use generate::generate;
pub use import::import;
pub use inspect::inspect;
pub use report::report;
pub use runs::runs;
pub use tokenizer::tokenizer;
pub use trace::trace;
pub(crate) use train::train;

use crate::args::{TrainArgs, command};
use crate::console::{note, print};
use crate::error::{Result, RunError, reason};
use crate::lang::Lang;
use crate::messages::spelled;
use crate::program::Program;
use crate::settings;
use llm_core::base::escape::one_line;
use llm_core::message;
use llm_run::data::Validation;
use llm_run::plan::Plan;

/// Says what was done to a text before it is scored.
fn say_changed(val: &Validation) {
    if let Some(label) = &val.about {
        note(message!("data    {}", one_line(&spelled(label))));
    }
}

/// Says which folder could not be looked into.
fn left_out(e: RunError) {
    note(message!("left out: {}", reason(&e)));
}

/// Prints a completion script.
///
/// # Errors
/// When standard output fails.
pub fn completions(program: &Program, shell: clap_complete::Shell) -> Result<()> {
    let (mut script, lang) = (Vec::new(), Lang::chosen());
    Lang::En.choose(); // a script is kept, whatever language is chosen later
    clap_complete::generate(shell, &mut command(program), program.models.name, &mut script);
    lang.choose();
    print(script)
}

/// Prints the settings of the run that would be done.
///
/// # Errors
/// Whatever the run would be refused for, and when standard output fails.
pub fn print_config(
    program: &Program,
    args: &TrainArgs,
    options: &Options,
    threads: usize,
) -> Result<()> {
    let watch = Learning::new(args.output.quiet());
    let plan = watch.watch(|watch| Plan::new(&program.models, options, watch))?;
    let decided = &plan.decided();
    print(settings::printable_config(program.models.name, decided, args, options, threads))
}
