//! What `inspect` measures on.

use crate::data::{Data, Input, Reading, Validation, one_stdin};
use crate::error::{CliError, Result};
use crate::plan::Loaded;
use crate::signals::Signals;
use llm_core::recipe::DataSource;
use std::path::PathBuf;

/// What a model is measured on, and what to call it: the files that are given, else the unseen part
/// of the built-in stories that it learnt from.
pub(super) fn measured_on(
    loaded: &Loaded,
    files: &[PathBuf],
    verb: &str,
    signals: &Signals,
) -> Result<(Validation, String)> {
    one_stdin(files)?;
    let (tokenizer, source) = (&loaded.tokenizer, &loaded.run.recipe.data);
    let reading = Reading::for_model(&**tokenizer, source, None);
    let input = signals.reading(|| Input::again(source, files, reading))?;
    let input = input.ok_or_else(|| {
        let why = match *source == DataSource::NONE {
            true => "the model was imported",
            false => "the model was trained on files",
        };
        CliError::Usage(format!("inspect {verb} needs --data: {why}, name some to measure on"))
    })?;
    let name = match &input {
        Input::Stories { .. } => "unseen built-in stories".to_string(),
        Input::Files(files) => files.name.clone(),
    };
    Ok((Data::whole(input, loaded.run.model.config().seq_len, tokenizer)?, name))
}
