//! The tokenizer that a verb is about.

use crate::args::SourceArgs;
use crate::error::{Result, RunError, usage};
use llm_core::base::with_causes;
use llm_core::checkpoint::Checkpoint;
use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use llm_formats::tokenizers;
use llm_run::folder::to_load;
use llm_run::tokenizers::{Choice, TokenizerOptions};
use std::sync::Arc;

/// The tokenizer of a checkpoint or of files. Any checkpoint will do, whatever its attention.
pub(super) fn open(source: &SourceArgs) -> Result<Arc<dyn Tokenizer>> {
    let Some(path) = &source.load else {
        let loaded = choice(source)?.load()?;
        return loaded.ok_or_else(|| RunError::Internal("a choice without tokenizer".into()));
    };
    let path = to_load(path)?;
    let spec = Checkpoint::load(&path)?.meta.tokenizer;
    tokenizers::from_spec(&spec).map_err(|e| {
        RunError::Data(message!("checkpoint '{}': {}", path.display(), with_causes(&e)))
    })
}

/// Which tokenizer a verb is about, unless it is a checkpoint's.
///
/// # Errors
/// As [`Choice::of`], and [`RunError::Usage`] for one that only a text could give.
fn choice(source: &SourceArgs) -> Result<Choice> {
    let SourceArgs { load: _, kind, bpe_vocab, bpe_merges } = source;
    let [bpe_vocab, bpe_merges] = [bpe_vocab.clone(), bpe_merges.clone()];
    let options = TokenizerOptions { kind: kind.clone(), vocab_size: None, bpe_vocab, bpe_merges };
    let which =
        message!("give --load CHECKPOINT, --tokenizer FILE.json, or --bpe-vocab and --bpe-merges");
    match Choice::of(&options)? {
        Some(Choice::Char | Choice::Learn { .. } | Choice::Numbers { .. }) => {
            usage(message!("this kind of tokenizer is made of a text, by training; {}", which))
        }
        Some(choice) => Ok(choice),
        None => usage(message!("which tokenizer? {}", which)),
    }
}
