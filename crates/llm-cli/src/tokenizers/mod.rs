//! Which tokenizers there are: a new run's by its flags, a checkpoint's by what it stored.

#[cfg(feature = "bpe")]
pub mod bpe;
#[cfg(not(feature = "bpe"))]
#[path = "no_bpe.rs"]
pub mod bpe;
mod choice;
mod learn;

pub use choice::{Choice, VOCAB_SIZE};
pub use learn::{Made, make};

use llm_core::checkpoint::TokenizerSpec;
use llm_core::tokenizer::{self, ByteTokenizer, PaddedTokenizer, Tokenizer};
use std::sync::Arc;

/// Makes a tokenizer from its blob; `None` when it is not of this kind.
type FromSpec = fn(&TokenizerSpec) -> Option<llm_core::Result<Arc<dyn Tokenizer>>>;

/// Kinds that llm-core does not have, asked before its own.
const OURS: [FromSpec; 1] =
    [|spec| (spec.kind == bpe::NAME).then(|| bpe::from_tokenizer_json(&spec.blob))];

/// The tokenizer that a checkpoint names.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a kind that nobody knows, or one that is damaged.
pub fn from_spec(spec: &TokenizerSpec) -> llm_core::Result<Arc<dyn Tokenizer>> {
    let ours = OURS.iter().find_map(|from_spec| from_spec(spec));
    ours.unwrap_or_else(|| tokenizer::from_spec(&spec.kind, &spec.blob))
}

/// The tokenizer for a model with `rows` tokens, or why it is none. A table may have more rows than
/// BPE or bytes have tokens, for a rounder number; characters are counted exactly.
///
/// # Errors
/// A line with both numbers.
pub fn fit(tokenizer: Arc<dyn Tokenizer>, rows: usize) -> Result<Arc<dyn Tokenizer>, String> {
    let (name, tokens) = (tokenizer.name(), tokenizer.vocab_size());
    let padded = tokens < rows && matches!(name, ByteTokenizer::NAME | bpe::NAME);
    if tokens == rows || padded {
        return Ok(PaddedTokenizer::pad(tokenizer, rows));
    }
    Err(format!("{name} tokenizer with {tokens} tokens, the model has {rows}"))
}

/// What a token is called: `byte` where it is one.
pub fn unit(tokenizer: &dyn Tokenizer) -> &'static str {
    if is_bytes(tokenizer) { "byte" } else { "token" }
}

/// Is every byte a token?
pub fn is_bytes(tokenizer: &dyn Tokenizer) -> bool {
    tokenizer.name() == ByteTokenizer::NAME
}

/// Can a tokenizer of this kind read a text part by part, so that it need not fit into memory?
pub fn reads_in_parts(kind: &str) -> bool {
    kind == ByteTokenizer::NAME || kind == bpe::NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Input;

    #[test]
    fn every_kind_comes_back_from_what_is_stored() {
        let learnt = Choice::Learn { vocab_size: Some(300) };
        let learnt = bpe::AVAILABLE.then_some(learnt);
        for choice in [Choice::Byte, Choice::Char].into_iter().chain(learnt) {
            let input = Input::Stories { seed: 1, count: 9 };
            let tokenizer = make(&choice, &input, 0.0, true).unwrap().tokenizer;
            assert_eq!(tokenizer.name(), choice.kind());
            let again = from_spec(&TokenizerSpec::of(&*tokenizer)).unwrap();
            assert_eq!(again.blob(), tokenizer.blob());
            assert_eq!(choice.differs(&*tokenizer).unwrap(), None);
        }
        let unknown = TokenizerSpec { kind: "words\n".into(), blob: Vec::new() };
        let refused = from_spec(&unknown).err().unwrap().to_string();
        assert!(refused.starts_with("words\\n tokenizer: "), "{refused}");
    }
}
