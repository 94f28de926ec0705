//! What the trainers share: flags, verbs, messages, exit codes. A library, so that the binaries
//! stay a description of themselves.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | what a binary is: its name, its attention |
//! | [`machine`] | which version it is, and what it runs on |
//! | [`lang`] | the language of what is printed |
//! | `words` | what help says in both languages, and the words that a flag takes |
//! | `messages` | the words of both languages |
//! | `voice` | which of several processes speaks |
//! | `looks` | what was given in the place of what a verb reads |
//! | [`error`] | what ends a command, exit codes |
//! | `variables` | words of the environment that choose kernels and the language |
//! | [`console`] | the terminal's two ends |
//! | `crew` | several processes on one run |
//! | [`panics`], [`signals`] | a panic as one line, Ctrl-C |
//! | [`flags`] | the settings of a model and of a run that can be typed, each in one row |
//! | [`args`] | what can be typed |
//! | `threads` | the one thread pool |
//! | [`events`], [`progress`] | JSON lines; a bar |
//! | [`generation`] | writing text, tables of next tokens |
//! | [`probes`] | next-token checks |
//! | [`settings`] | the flags as a TOML file, read and written |
//! | [`command_line`] | from the words typed to what is to be done |
//! | [`next_commands`] | commands to type next |
//! | [`commands`] | training, `generate`, `eval`, `tokenizer`, `trace`, `inspect`, `runs`, `report`, `compare`, `bench`, `export`, `import`, `completions` |
//!
//! This crate knows libraries and no variant: each binary brings its attention along.
//! The allocator and the panic hook are the binary's too, so that another program can have its own.

// No library depends on this crate: a comment stands where a name does not say it.
#![allow(missing_docs)]

pub mod program;

pub mod machine;

pub mod lang;

mod words;

mod messages;

mod variables;
mod voice;

mod looks;

pub mod error;

pub mod console;

mod crew;

pub mod panics;
pub mod signals;

pub mod flags;

pub mod args;

mod threads;

pub mod events;
pub mod progress;

pub mod generation;

pub mod probes;

pub mod settings;

pub mod command_line;

pub mod next_commands;

pub mod commands;

#[cfg(test)]
mod plan_tests;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

pub use error::{Result, RunError};
pub use llm_run::arch::Arch;
pub use llm_run::models::{AttentionKind, BASELINE, Beyond, Heads, Models, NamedBlock};
#[doc(hidden)]
pub use panics::Panics;
pub use program::{ALL_OPTIONS, Program};

use command_line::Parsed;
use console::{note, print};
use error::exit;
use lang::Lang;
use llm_core::base::arenas;
use std::process::ExitCode;

/// Does what the command line says; the whole of a binary. On a stack of its own: how much the first
/// thread has is for the system to say, and may be too little to read the words.
pub fn run(program: &Program) -> ExitCode {
    arenas::share_if_limited();
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(threads::STACK_OF_MAIN);
        match work.spawn_scoped(scope, || done(program)) {
            Ok(work) => work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => exit(Err(RunError::Threads(1))),
        }
    })
}

/// [`run`], wherever it runs.
fn done(program: &Program) -> ExitCode {
    let (lang, words) = Lang::taken_from(std::env::args_os());
    lang.choose();
    let verb = words.get(1).map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    let parsed = command_line::parse(program, words);
    if !matches!(parsed, Parsed::Run(_)) {
        crew::first_speaks(); // all were given the same words
    }
    let cli = match parsed {
        Parsed::Run(cli) => *cli,
        Parsed::Text(text) => return exit(print(text)),
        Parsed::Failed(e) => return exit(Err(crew::said_once(e))),
        Parsed::Wrong(line) => {
            note(line);
            return ExitCode::from(error::Kind::Usage.code());
        }
    };
    exit(variables::check().and_then(|()| commands::dispatch(program, &cli, &verb)))
}
