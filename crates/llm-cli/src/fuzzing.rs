//! The doors of the fuzz targets `cli_args` and `config_file`: what is decided about the words typed
//! and about the settings in a file before any other file is touched. Compiled for them and for
//! tests.

use crate::args::{
    Cli, DataArgs, RecipeArgs, SamplingArgs, TokenizerArgs, TrainArgs, Verb, command,
};
use crate::command_line::{Parsed, parse_with};
use crate::error::{Kind, Result, RunError};
use crate::generation::Request;
use crate::messages::spelled;
use crate::program::Program;
use crate::settings::{printable_config, text_of};
use crate::threads::number_of_threads;
use clap::Command;
use llm_core::base::escape::one_line;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_run::defaults::{INTERVAL, LOG_EVERY, Preset, TextDefaults};
use llm_run::plan::{Settings, check_options};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

thread_local! {
    /// By the name of the program: to build a command takes much longer than to parse with it.
    static COMMANDS: RefCell<HashMap<&'static str, Command>> = RefCell::default();
}

/// Parses the words, the program's name first, and checks what they mean.
///
/// # Panics
/// When a refusal is not one clean line, or has not the number of its kind.
pub fn check(program: &Program, words: Vec<OsString>) {
    let nothing = |path: &Path| Err(RunError::Input { path: path.into(), why: "not read".into() });
    drop(accepted(program, words, nothing));
}

/// The words after `--config` and a file of these bytes before the words. What is accepted, which is
/// the result, is printed and read again; names that are no text could not be.
///
/// # Panics
/// As [`check`], and when what is read again is refused or means something else.
pub fn check_config(program: &Program, words: &[String], file: &[u8]) -> bool {
    let read = |path: &Path| text_of(path, file);
    let config = [program.models.name, "--config", "run.toml"].map(OsString::from);
    let words = config.into_iter().chain(words.iter().map(OsString::from)).collect();
    let Some(run) = accepted(program, words, read) else { return false };
    let printed = |Accepted { args, settings, threads }: &Accepted| {
        let (decided, options) = (settings.decided(), args.options());
        printable_config(program.models.name, &decided, args, &options, *threads)
    };
    let text = printed(&run);
    let again = [program.models.name, "--config", "printed"].map(OsString::from).to_vec();
    let again = accepted(program, again, |_| Ok(text.clone()));
    let again = again.unwrap_or_else(|| panic!("not understood again:\n{text}"));
    assert_eq!(again.settings.decided(), run.settings.decided(), "{text}");
    assert_eq!(rest(&again.args), rest(&run.args), "{text}");
    assert_eq!(printed(&again), text);
    true
}

/// A new run that nothing is wrong with.
struct Accepted {
    args: TrainArgs,
    settings: Settings,
    threads: usize,
}

/// The run that the words ask for; nothing for other commands and for refusals, which are judged.
fn accepted(
    program: &Program,
    words: Vec<OsString>,
    read: impl FnOnce(&Path) -> Result<String>,
) -> Option<Accepted> {
    let parsed = COMMANDS.with_borrow_mut(|commands| {
        let command = commands.entry(program.models.name).or_insert_with(|| command(program));
        parse_with(program, command, words, read)
    });
    let (line, number, numbers) = match parsed {
        Parsed::Text(_) => return None,
        Parsed::Wrong(line) => (spelled(&line), Kind::Usage.code(), [Kind::Usage.code(); 2]),
        Parsed::Failed(e) => {
            (crate::error::line(&e), e.kind().code(), [Kind::Usage.code(), Kind::NoInput.code()])
        }
        Parsed::Run(cli) => match decide(program, *cli) {
            Ok(run) => return run,
            Err(e) => (
                crate::error::line(&e),
                e.kind().code(),
                [Kind::Usage.code(), Kind::NoMemory.code()],
            ),
        },
    };
    assert!(line.starts_with("error: "), "{line:?}");
    assert_eq!(one_line(&line), line);
    assert!(numbers.contains(&number), "{number}: {line}");
    None
}

fn decide(program: &Program, cli: Cli) -> Result<Option<Accepted>> {
    let request = |sampling: &SamplingArgs, preset: Option<Preset>| {
        let mut sampling = sampling.clone();
        sampling.prompt.file = None;
        let tokenizer: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
        let (usual, learned) = (TextDefaults::choose(preset), DataSource::NONE);
        Request::new(&sampling, &usual, &tokenizer, 1, &learned).map(drop)
    };
    let args = cli.train;
    match &cli.verb {
        None if args.load.is_some() => request(&args.sampling, None)?,
        None => {
            // Asking how many cores there are takes longer than all the rest.
            let output = &args.output;
            let threads = output.threads.map_or(Ok(2), |_| number_of_threads(output))?;
            let settings = check_options(&program.models, &args.options(), 4000)?;
            request(&args.sampling, args.recipe.preset)?;
            return Ok(Some(Accepted { args, settings, threads }));
        }
        Some(Verb::Generate(args)) => request(&args.sampling, None)?,
        Some(_) => {} // their words are all that can be judged
    }
    Ok(None)
}

/// What a file says besides what [`Decided`](llm_run::plan::Decided) holds.
fn rest(args: &TrainArgs) -> String {
    #[rustfmt::skip]
    let TrainArgs { config: _, print_config: _, dataset: _, files, allow_data_change, model: _, heads: _, recipe, load, dpo: _, lora, base, recompute, forget, save, out, no_save, save_opt, save_every, keep, eval_every, log_every, sample_every, overfit, dry_run, crew, output, sampling, probes, nano_gpt: _ } = args;
    let DataArgs { data, data_as, end_of_text, val_frac: _, val, tokenizer } = files;
    let RecipeArgs { max_time, patience, skip_spikes, preset, .. } = recipe;
    // The kind is decided, and a trained vocabulary's size is then printed.
    let TokenizerArgs { kind: _, vocab_size: _, bpe_vocab, bpe_merges } = tokenizer;
    let save_opt = save_opt.unwrap_or(true);
    let every = [save_every, eval_every].map(|n| n.unwrap_or(INTERVAL));
    let log_every = log_every.unwrap_or(LOG_EVERY);
    let rest = (
        (data, (data_as, end_of_text), val, bpe_vocab, bpe_merges, allow_data_change),
        (load, (lora, base, recompute, forget), save, out, no_save, dry_run),
        (save_opt, every, log_every, keep, sample_every, overfit),
        (max_time, patience, skip_spikes, preset),
        (crew, output.quiet, output.message_format, sampling, probes),
    );
    format!("{rest:?}")
}
