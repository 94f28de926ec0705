//! `export`: a model for other programs.

use crate::args::{ExportArgs, ExportFormat};
use crate::console::{note, one_line};
use crate::error::{CliError, Result};
use crate::exchange::{hf, own};
use crate::plan::{Loaded, load};
use crate::program::Program;
use crate::target::to_load;
use llm_core::Error;
use llm_core::tokenizer::Tokenizer;
use std::path::Path;

/// Loads the model and writes it.
///
/// # Errors
/// What loading or writing refuses; nothing is then left behind.
pub fn export(program: &Program, args: &ExportArgs) -> Result<()> {
    let path = to_load(&args.load)?;
    let Loaded { run, tokenizer, .. } = load(program, &path)?;
    let model = &run.model;
    let mut notes = Vec::new();
    match args.format {
        ExportFormat::Hf => {
            hf::refuse_head_bias(model, &path)?;
            hf::prepare_folder(&args.target)?;
            hf::export(&args.target, model, tokenizer.as_ref())?;
            notes = hf_notes(model, tokenizer.as_ref());
        }
        ExportFormat::Safetensors => {
            refuse_foreign(&args.target)?;
            own::export(&args.target, model, tokenizer.as_ref()).map_err(|source| {
                let source = Error::Io { action: "save", path: args.target.clone(), source };
                CliError::hint(source, "nothing was exported, choose another file")
            })?;
        }
    }
    if !args.output.quiet() {
        notes.iter().for_each(|line| note(line));
        let (from, to) = (path.display().to_string(), args.target.display().to_string());
        note(&format!("exported '{}' to '{}'", one_line(&from), one_line(&to)));
    }
    Ok(())
}

/// What was written otherwise than it is in the checkpoint.
fn hf_notes(model: &llm_core::TinyGPT, tokenizer: &dyn Tokenizer) -> Vec<String> {
    let mut notes = Vec::new();
    let off = model.attention().spec().head_mask.iter().filter(|used| !**used).count();
    if !model.config().norm_affine {
        notes.push("norms are written with gains of 1 and biases of 0".to_string());
    }
    if off > 0 {
        notes.push(format!(
            "{off} heads are switched off: what their outputs are multiplied by is written as 0"
        ));
    }
    if tokenizer.name() == llm_core::tokenizer::IdsTokenizer::NAME {
        notes.push("the model has no tokenizer: no tokenizer files are written".into());
    }
    notes
}

/// An existing file is replaced only when it was exported here.
fn refuse_foreign(path: &Path) -> Result<()> {
    let length = std::fs::metadata(path).map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    let refused = |source| {
        let source = Error::Io { action: "create", path: path.into(), source };
        Err(CliError::hint(source, "nothing was exported, choose another file"))
    };
    if length > 0 && !own::is_ours(path) {
        return refused(std::io::Error::other("it exists and was not exported by this program"));
    }
    match llm_core::checkpoint::check_writable(path) {
        Err(Error::Io { source, .. }) => refused(source),
        Err(other) => Err(other.into()),
        Ok(()) => Ok(()),
    }
}
