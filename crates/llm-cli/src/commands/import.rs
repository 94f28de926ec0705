//! `import`: a checkpoint from another program's model.

use crate::args::{ImportArgs, ImportFormat};
use crate::console::{Out, note, one_line};
use crate::error::{CliError, Result};
use crate::events::{self, Event};
use crate::exchange::{Imported, Problem, hf, llm_cpp, own};
use crate::plan::check_heads_flag;
use crate::program::Program;
use crate::target::Target;
use crate::typed;
use llm_core::Config;
use llm_core::checkpoint;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::util::thousands;
use std::path::Path;

/// Reads the model and saves it.
///
/// # Errors
/// What reading or saving refuses; an old checkpoint is then kept.
pub fn import(program: &Program, args: &ImportArgs) -> Result<()> {
    check_heads_flag(program, args.heads)?;
    let target = Target::file(&args.save)
        .map_err(|e| e.of_verb("nothing was imported, choose another --save"))?;
    let imported = read(program, args)?;
    let quiet = args.output.quiet();
    if !quiet {
        note(&format!("imported {}", summary(&imported)));
        imported.notes.iter().for_each(|line| note(line));
    }
    let tokenizer = imported.tokenizer.clone();
    let with_optimizer = imported.optimizer.is_some() || imported.step == 0;
    let (trainer, spec) = imported.into_trainer().map_err(|e| e.at(&args.source))?;
    checkpoint::save(&target.path, &trainer, &spec, with_optimizer)
        .map_err(|e| CliError::hint(e, "nothing was imported, choose another --save"))?;
    let mut out = Out::default();
    let (step, shown) = (trainer.step, target.path.display().to_string());
    if args.output.json() {
        out.write(&events::line(&Event::Saved { step, path: &shown }));
    }
    if !quiet {
        note(&format!("saved checkpoint '{}' at step {step}", one_line(&shown)));
        next_commands(program, &target.path, tokenizer.as_ref()).iter().for_each(|s| note(s));
    }
    out.finish()
}

fn read(program: &Program, args: &ImportArgs) -> Result<Imported> {
    let source = &args.source;
    match args.format {
        ImportFormat::LlmCpp => llm_cpp::import(program, source, args.heads),
        ImportFormat::Safetensors => own::import_file(program, source, args.heads),
        ImportFormat::Hf => {
            let imported = hf::import(program, source)?;
            let found = imported.attention.spec().n_heads;
            match args.heads {
                Some(given) if given != found => {
                    let why = format!("it has {found} heads, --heads {given} was given");
                    Err(Problem::content(why).at(source))
                }
                _ => Ok(imported),
            }
        }
    }
}

/// The model in a line.
fn summary(imported: &Imported) -> String {
    let Config { n_layers, d_model, seq_len, vocab_size, .. } = imported.config;
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!(
        "{} · width {d_model} · {} · context {seq_len} · {} {} tokens · {} parameters",
        count(n_layers, "layer"),
        count(imported.attention.spec().n_heads, "head"),
        thousands(vocab_size as u64),
        imported.tokenizer.name(),
        thousands(imported.config.parameter_count())
    )
}

/// What to type next.
fn next_commands(program: &Program, path: &Path, tokenizer: &dyn Tokenizer) -> Vec<String> {
    let (name, load) = (typed::program(program), typed::load_flag(path));
    if tokenizer.name() == IdsTokenizer::NAME {
        return vec![format!("next    {name} generate{load} --prompt-ids 0,1,2 -n 20")];
    }
    let prompt = typed::prompt(None, tokenizer);
    vec![
        format!("next    {name} generate{load}{prompt} -n 100"),
        format!("        {name}{load} --data FILE --steps 100"),
    ]
}
