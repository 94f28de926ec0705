//! `tokenizer`: learn one, use one, look at one.

mod info;
mod learn;
mod translate;

use crate::args::{SourceArgs, TokenizerCommand, TokenizerVerb};
use crate::error::{CliError, Result};
use crate::program::Program;
use crate::target::to_load;
use crate::tokenizers::{self, Choice};
use llm_core::checkpoint::Checkpoint;
use llm_core::tokenizer::Tokenizer;
use std::sync::Arc;

/// Does what the verb says.
///
/// # Errors
/// Usage, input, data and output errors, each naming the flag or file.
pub fn tokenizer(program: &Program, command: &TokenizerCommand) -> Result<()> {
    match &command.verb {
        TokenizerVerb::Train(args) => learn::train(program, args),
        TokenizerVerb::Encode(args) => translate::encode(args),
        TokenizerVerb::Decode(args) => translate::decode(args),
        TokenizerVerb::Info(args) => info::info(args),
    }
}

/// The tokenizer of a checkpoint or of files. Any checkpoint will do, whatever its attention.
fn open(source: &SourceArgs) -> Result<Arc<dyn Tokenizer>> {
    let Some(path) = &source.load else {
        let loaded = Choice::of_source(source)?.load()?;
        return loaded.ok_or_else(|| CliError::Internal("a choice without tokenizer".into()));
    };
    let path = to_load(path)?;
    let spec = Checkpoint::load(&path)?.meta.tokenizer;
    tokenizers::from_spec(&spec)
        .map_err(|e| CliError::Data(format!("checkpoint '{}': {e}", path.display())))
}
