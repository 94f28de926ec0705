//! The door of the fuzz target `cli_args`: what is decided about the words typed before a file is
//! touched. Compiled for it and for tests.

use crate::args::{Cli, Parsed, Preset, Verb, parse};
use crate::defaults::TextDefaults;
use crate::error::Result;
use crate::program::Program;
use crate::text::Request;
use crate::{number_of_threads, plan};
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use std::ffi::OsString;
use std::sync::Arc;

/// Parses the words and checks what they mean.
///
/// # Panics
/// When a refusal is not one clean line.
pub fn check(program: &Program, words: Vec<OsString>) {
    let line = match parse(program, words) {
        Parsed::Text(_) => return,
        Parsed::Wrong(line) => line,
        Parsed::Failed(e) => e.line(),
        Parsed::Run(cli) => match decide(program, &cli) {
            Ok(()) => return,
            Err(e) => {
                assert!([2, 71].contains(&e.exit_code()), "{e:?}");
                e.line()
            }
        },
    };
    assert!(line.starts_with("error: "), "{line:?}");
    assert!(!line.contains(char::is_control), "{line:?}");
}

fn decide(program: &Program, cli: &Cli) -> Result<()> {
    let request = |sampling, preset: Option<Preset>| {
        let tokenizer: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
        Request::new(sampling, &TextDefaults::choose(preset), &tokenizer, 1, None).map(drop)
    };
    match &cli.verb {
        None if cli.train.load.is_some() => request(&cli.train.sampling, None),
        None => {
            number_of_threads(&cli.train.output)?;
            plan::check_flags(program, &cli.train)?;
            request(&cli.train.sampling, cli.train.recipe.preset)
        }
        Some(Verb::Generate(args)) => {
            number_of_threads(&args.output)?;
            request(&args.sampling, None)
        }
        Some(Verb::Eval(args)) => number_of_threads(&args.output).map(drop),
        Some(Verb::Bench(args)) => number_of_threads(&args.output).map(drop),
        Some(Verb::Completions { .. }) => Ok(()),
    }
}
