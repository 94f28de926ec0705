//! What a text begins with.

use crate::args::PromptArgs;
use crate::console::note;
use crate::error::{Result, RunError, usage};
use llm_core::base::with_causes;
use llm_core::message;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer, encode_marked};
use llm_core::{Error, TokenId};
use llm_formats::files::{small_file, small_stdin};
use llm_run::data::Beginning;
use std::path::Path;

/// Most bytes of a prompt: more than any model's context can hold.
const MOST_BYTES: u64 = 16 << 20;

impl PromptArgs {
    /// The tokens of the prompt; `beginning` stands in for one that is not given.
    ///
    /// # Errors
    /// [`RunError::Usage`] for a token that the model has not, [`RunError::Input`] for a file that cannot be
    /// read, [`RunError::Data`] naming a character that the model does not know.
    pub fn tokens_or(&self, of: &dyn Tokenizer, beginning: Beginning) -> Result<Vec<TokenId>> {
        let given = self.tokens(of)?;
        if !given.is_empty() {
            return Ok(given);
        }
        let Beginning { tokens, what } = beginning;
        if of.name() == IdsTokenizer::NAME {
            note("no --prompt-ids: the text begins with token 0");
        } else if let Some(flag) = self.flag() {
            note(message!("{} is empty: the text begins with {}", flag, what));
        }
        Ok(tokens)
    }

    /// The tokens of the prompt; none when nothing was given, or an empty text.
    ///
    /// # Errors
    /// [`RunError::Usage`] for a token that the model has not, [`RunError::Input`] for a file that
    /// cannot be read, [`RunError::Data`] naming a character that the model does not know.
    pub(crate) fn tokens(&self, tokenizer: &dyn Tokenizer) -> Result<Vec<TokenId>> {
        let vocab_size = tokenizer.vocab_size();
        let ids = self.ids.concat();
        if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab_size) {
            let last = vocab_size.saturating_sub(1);
            return usage(message!("--prompt-ids {}: the model's tokens are 0 to {}", id, last));
        }
        let start = self.start.as_deref();
        let file = start.and_then(|word| word.to_str()?.strip_prefix("FILE:"));
        let text = self.text.as_deref().or(start.filter(|_| file.is_none()));
        let text = match (text, self.file.as_deref().or(file.map(Path::new))) {
            _ if !ids.is_empty() => return Ok(ids),
            (Some(text), _) => text.as_encoded_bytes().to_vec(),
            (None, Some(path)) => read(path)?,
            (None, None) => Vec::new(),
        };
        if text.is_empty() {
            return Ok(Vec::new());
        }
        encode_marked(tokenizer, &text).map_err(|e| match e {
            Error::UnknownUnit { .. } => {
                let (flag, why) = (self.flag().unwrap_or_default(), with_causes(&e));
                RunError::Data(message!("{}: {}; the model never saw it, leave it out", flag, why))
            }
            other => other.into(),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let text = match path == Path::new("-") {
        true => small_stdin(MOST_BYTES)?,
        false => small_file(path, MOST_BYTES)?,
    };
    if text.len() as u64 > MOST_BYTES {
        let why = "it is too large for a prompt; the model sees its end only".into();
        return Err(RunError::Input { path: path.into(), why });
    }
    Ok(text)
}
