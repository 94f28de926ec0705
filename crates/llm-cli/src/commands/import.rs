//! `import`: a checkpoint from another program's model.

use super::import_chats::import_chats;
use crate::args::{ImportArgs, ImportFormat};
use crate::console::{Out, note};
use crate::error::{Result, RunError, of_verb, usage};
use crate::events::{self, Event};
use crate::looks;
use crate::next_commands;
use crate::program::Program;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, system_reason, thousands};
use llm_core::checkpoint::TokenizerSpec;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{Config, checkpoint, counted, message};
use llm_formats::chat::ChatFormat;
use llm_formats::first_look::Look;
use llm_formats::{FormatError, Imported, Note, gguf, hugging_face, llm_cpp, own_names};
use llm_run::folder::{Target, to_load};
use llm_run::models::Heads;
use llm_run::plan::{Apart, Loaded, check_heads, load_beside, more_than_offered};
use std::path::Path;

/// Reads the model and saves it, or the conversations.
///
/// # Errors
/// What reading or saving refuses; an old checkpoint is then kept.
pub fn import(program: &Program, args: &ImportArgs) -> Result<()> {
    match (args.format, &args.sources[..]) {
        (ImportFormat::Chats, _) => import_chats(program, args),
        (_, _) if args.me.is_some() => usage("--me is for import chats"),
        (ImportFormat::Peft, [source]) => adapter(program, args, source),
        (_, _) if args.base.is_some() => usage("--base is for import peft"),
        (_, [source]) => model(program, args, source),
        _ => usage("a model is imported from one source, and several are given"),
    }
}

/// Reads a model and saves it as a checkpoint.
fn model(program: &Program, args: &ImportArgs, source: &Path) -> Result<()> {
    check_heads(&program.models, args.heads.map(|n| n as u64))?;
    let target = Target::file(&args.save, None)
        .map_err(|e| of_verb(e, "nothing was imported, choose another --save"))?;
    let imported = read(program, args, source)?;
    let quiet = args.output.quiet();
    if !quiet {
        note(message!("imported {}", summary(&imported)));
        imported.notes.iter().filter_map(|n| note_line(program, n)).for_each(note);
    }
    let tokenizer = imported.tokenizer.clone();
    let with_optimizer = imported.optimizer.is_some() || imported.step == 0;
    let (trainer, spec) =
        imported.into_trainer().map_err(|e| refused(program, args.format, source, e))?;
    save(program, args, &target, (&trainer, &spec, with_optimizer), tokenizer.as_ref())
}

/// Reads an adapter, and saves it as a checkpoint that names the one with its base.
fn adapter(program: &Program, args: &ImportArgs, source: &Path) -> Result<()> {
    let Some(base) = &args.base else {
        return usage("import peft needs --base: the model that the adapter is for");
    };
    let target = Target::file(&args.save, None)
        .map_err(|e| of_verb(e, "nothing was imported, choose another --save"))?;
    if let Some(why) = something_else(args.format, source) {
        return Err(not_imported(source, why));
    }
    let apart = Apart { adapter: Some(source), ..Apart::default() };
    let (loaded, notes) = load_beside(&program.models, &to_load(base)?, apart)?;
    let Loaded { run, tokenizer, .. } = loaded;
    if !args.output.quiet() {
        let numbers = thousands(run.model.trained_count());
        let base = base.display().to_string();
        note(message!("imported an adapter of {} numbers for '{}'", numbers, one_line(&base)));
        notes.into_iter().for_each(|one| note(one.message()));
    }
    let spec = TokenizerSpec::of(tokenizer.as_ref());
    save(program, args, &target, (&run, &spec, true), tokenizer.as_ref())
}

/// Saves what was imported, and says what to type next.
fn save(
    program: &Program,
    args: &ImportArgs,
    target: &Target,
    (trainer, spec, with_optimizer): (&Trainer, &TokenizerSpec, bool),
    tokenizer: &dyn Tokenizer,
) -> Result<()> {
    checkpoint::save(&target.path, trainer, spec, with_optimizer)
        .map_err(|e| RunError::hint(e, "nothing was imported, choose another --save"))?;
    let (mut out, quiet) = (Out::default(), args.output.quiet());
    let (step, shown) = (trainer.step, target.path.display().to_string());
    if args.output.json() {
        out.write(&events::line(&Event::Saved { step, path: &shown }));
    }
    if !quiet {
        note(message!("saved checkpoint '{}' at step {}", one_line(&shown), step));
        next_commands(program, &target.path, tokenizer).iter().for_each(note);
    }
    out.finish()
}

fn read(program: &Program, args: &ImportArgs, source: &Path) -> Result<Imported> {
    let from_spec = &|spec: &llm_core::AttentionSpec| program.models.from_spec(spec);
    if let Some(why) = something_else(args.format, source).filter(|_| source.is_dir()) {
        return Err(not_imported(source, why));
    }
    let imported = match args.format {
        ImportFormat::LlmCpp => llm_cpp::import(source, args.heads, from_spec),
        ImportFormat::Safetensors => own_names::import(source, args.heads, from_spec),
        ImportFormat::Hf => hugging_face::import(source, from_spec),
        // Chats and adapters are no model, and are not read here.
        ImportFormat::Gguf | ImportFormat::Peft | ImportFormat::Chats => {
            gguf::import(source, from_spec)
        }
    };
    let imported = imported.and_then(|found| same_heads(found, args.heads));
    let imported = imported.map_err(|e| refused(program, args.format, source, e))?;
    let Some(more) = more_than_offered(&program.models, &imported.config) else {
        return Ok(imported);
    };
    let with = program.models.other_for(&imported.attention.spec(), true);
    let why = FormatError::Content(with_program(more, with));
    Err(refused(program, args.format, source, why))
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
fn refused(program: &Program, format: ImportFormat, path: &Path, error: FormatError) -> RunError {
    match error {
        FormatError::File { path, error } => refused(program, format, &path, *error),
        FormatError::Missing { .. }
        | FormatError::Content(_)
        | FormatError::Refused(_)
        | FormatError::Tokenizer(_)
        | FormatError::HeadsUnknown
            if let Some(why) = something_else(format, path) =>
        {
            not_imported(path, why)
        }
        FormatError::Missing { advice } => RunError::Input { path: path.into(), why: advice },
        FormatError::Io(e) => {
            let why = message!("{}; nothing was imported", system_reason(&e));
            RunError::Input { path: path.into(), why }
        }
        FormatError::Core(source) => {
            RunError::hint(source, message!("nothing was imported from '{}'", path.display()))
        }
        content => not_imported(path, sentence(program, &content)),
    }
}

fn not_imported(path: &Path, why: Message) -> RunError {
    RunError::Data(message!("'{}': {}; nothing was imported", path.display(), why))
}

/// What is at the path, when the verb reads something else.
fn something_else(format: ImportFormat, path: &Path) -> Option<Message> {
    let read: &[Look] = match format {
        ImportFormat::LlmCpp => &[Look::Json],
        ImportFormat::Safetensors => &[Look::Safetensors],
        ImportFormat::Hf => {
            &[Look::HuggingFace, Look::Safetensors, Look::SentencePiece, Look::Json]
        }
        ImportFormat::Peft => &[Look::Adapter],
        ImportFormat::Gguf | ImportFormat::Chats => &[Look::Gguf],
    };
    let other = Look::of(path).filter(|look| !read.contains(look));
    let beside = path.parent().filter(|_| format == ImportFormat::Safetensors);
    match beside.filter(|folder| folder.join(hugging_face::CONFIG).is_file()) {
        Some(folder) if other.is_none() => Some(message!(
            "it is of a folder of Hugging Face; import hf reads '{}'",
            folder.display()
        )),
        _ => other.map(looks::instead),
    }
}

/// What is wrong with a content, with the flag or the program that helps.
fn sentence(program: &Program, error: &FormatError) -> Message {
    match error {
        FormatError::HeadsUnknown => message!("{}; say it with --heads", error.message()),
        FormatError::HeadsDiffer { found, given } => {
            message!("it has {} heads, --heads {} was given", found, given)
        }
        FormatError::Attention { spec, .. } => {
            let known = matches!(program.models.heads, Heads::One { .. }) && spec.n_heads != 1;
            let (n, name) = (spec.n_heads, program.models.name);
            let why = match known {
                true => message!("it has {} attention heads, which {} does not have", n, name),
                false => {
                    let of = spec.name.escape_default();
                    message!("it has {} attention, which {} does not have", of, name)
                }
            };
            with_program(why, program.models.other_for(spec, false))
        }
        other => other.message(),
    }
}

/// A reason with the program that helps, if there is one.
fn with_program(why: Message, other: Option<&str>) -> Message {
    let Some(other) = other else { return why };
    message!("{}; import it with {}", why, other)
}

/// What the person should know, with the flag that changes it.
fn note_line(program: &Program, of: &Note) -> Option<Message> {
    let note = of.message();
    match of {
        Note::UnequalDropouts { .. } | Note::AttentionDropout { .. } => {
            Some(message!("{}, unless --dropout says otherwise", note))
        }
        Note::NoTokenizer => Some(message!("{}, generate takes --prompt-ids", note)),
        Note::HeadsUnknown => match program.models.heads {
            Heads::One { .. } => None,
            Heads::Many { .. } => Some(message!("{}; else give --heads", note)),
        },
        _ => Some(note),
    }
}

/// The model in a line.
fn summary(imported: &Imported) -> Message {
    let Config { n_layers, d_model, seq_len, vocab_size, .. } = imported.config;
    message!(
        "{} · width {} · {} · context {} · {} {} tokens · {} parameters",
        counted!(n_layers, "layer"),
        d_model,
        counted!(imported.attention.spec().n_heads, "head"),
        seq_len,
        thousands(vocab_size as u64),
        imported.tokenizer.name(),
        thousands(imported.parameters.iter().map(|(_, p)| p.numel() as u64).sum())
    )
}

/// What to type next.
fn next_commands(program: &Program, path: &Path, tokenizer: &dyn Tokenizer) -> Vec<Message> {
    let (name, load) = (next_commands::program(program), next_commands::load_flag(path));
    if tokenizer.name() == IdsTokenizer::NAME {
        return vec![message!("next    {} generate{} --prompt-ids 0,1,2 -n 20", name, load)];
    }
    let prompt = next_commands::prompt(None, tokenizer);
    vec![
        match ChatFormat::own(tokenizer) {
            Some(_) => message!("next    {} chat{}", name, load),
            None => message!("next    {} generate{}{} -n 100", name, load, prompt),
        },
        message!("        {}{} --data FILE --steps 100", name, load),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::program::BASELINE;
    use llm_core::optim::AdamW;
    use llm_core::{AttentionSpec, Error};
    use llm_run::defaults::Start;
    use llm_run::models::{Beyond, Models};
    use llm_run::settings::{Given, new_recipe};

    #[test]
    fn problems_have_their_exit_codes() {
        let path = Path::new("a\nfile");
        let memory = Error::Memory { needed: 2, available: 1 };
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        for (problem, number, needle) in [
            (FormatError::Content("odd".into()), Kind::BadData.code(), "'a file': odd"),
            (FormatError::from(cut), Kind::BadData.code(), "ends too early"),
            (FormatError::from(denied), Kind::NoInput.code(), "permission denied"),
            (FormatError::from(memory), Kind::NoMemory.code(), "needs about 2 B"),
        ] {
            let error = refused(&BASELINE, ImportFormat::Hf, path, problem);
            assert_eq!(error.kind().code(), number, "{error:?}");
            assert!(crate::error::line(&error).contains(needle), "{}", crate::error::line(&error));
            assert!(
                crate::error::line(&error).contains("nothing was imported"),
                "{}",
                crate::error::line(&error)
            );
        }
    }

    #[test]
    fn lines_name_the_flag_or_the_program_that_helps() {
        let attention = |name: &str, n_heads| FormatError::Attention {
            spec: Box::new(AttentionSpec::new(name, n_heads)),
            source: Error::config("attention", "unknown"),
        };
        let beyond = Beyond { program: "the-modern", attention: "modern" };
        let heads = Heads::Many { default: 4 };
        let models = Models { heads, beyond: Some(beyond), ..BASELINE.models };
        let many = Program { models, ..BASELINE };
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
            assert_eq!(sentence(program, &error).to_string(), line);
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
            let shown = shown.map_or(String::new(), |shown| shown.to_string());
            assert!(shown.ends_with(line.unwrap_or_default()), "{shown}");
        }
    }

    /// What is not said about a model is that of a new run's flags, but for the optimizer: small steps.
    #[test]
    fn imports_are_trained_on_with_the_programs_defaults() {
        let config = Config::new(9, 512, 4, 1);
        let recipe = llm_formats::imported::fine_tuning(&config);
        let new = new_recipe(Start::Text, &Given::default()).unwrap();
        assert_eq!(recipe.hyperparameters, new.hyperparameters);
        assert_eq!((recipe.clip, recipe.val_frac), (new.clip, new.val_frac));
        assert_eq!((&*recipe.optimizer, recipe.accum), (AdamW::NAME, new.accum));
    }
}
