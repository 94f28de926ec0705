//! The tokenizer that a verb is about.

use crate::args::SourceArgs;
use crate::error::{CliError, Result, of_library};
use crate::output::to_load;
use crate::tokenizers::Choice;
use llm_core::checkpoint::Checkpoint;
use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use llm_formats::tokenizers;
use std::sync::Arc;

/// The tokenizer of a checkpoint or of files. Any checkpoint will do, whatever its attention.
pub(super) fn open(source: &SourceArgs) -> Result<Arc<dyn Tokenizer>> {
    let Some(path) = &source.load else {
        let loaded = Choice::of_source(source)?.load()?;
        return loaded.ok_or_else(|| CliError::Internal("a choice without tokenizer".into()));
    };
    let path = to_load(path)?;
    let spec = Checkpoint::load(&path)?.meta.tokenizer;
    tokenizers::from_spec(&spec).map_err(|e| {
        CliError::Data(message!("checkpoint '{}': {}", path.display(), of_library(&e)))
    })
}
