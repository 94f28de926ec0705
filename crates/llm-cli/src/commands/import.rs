//! `import`: a checkpoint from another program's model.

use crate::args::{ImportArgs, ImportFormat};
use crate::console::{Out, note};
use crate::error::{CliError, Result, system_reason};
use crate::events::{self, Event};
use crate::looks;
use crate::messages::count;
use crate::next_commands;
use crate::output::Target;
use crate::plan::{check_heads_flag, more_than_offered};
use crate::program::{Heads, Program};
use llm_core::Config;
use llm_core::base::thousands;
use llm_core::checkpoint;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_formats::first_look::Look;
use llm_formats::{FormatError, Imported, Note, gguf, hugging_face, llm_cpp, own_names};
use llm_messages::escape::one_line;
use std::path::Path;

/// Reads the model and saves it.
///
/// # Errors
/// What reading or saving refuses; an old checkpoint is then kept.
pub fn import(program: &Program, args: &ImportArgs) -> Result<()> {
    check_heads_flag(program, args.heads)?;
    let target = Target::file(&args.save, None)
        .map_err(|e| e.of_verb("nothing was imported, choose another --save"))?;
    let imported = read(program, args)?;
    let quiet = args.output.quiet();
    if !quiet {
        note(&format!("imported {}", summary(&imported)));
        imported.notes.iter().filter_map(|n| note_line(program, n)).for_each(|line| note(&line));
    }
    let tokenizer = imported.tokenizer.clone();
    let with_optimizer = imported.optimizer.is_some() || imported.step == 0;
    let (trainer, spec) =
        imported.into_trainer().map_err(|e| refused(program, args.format, &args.source, e))?;
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
    let (source, from_spec) = (&args.source, &program.from_spec);
    if let Some(why) = something_else(args.format, source).filter(|_| source.is_dir()) {
        return Err(not_imported(source, &why));
    }
    let imported = match args.format {
        ImportFormat::LlmCpp => llm_cpp::import(source, args.heads, from_spec),
        ImportFormat::Safetensors => own_names::import(source, args.heads, from_spec),
        ImportFormat::Hf => {
            hugging_face::import(source, from_spec).and_then(|found| same_heads(found, args.heads))
        }
        ImportFormat::Gguf => {
            gguf::import(source, from_spec).and_then(|found| same_heads(found, args.heads))
        }
    };
    let imported = imported.map_err(|e| refused(program, args.format, source, e))?;
    match more_than_offered(program, &imported.config) {
        None => Ok(imported),
        Some(more) => {
            let with = program.other_for(&imported.attention.spec(), true);
            let with = with.map_or(String::new(), |other| format!("; import it with {other}"));
            Err(refused(program, args.format, source, FormatError::Content((more + &with).into())))
        }
    }
}

/// The model, unless it has other heads than were given.
fn same_heads(imported: Imported, given: Option<usize>) -> llm_formats::Result<Imported> {
    let found = imported.attention.spec().n_heads;
    match given {
        Some(given) if given != found => Err(FormatError::HeadsDiffer { found, given }),
        _ => Ok(imported),
    }
}

/// Why nothing was imported from `path`, unless the error names another file.
fn refused(program: &Program, format: ImportFormat, path: &Path, error: FormatError) -> CliError {
    match error {
        FormatError::File { path, error } => refused(program, format, &path, *error),
        FormatError::Missing { .. }
        | FormatError::Content(_)
        | FormatError::Refused(_)
        | FormatError::Tokenizer(_)
        | FormatError::HeadsUnknown
            if let Some(why) = something_else(format, path) =>
        {
            not_imported(path, &why)
        }
        FormatError::Missing { advice } => {
            CliError::Input { path: path.into(), why: advice.to_string() }
        }
        FormatError::Io(e) => {
            let why = format!("{}; nothing was imported", system_reason(&e));
            CliError::Input { path: path.into(), why }
        }
        FormatError::Core(source) => {
            CliError::hint(source, format!("nothing was imported from '{}'", path.display()))
        }
        content => not_imported(path, &sentence(program, content)),
    }
}

fn not_imported(path: &Path, why: &str) -> CliError {
    CliError::Data(format!("'{}': {why}; nothing was imported", path.display()))
}

/// What is at the path, when the verb reads something else.
fn something_else(format: ImportFormat, path: &Path) -> Option<String> {
    let read: &[Look] = match format {
        ImportFormat::LlmCpp => &[Look::Json],
        ImportFormat::Safetensors => &[Look::Safetensors],
        ImportFormat::Hf => {
            &[Look::HuggingFace, Look::Safetensors, Look::SentencePiece, Look::Json]
        }
        ImportFormat::Gguf => &[Look::Gguf],
    };
    let beside = path.parent().filter(|_| format == ImportFormat::Safetensors);
    match beside.filter(|folder| folder.join(hugging_face::CONFIG).is_file()) {
        Some(folder) if looks::instead(path, read).is_none() => Some(format!(
            "it is of a folder of Hugging Face; import hf reads '{}'",
            folder.display()
        )),
        _ => looks::instead(path, read),
    }
}

/// What is wrong with a content, with the flag or the program that helps.
fn sentence(program: &Program, error: FormatError) -> String {
    match error {
        FormatError::HeadsUnknown => format!("{error}; say it with --heads"),
        FormatError::HeadsDiffer { found, given } => {
            format!("it has {found} heads, --heads {given} was given")
        }
        FormatError::Attention { spec, .. } => {
            let known = matches!(program.heads, Heads::One { .. }) && spec.n_heads != 1;
            let with = program.other_for(&spec, false);
            let with = with.map_or(String::new(), |other| format!("; import it with {other}"));
            let (n, name) = (spec.n_heads, program.name);
            match known {
                true => format!("it has {n} attention heads, which {name} does not have{with}"),
                false => {
                    let of = spec.name.escape_default();
                    format!("it has {of} attention, which {name} does not have{with}")
                }
            }
        }
        other => other.to_string(),
    }
}

/// What the person should know, with the flag that changes it.
fn note_line(program: &Program, note: &Note) -> Option<String> {
    match note {
        Note::UnequalDropouts { .. } | Note::AttentionDropout { .. } => {
            Some(format!("{note}, unless --dropout says otherwise"))
        }
        Note::NoTokenizer => Some(format!("{note}, generate takes --prompt-ids")),
        Note::HeadsUnknown => match program.heads {
            Heads::One { .. } => None,
            Heads::Many { .. } => Some(format!("{note}; else give --heads")),
        },
        other => Some(other.to_string()),
    }
}

/// The model in a line.
fn summary(imported: &Imported) -> String {
    let Config { n_layers, d_model, seq_len, vocab_size, .. } = imported.config;
    format!(
        "{} · width {d_model} · {} · context {seq_len} · {} {} tokens · {} parameters",
        count(n_layers, "layer"),
        count(imported.attention.spec().n_heads, "head"),
        thousands(vocab_size as u64),
        imported.tokenizer.name(),
        thousands(imported.parameters.iter().map(|(_, p)| p.numel() as u64).sum())
    )
}

/// What to type next.
fn next_commands(program: &Program, path: &Path, tokenizer: &dyn Tokenizer) -> Vec<String> {
    let (name, load) = (next_commands::program(program), next_commands::load_flag(path));
    if tokenizer.name() == IdsTokenizer::NAME {
        return vec![format!("next    {name} generate{load} --prompt-ids 0,1,2 -n 20")];
    }
    let prompt = next_commands::prompt(None, tokenizer);
    vec![
        format!("next    {name} generate{load}{prompt} -n 100"),
        format!("        {name}{load} --data FILE --steps 100"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defaults::Start;
    use crate::error::code;
    use crate::flags::{Given, new_recipe};
    use crate::program::{BASELINE, Beyond};
    use llm_core::{AttentionSpec, Error};

    #[test]
    fn problems_have_their_exit_codes() {
        let path = Path::new("a\nfile");
        let memory = Error::Memory { needed: 2, available: 1 };
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        for (problem, number, needle) in [
            (FormatError::Content("odd".into()), code::BAD_DATA, "'a file': odd"),
            (FormatError::from(cut), code::BAD_DATA, "ends too early"),
            (FormatError::from(denied), code::NO_INPUT, "permission denied"),
            (FormatError::from(memory), code::NO_MEMORY, "needs about 2 B"),
        ] {
            let error = refused(&BASELINE, ImportFormat::Hf, path, problem);
            assert_eq!(error.exit_code(), number, "{error:?}");
            assert!(error.line().contains(needle), "{}", error.line());
            assert!(error.line().contains("nothing was imported"), "{}", error.line());
        }
    }

    #[test]
    fn lines_name_the_flag_or_the_program_that_helps() {
        let attention = |name: &str, n_heads| FormatError::Attention {
            spec: AttentionSpec::new(name, n_heads),
            source: Error::config("attention", "unknown"),
        };
        let beyond = Beyond { program: "the-modern", attention: "modern" };
        let heads = Heads::Many { default: 4 };
        let many = Program { heads, beyond: Some(beyond), ..BASELINE };
        for (program, error, line) in [
            (
                &BASELINE,
                FormatError::HeadsUnknown,
                "it does not say how many attention heads it has; say it with --heads",
            ),
            (
                &BASELINE,
                FormatError::HeadsDiffer { found: 2, given: 4 },
                "it has 2 heads, --heads 4 was given",
            ),
            (
                &BASELINE,
                attention("multi-head", 2),
                "it has 2 attention heads, which train-gpt does not have; import it with another",
            ),
            (
                &BASELINE,
                attention("other", 1),
                "it has other attention, which train-gpt does not have",
            ),
            (
                &many,
                attention("modern", 2),
                "it has modern attention, which train-gpt does not have; import it with the-modern",
            ),
            (&many, attention("a\n", 2), "it has a\\n attention, which train-gpt does not have"),
        ] {
            assert_eq!(sentence(program, error), line);
        }
        let dropouts = Note::UnequalDropouts { embd: 0.1, attn: 0.2, resid: 0.1 };
        for (program, note, line) in [
            (&BASELINE, Note::HeadsUnknown, None),
            (&many, Note::HeadsUnknown, Some("read as one; else give --heads")),
            (&many, Note::NoTokenizer, Some("is not understood, generate takes --prompt-ids")),
            (&many, dropouts, Some("without dropout, unless --dropout says otherwise")),
        ] {
            let shown = note_line(program, &note);
            assert_eq!(shown.is_some(), line.is_some());
            assert!(shown.unwrap_or_default().ends_with(line.unwrap_or_default()), "{note}");
        }
    }

    /// What is not said about a model is that of a new run's flags.
    #[test]
    fn imports_are_trained_on_with_the_programs_defaults() {
        let config = Config::new(9, 512, 4, 1);
        let recipe = llm_formats::imported::fine_tuning(&config);
        let new = new_recipe(Start::Text, &Given::default()).unwrap();
        assert_eq!(recipe.hyperparameters, new.hyperparameters);
        assert_eq!((recipe.clip, recipe.val_frac), (new.clip, new.val_frac));
        assert_eq!((recipe.optimizer, recipe.accum), (new.optimizer, new.accum));
    }
}
