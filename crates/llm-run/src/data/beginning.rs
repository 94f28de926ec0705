//! The beginning of a text without a prompt.

use crate::error::Result;
use llm_core::base::Message;
use llm_core::recipe::{DataForm, DataSource};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TokenId, message};
use llm_formats::chat::ChatFormat;
use llm_formats::tokenizers::begin_of_text;

/// What stands in the place of a prompt.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The tokens, at least one.
    pub tokens: Vec<TokenId>,
    /// What to call it.
    pub what: Message,
}

impl Beginning {
    /// As the texts begin that were learned: the first words of an unseen story; what stands before
    /// a question where conversations were learned; the token that begins texts, or else ends them; a line
    /// break as the last resort.
    ///
    /// # Errors
    /// [`llm_core::Error::Tokenizer`] for a damaged tokenizer.
    pub fn of(learned: &DataSource, tokenizer: &dyn Tokenizer) -> Result<Beginning> {
        if let DataSource::Stories { seed, count, .. } = learned {
            return Ok(Beginning::text(&opening(*seed, *count), tokenizer));
        }
        let talked = matches!(learned, DataSource::Files { form: DataForm::Chats, .. });
        if let Some(format) = ChatFormat::own(tokenizer).filter(|_| talked) {
            let what = message!("what stands before a question");
            return Ok(Beginning { what, ..Beginning::text(&format.begin, tokenizer) });
        }
        let Some(token) = begin_of_text(tokenizer)? else {
            let what = message!("a line break");
            return Ok(Beginning { what, ..Beginning::text("\n", tokenizer) });
        };
        let what = match tokenizer.end_of_text() == Some(token) {
            true => message!("the end of the one before"),
            false => message!("the token that begins one"),
        };
        Ok(Beginning { tokens: vec![token], what })
    }

    /// With the first words of a story. A vocabulary that cannot write them has a first token at least.
    pub fn text(text: &str, tokenizer: &dyn Tokenizer) -> Beginning {
        let tokens = tokenizer.encode(text.as_bytes()).unwrap_or_default();
        let tokens = if tokens.is_empty() { vec![0] } else { tokens };
        Beginning { tokens, what: message!("a story's first words") }
    }
}

/// The first words of the story after the last one: never trained on.
pub fn opening(seed: u64, count: u64) -> String {
    let next = llm_stories::story(seed, count).text;
    next.split_inclusive(' ').take(2).collect::<String>().trim().to_string()
}
