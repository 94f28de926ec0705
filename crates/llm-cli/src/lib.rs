//! What both trainers share: flags, verbs, messages, exit codes. A library, so that the binaries
//! stay a description of themselves.
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | what a binary is: its name, its attention |
//! | [`args`] | what can be typed |
//! | [`defaults`] | the values of flags that are not given |
//! | [`settings`] | the same as a TOML file, read and written |
//! | [`plan`] | flags, checkpoint and data made into a run; everything is checked here |
//! | [`data`], [`tokenizers`], [`target`] | what is read, how it is cut, where it is saved |
//! | [`commands`] | training, `generate`, `eval`, `tokenizer`, `trace`, `inspect`, `compare`, `bench`, `export`, `import`, `completions` |
//! | [`inspect`] | what is inside a model: sizes, who looks at whom, what heads do, which can go |
//! | [`exchange`] | models from and for other programs |
//! | [`progress`], [`events`], [`console`] | bar and lines, JSON, the terminal's two ends |
//! | [`run_log`] | what a run leaves in its folder besides checkpoints |
//! | [`trace`] | one number of attention followed by hand |
//! | [`report`] | one page about a run, a model or a comparison |
//! | [`probes`], [`text`], [`typed`], [`lang`] | next-token checks, writing text, commands to type next, languages |
//! | [`signals`], [`error`] | Ctrl-C, exit codes |
//!
//! This crate knows llm-core and no variant: the multi-head binary brings its attention along.

pub mod args;
pub mod commands;
pub mod console;
pub mod data;
pub mod defaults;
pub mod error;
pub mod events;
pub mod exchange;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub mod inspect;
pub mod lang;
pub mod plan;
pub mod probes;
pub mod program;
pub mod progress;
pub mod report;
pub mod run_log;
pub mod settings;
pub mod signals;
pub mod target;
pub mod text;
pub mod tokenizers;
pub mod trace;
pub mod typed;

pub use error::{CliError, Result};
pub use program::{Heads, Program};

use args::{Cli, OutputArgs, Verb};
use console::{Out, note};
use llm_core::util::{allocations, memory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Does what the command line says; the whole of a binary.
pub fn run(program: &Program) -> ExitCode {
    let cli = match args::parse(program, std::env::args_os()) {
        args::Parsed::Run(cli) => *cli,
        args::Parsed::Text(text) => {
            let mut out = Out::default();
            out.write(text.as_bytes());
            return exit(out.finish());
        }
        args::Parsed::Failed(e) => return exit(Err(e)),
        args::Parsed::Wrong(line) => {
            note(&line);
            return ExitCode::from(error::code::USAGE);
        }
    };
    exit(guarded(|| dispatch(program, cli)))
}

fn dispatch(program: &Program, cli: Cli) -> Result<()> {
    let output = match &cli.verb {
        Some(Verb::Generate(args)) => &args.output,
        Some(Verb::Eval(args)) => &args.output,
        Some(Verb::Tokenizer(args)) => args.verb.output(),
        Some(Verb::Trace(args)) => &args.output,
        Some(Verb::Bench(args)) => &args.output,
        Some(Verb::Compare(args)) => &args.output,
        Some(Verb::Export(args)) => &args.output,
        Some(Verb::Import(args)) => &args.output,
        Some(Verb::Inspect(args)) => args.verb.output(),
        Some(Verb::Completions { shell }) => return commands::completions(program, *shell),
        None => &cli.train.output,
    };
    in_pool(output, |threads| match &cli.verb {
        Some(Verb::Generate(args)) => commands::generate(program, args),
        Some(Verb::Eval(args)) => commands::eval(program, args),
        Some(Verb::Tokenizer(args)) => commands::tokenizer(program, args),
        Some(Verb::Trace(args)) => commands::trace(program, args),
        Some(Verb::Bench(args)) => commands::bench(program, args, threads),
        Some(Verb::Compare(args)) => commands::compare(program, args, threads),
        Some(Verb::Export(args)) => commands::export(program, args),
        Some(Verb::Import(args)) => commands::import(program, args),
        Some(Verb::Inspect(args)) => commands::inspect(program, args),
        None if cli.train.print_config.unwrap_or(false) => {
            commands::print_config(program, &cli.train, threads)
        }
        _ => commands::train(program, &cli.train, threads),
    })
}

/// Counts large blocks, so that `bench` can show that a step takes none.
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// Runs `f` inside the one thread pool of the process.
fn in_pool(output: &OutputArgs, f: impl FnOnce(usize) -> Result<()> + Send) -> Result<()> {
    /// Address space of a thread: its stack, and what it sets up before it can report a failure.
    const STACK: u64 = 3 << 20;
    let threads = number_of_threads(output)?;
    memory::require(threads as u64 * STACK).map_err(|_| CliError::Threads(threads))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| CliError::Threads(threads))?.install(|| f(threads))
}

fn number_of_threads(output: &OutputArgs) -> Result<usize> {
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match output.threads.unwrap_or_else(cores) {
        threads @ 1..=1024 => Ok(threads),
        threads => Err(CliError::Usage(format!("--threads {threads} is outside 1..=1024"))),
    }
}

/// Turns a panic, on whatever thread it began, into an error with its message and place.
fn guarded(f: impl FnOnce() -> Result<()>) -> Result<()> {
    let message = Arc::new(Mutex::new(String::new()));
    let seen = message.clone();
    std::panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
        // Memory that ran out on the way unwinds with the library's own error.
        if let Ok(error) = payload.downcast::<llm_core::Error>() {
            return Err(CliError::Memory(*error, "--dmodel, --layers, --batch or --seq"));
        }
        let message = message.lock().unwrap_or_else(PoisonError::into_inner);
        Err(CliError::Internal(message.clone()))
    })
}

fn exit(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::from(error::code::OK),
        Err(e) => {
            // What a signal interrupted has been reported where it happened.
            if !matches!(e, CliError::Signal(_)) {
                note(&e.line());
            }
            ExitCode::from(e.exit_code())
        }
    }
}
