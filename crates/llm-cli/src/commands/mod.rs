//! What can be done.

mod banner;
mod bench;
mod chat;
mod compare;
mod devices;
mod eval;
mod export;
mod generate;
mod import;
mod import_chats;
mod inspect;
mod loaded;
mod report;
mod runs;
mod scored;
mod serve;
mod tokenizer;
mod trace;
mod train;
mod written;

pub use bench::{Workload as BenchWorkload, workload as bench_workload};
pub(crate) use train::train;

use crate::args::{Cli, TrainArgs, Verb, command};
use crate::console::print;
use crate::crew::{self, CrewKind};
use crate::error::Result;
use crate::lang::Lang;
use crate::program::Program;
use crate::progress::watched;
use crate::settings;
use crate::threads::in_pool;
use llm_core::{Error, IoAction};
use llm_run::budget::in_time;
use llm_run::clock::TimeBudget;
use llm_run::device::Device;
use llm_run::options::Options;
use llm_run::plan::Plan;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Does what was typed, in a pool of threads.
///
/// # Errors
/// What the verb refuses.
pub(crate) fn dispatch(program: &Program, cli: &Cli, verb: &str) -> Result<()> {
    if cli.verb.is_some() {
        crew::alone(verb)?;
    }
    match &cli.verb {
        Some(Verb::Generate(args)) => in_pool(&args.output, |_| generate::generate(program, args)),
        Some(Verb::Chat(args)) => in_pool(&args.output, |_| chat::chat(program, args)),
        Some(Verb::Serve(args)) => in_pool(&args.output, |_| serve::serve(program, args)),
        Some(Verb::Eval(args)) => in_pool(&args.output, |_| eval::eval(program, args)),
        Some(Verb::Tokenizer(verb)) => tokenizer::tokenizer(program, verb),
        Some(Verb::Trace(args)) => in_pool(&args.output, |_| trace::trace(program, args)),
        Some(Verb::Bench(args)) => in_pool(&args.output, |n| bench::bench(program, args, n)),
        Some(Verb::Compare(args)) => in_pool(&args.output, |n| compare::compare(program, args, n)),
        Some(Verb::Export(args)) => in_pool(&args.output, |_| export::export(program, args)),
        Some(Verb::Import(args)) => in_pool(&args.output, |_| import::import(program, args)),
        Some(Verb::Inspect(verb)) => inspect::inspect(program, verb),
        Some(Verb::Runs(args)) => runs::runs(args),
        Some(Verb::Report(args)) => in_pool(&args.output, |n| report::report(program, args, n)),
        Some(Verb::Completions { shell }) => completions(program, *shell),
        Some(Verb::Man { folder }) => manual(program, folder),
        None => trained(program, &cli.train),
    }
}

/// Trains, or prints the settings of a training.
fn trained(program: &Program, args: &TrainArgs) -> Result<()> {
    if args.crew.device == Some(Device::List) {
        return devices::list(args.output.json());
    }
    let options = &llm_run::plan::with_habits(&args.options());
    let several = args.crew.crew != Some(CrewKind::None);
    let one_flag = [
        (args.print_config, "--print-config"),
        (args.dry_run, "--dry-run"),
        (args.overfit, "--overfit"),
        (args.recipe.time.map(|_| true), "--time"), // each process would choose for itself
    ];
    if let Some((_, flag)) = one_flag.iter().find(|(on, _)| several && *on == Some(true)) {
        crew::alone(flag)?;
    }
    if args.print_config == Some(true) {
        return in_pool(&args.output, |threads| print_config(program, args, options, threads));
    }
    crew::with_crew(args.crew.crew, args.crew.crew_timeout, |team| {
        in_pool(&args.output, |threads| train(program, args, options, threads, team))
    })
}

/// Prints a completion script.
///
/// # Errors
/// When standard output fails.
fn completions(program: &Program, shell: clap_complete::Shell) -> Result<()> {
    let (mut script, mut command) = (Vec::new(), kept_command(program));
    clap_complete::generate(shell, &mut command, program.models.name, &mut script);
    print(script)
}

/// Writes the manual pages, `PROGRAM.1` and `PROGRAM-VERB.1`.
///
/// # Errors
/// When the folder or a page cannot be written.
fn manual(program: &Program, folder: &Path) -> Result<()> {
    let pages = || clap_mangen::generate_to(kept_command(program), folder);
    let written = fs::create_dir_all(folder).and_then(|()| pages());
    written.map_err(|e| Error::io(IoAction::Save, folder, e).into())
}

/// The command in English: what is kept in a file stays, whatever language is chosen later.
fn kept_command(program: &Program) -> clap::Command {
    let lang = Lang::chosen();
    Lang::En.choose();
    let command = command(program);
    lang.choose();
    command
}

/// Prints the settings of the run that would be done.
///
/// # Errors
/// Whatever the run would be refused for, and when standard output fails.
fn print_config(program: &Program, args: &TrainArgs, of: &Options, threads: usize) -> Result<()> {
    let clock = TimeBudget { begin: Instant::now(), most: None };
    let options = &in_time(&program.models, of, &clock)?.options;
    let plan = watched(args.output.quiet(), |watch| Plan::new(&program.models, options, watch))?;
    let decided = &plan.decided();
    print(settings::printable_config(program.models.name, decided, args, options, threads))
}
