//! Which tokenizers there are: a new run's by name, a checkpoint's by what it stored.

use crate::args::TokenizerArg;
use crate::data::Input;
use crate::error::Result;
use llm_core::checkpoint::TokenizerSpec;
use llm_core::data::StoryCorpus;
use llm_core::tokenizer::{self, ByteTokenizer, CharTokenizer, Tokenizer};
use std::sync::Arc;

/// Makes a tokenizer from its blob; `None` when it is not of this kind.
type FromSpec = fn(&TokenizerSpec) -> Option<llm_core::Result<Arc<dyn Tokenizer>>>;

/// Kinds that llm-core does not have, asked before its own.
const OURS: [FromSpec; 0] = [];

/// The tokenizer that a checkpoint names.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a kind that nobody knows, or one that is damaged.
pub fn from_spec(spec: &TokenizerSpec) -> llm_core::Result<Arc<dyn Tokenizer>> {
    let ours = OURS.iter().find_map(|from_spec| from_spec(spec));
    ours.unwrap_or_else(|| tokenizer::from_spec(&spec.kind, &spec.blob))
}

/// The tokenizer of a new run; its vocabulary is that of the whole text, validation part included.
///
/// # Errors
/// What making a vocabulary refuses.
pub fn learn(kind: TokenizerArg, input: &Input) -> Result<Arc<dyn Tokenizer>> {
    Ok(match (kind, input) {
        (TokenizerArg::Byte, _) => Arc::new(ByteTokenizer),
        (TokenizerArg::Char, Input::Files(files)) => {
            Arc::new(CharTokenizer::from_text(files.text().unwrap_or_default())?)
        }
        (TokenizerArg::Char, Input::Stories { seed, count }) => {
            let stories = StoryCorpus::new(*seed, 0..*count).stories;
            let text: String = stories.into_iter().map(|story| story.text).collect();
            Arc::new(CharTokenizer::from_text(text.as_bytes())?)
        }
    })
}

/// What a token is called: `byte` where it is one.
pub fn unit(tokenizer: &dyn Tokenizer) -> &'static str {
    if is_bytes(tokenizer) { "byte" } else { "token" }
}

/// Is every byte a token?
pub fn is_bytes(tokenizer: &dyn Tokenizer) -> bool {
    tokenizer.name() == ByteTokenizer::NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_from_what_is_stored() {
        for kind in [TokenizerArg::Byte, TokenizerArg::Char] {
            let input = Input::Stories { seed: 1, count: 3 };
            let tokenizer = learn(kind, &input).unwrap();
            assert_eq!(tokenizer.name(), kind.name());
            let again = from_spec(&TokenizerSpec::of(&*tokenizer)).unwrap();
            assert_eq!(again.blob(), tokenizer.blob());
        }
        let unknown = TokenizerSpec { kind: "words\n".into(), blob: Vec::new() };
        let refused = from_spec(&unknown).err().unwrap().to_string();
        assert!(refused.starts_with("words\\n tokenizer: "), "{refused}");
    }
}
