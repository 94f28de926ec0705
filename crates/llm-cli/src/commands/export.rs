//! `export`: a model for other programs.

use crate::args::{ExportArgs, ExportFormat};
use crate::console::note;
use crate::error::{Result, RunError, usage};
use crate::program::Program;
use llm_core::base::{Message, escape::one_line};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, IoAction, TinyGPT, message};
use llm_formats::gguf::{Spoken, Stored};
use llm_formats::hugging_face::peft;
use llm_formats::{FormatError, gguf, hugging_face, own_names};
use llm_run::folder::{may_replace, to_load};
use llm_run::plan::{Apart, Loaded, load_beside};
use std::path::Path;

/// Loads the model and writes it.
///
/// # Errors
/// What loading or writing refuses; nothing is then left behind.
pub fn export(program: &Program, args: &ExportArgs) -> Result<()> {
    if args.stored.is_some() && args.format != ExportFormat::Gguf {
        return usage("--type is for export gguf");
    }
    if args.adapter && args.format != ExportFormat::Gguf {
        return usage("--adapter is for export gguf; export peft writes it for peft");
    }
    let path = to_load(&args.load)?;
    let apart = Apart { base: args.base.as_deref(), adapter: None };
    let (Loaded { run, tokenizer, .. }, _) = load_beside(&program.models, &path, apart)?;
    let (model, tokenizer, target) = (&run.model, tokenizer.as_ref(), &args.target);
    let mut notes = Vec::new();
    match args.format {
        ExportFormat::Hf => {
            let family = hugging_face::check_model(model)
                .map_err(|e| unfit(&e, matches!(e, FormatError::HeadBias), &path))?;
            let hint = "nothing was written, choose a new or empty folder";
            hugging_face::prepare_folder(target).map_err(|e| RunError::hint(e, hint))?;
            let written = hugging_face::export(target, model, tokenizer);
            let hint = "nothing was exported, make room there or choose another folder";
            let why = |e: FormatError| match e {
                FormatError::TokenizerKind { kind } => {
                    message!("a {} tokenizer cannot be exported to hf", kind)
                }
                other => other.message(),
            };
            written.map_err(|e| not_exported(e, hint, |e| RunError::Data(why(e))))?;
            notes = hugging_face::notes(model, tokenizer, family);
        }
        ExportFormat::Peft => {
            check_adapter(model, &path)?;
            hugging_face::check_model(model)
                .map_err(|e| unfit(&e, matches!(e, FormatError::HeadBias), &path))?;
            let hint = "nothing was written, choose a new or empty folder";
            hugging_face::prepare_folder(target).map_err(|e| RunError::hint(e, hint))?;
            let hint = "nothing was exported, make room there or choose another folder";
            peft::export(target, model)
                .map_err(|e| not_exported(e, hint, |e| RunError::Data(e.message())))?;
        }
        ExportFormat::Safetensors => {
            refuse_foreign(target, own_names::is_ours)?;
            let written = own_names::export(target, model, tokenizer);
            let written = written.map_err(|e| Error::io(IoAction::Save, target, e));
            let hint = "nothing was exported, choose another file";
            written.map_err(|e| RunError::hint(e, hint))?;
        }
        ExportFormat::Gguf if args.adapter => {
            check_adapter(model, &path)?;
            gguf::check_model(model).map_err(|e| unfit(&e, false, &path))?;
            refuse_foreign(target, gguf::is_ours)?;
            let name = target.file_stem().unwrap_or_default().to_string_lossy();
            let hint = "nothing was exported, make room there or choose another file";
            gguf::export_adapter(target, model, &name)
                .map_err(|e| not_exported(e, hint, |e| RunError::Data(e.message())))?;
        }
        ExportFormat::Gguf => {
            let unfit = |e| unfit(&e, hugging_face::has_head_bias(model), &path);
            let hint = "nothing was exported, make room there or choose another file";
            let refused = |e| not_exported(e, hint, unfit);
            gguf::check_model(model).map_err(refused)?;
            refuse_foreign(target, gguf::is_ours)?;
            gguf::check_name(target).map_err(|e| RunError::Usage(e.message()))?;
            refuse_foreign(&gguf::modelfile_of(target), gguf::is_our_modelfile)?;
            let name = target.file_stem().unwrap_or_default().to_string_lossy();
            let written =
                gguf::export(target, model, tokenizer, args.stored.unwrap_or_default(), &name);
            let exported = written.map_err(refused)?;
            let spoken = gguf::write_modelfile(target, model, tokenizer)?;
            notes = gguf_notes(&exported, tokenizer);
            notes.extend(
                exported.survival.map(|left| survival(left, args.stored.unwrap_or_default())),
            );
            notes.extend(modelfile_note(spoken));
        }
    }
    if !args.output.quiet() {
        notes.iter().for_each(note);
        let shown = |path: &Path| one_line(&path.display().to_string());
        let (from, to) = (shown(&path), shown(target));
        note(match args.format {
            ExportFormat::Gguf if !args.adapter => {
                let modelfile = shown(&gguf::modelfile_of(target));
                message!("exported '{}' to '{}', for Ollama with '{}'", from, to, modelfile)
            }
            _ => message!("exported '{}' to '{}'", from, to),
        });
    }
    Ok(())
}

/// Refuses a model without an adapter where that alone is written.
fn check_adapter(model: &TinyGPT, checkpoint: &Path) -> Result<()> {
    match model.adapter() {
        Some(_) => Ok(()),
        None => Err(RunError::Data(message!(
            "checkpoint '{}' has no adapter; nothing was written, export hf writes the whole model",
            checkpoint.display()
        ))),
    }
}

/// Why a model was not written that has no place in the format, and what to do.
fn unfit(error: &FormatError, has_head_bias: bool, checkpoint: &Path) -> RunError {
    let (path, why) = (checkpoint.display(), error.message());
    RunError::Data(match has_head_bias {
        true => message!(
            "checkpoint '{}': {}; nothing was written, train with --head-bias 0 or --arch gpt2, or \
             export safetensors",
            path,
            why
        ),
        false => {
            message!("checkpoint '{}': {}; nothing was written, export safetensors", path, why)
        }
    })
}

/// Why writing ended: for want of room, or for what `content` says of the model.
fn not_exported(
    error: FormatError,
    hint: &'static str,
    content: impl FnOnce(FormatError) -> RunError,
) -> RunError {
    match error {
        FormatError::Core(e @ Error::Io { .. }) => RunError::hint(e, hint),
        FormatError::Core(other) => other.into(),
        other => content(other),
    }
}

/// What one should know about a file for llama.cpp.
fn gguf_notes(exported: &gguf::Exported, tokenizer: &dyn Tokenizer) -> Vec<Message> {
    let mut notes = Vec::new();
    if exported.unrounded > 0 {
        notes.push(message!(
            "{} of the matrices are written as F32: their rows are no whole blocks of 32 numbers",
            exported.unrounded
        ));
    }
    if let Some(end) = exported.ends_at {
        let unit = String::from_utf8_lossy(tokenizer.bytes_of(end)).into_owned();
        notes.push(message!(
            "no token ends a text: llama.cpp stops at '{}', unless it gets --ignore-eos; train with \
             --end-of-text for one",
            one_line(&unit)
        ));
    }
    notes
}

/// What rounding has left of an adapter.
fn survival(left: gguf::Survival, stored: Stored) -> Message {
    message!(
        "rounded to {}, {:.1} % of the adapter's change is kept, with noise of {:.2} times its size",
        stored.kind().name(),
        100.0 * left.kept,
        left.noise
    )
}

/// What of the model's way of talking Ollama will not know.
fn modelfile_note(spoken: Spoken) -> Option<Message> {
    match spoken {
        Spoken::Text | Spoken::Talks => None,
        Spoken::WithoutSystem => Some(message!(
            "the chat template takes no system message, and the TEMPLATE for Ollama has none"
        )),
        Spoken::Unsaid => Some(message!(
            "the Modelfile has no TEMPLATE: what the chat template writes depends on more than who \
             speaks; Ollama does not run Jinja, so write one by hand"
        )),
    }
}

/// An existing file is replaced only when it was exported here.
fn refuse_foreign(path: &Path, is_ours: fn(&Path) -> bool) -> Result<()> {
    let ours = "it exists and was not exported by this program";
    may_replace(path, is_ours, ours).map_err(|source| {
        RunError::not_created(path, source, "nothing was exported, choose another file")
    })
}
