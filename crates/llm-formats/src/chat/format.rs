//! How a model talks: one value, from which training, chat, exports and Modelfile all take it.

use super::answers::end_of_answer;
use super::line::{ASSISTANT, Turn};
use super::template::Template;
use crate::error::{FormatError, Result};
use crate::tokenizers::Besides;
use llm_core::TokenId;
use llm_core::base::with_causes;
use llm_core::generate::Stops;
use llm_core::tokenizer::Tokenizer;

/// The template of a model, and what it writes around answers.
#[derive(Debug)]
pub struct ChatFormat {
    /// How turns are written down.
    pub template: Template,
    /// What is written before the first word that a user says.
    pub begin: String,
    /// What is written after an answer, without white space at its end; empty where that is all.
    pub end: String,
    /// The token that ends an answer, where it is one.
    pub end_token: Option<TokenId>,
    /// The token that ends a text.
    pub end_of_text: Option<TokenId>,
    /// Special tokens that the template writes, in the order of their numbers.
    pub marks: Vec<String>,
}

impl ChatFormat {
    /// The format of a model with this tokenizer: its own, or ChatML.
    ///
    /// # Errors
    /// [`FormatError::Content`] for a template that refuses a question and its answer, or is no Jinja.
    pub fn of(tokenizer: &dyn Tokenizer) -> Result<ChatFormat> {
        const ASKED: &str = "A question.";
        const SAID: &str = "An answer.";
        let besides = Besides::of(tokenizer)?;
        let template = Template::with(tokenizer, &besides)?;
        let turns = [Turn::new("user", ASKED), Turn::new(ASSISTANT, SAID)];
        let written = template.render(&turns, false).map_err(FormatError::Content)?;
        let begin = written.split(ASKED).next().unwrap_or_default().to_string();
        let after = end_of_answer(&template).map_err(FormatError::Content)?;
        let special = besides.special;
        let (end, end_token) = match first_mark(after.trim(), &special) {
            Some((id, mark)) => (mark, Some(id)),
            None => (after.trim_end().to_string(), None),
        };
        let is_written = |(_, mark): &(TokenId, String)| written.contains(mark.as_str());
        let marks = special.into_iter().filter(is_written).map(|(_, mark)| mark).collect();
        let end_of_text = tokenizer.end_of_text();
        Ok(ChatFormat { template, begin, end, end_token, end_of_text, marks })
    }

    /// The format that a model has learned, which is kept with its tokenizer; nothing for a model that goes
    /// on with texts, and for a template that refuses a question and its answer.
    pub fn own(tokenizer: &dyn Tokenizer) -> Option<ChatFormat> {
        ChatFormat::of(tokenizer).ok().filter(|format| format.template.is_own)
    }

    /// The tokens at which writing ends: of an answer, and of a text.
    pub fn ends(&self) -> Vec<TokenId> {
        let other = self.end_of_text.filter(|end| Some(*end) != self.end_token);
        self.end_token.into_iter().chain(other).collect()
    }

    /// The texts at which an answer ends; none where the template ends it with nothing.
    pub fn stops(&self) -> Stops {
        Stops::new([self.end.as_bytes().to_vec()])
    }

    /// The tokens of turns and of what stands before the answer that comes next.
    ///
    /// # Errors
    /// [`FormatError::Content`] when the template refuses the turns, or a vocabulary lacks a character.
    pub fn question(&self, turns: &[Turn], tokenizer: &dyn Tokenizer) -> Result<Vec<TokenId>> {
        let text = self.template.render(turns, true).map_err(FormatError::Content)?;
        tokenizer.encode(text.as_bytes()).map_err(|e| FormatError::Content(with_causes(&e)))
    }
}

/// The special token that a text begins with, the longest if there are several.
fn first_mark(text: &str, special: &[(TokenId, String)]) -> Option<(TokenId, String)> {
    let fits = special.iter().filter(|(_, mark)| text.starts_with(mark.as_str()));
    fits.max_by_key(|(_, mark)| mark.len()).cloned()
}

#[cfg(feature = "bpe")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizers::{talking, with_end_of_text};
    use llm_core::tokenizer::{ByteTokenizer, CharTokenizer};
    use std::sync::Arc;

    #[test]
    fn a_new_vocabulary_has_marks_and_another_ends_with_its_end() {
        let bytes: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
        assert!(ChatFormat::own(&*bytes).is_none());
        let ended = with_end_of_text(bytes.clone()).unwrap();
        let marked = talking(ended.clone(), None, true).unwrap();
        let format = ChatFormat::own(&*marked).unwrap();
        assert_eq!((marked.vocab_size(), format.ends()), (259, vec![258, 256]));
        assert_eq!((&*format.begin, &*format.end), ("<|im_start|>user\n", "<|im_end|>"));
        assert_eq!(format.marks, ["<|im_start|>", "<|im_end|>"]);
        let asked = format.question(&[Turn::new("user", "a")], &*marked).unwrap();
        assert_eq!(asked[..2], [257, u32::from(b'u')]);
        // The numbers of bytes stay, whatever is kept with them.
        let unmarked = talking(ended, None, false).unwrap();
        let format = ChatFormat::own(&*unmarked).unwrap();
        assert_eq!((unmarked.vocab_size(), format.ends()), (257, vec![256]));
        assert_eq!(unmarked.encode(b"a\xff").unwrap(), [97, 255]);
        let alone = ChatFormat::own(&*talking(bytes, None, false).unwrap()).unwrap();
        assert_eq!((alone.ends(), &*alone.end), (vec![], "<|im_end|>"));
        let chars = Arc::new(CharTokenizer::from_text(b"abc").unwrap());
        assert!(talking(chars, None, true).is_err());
    }

    #[test]
    fn an_own_template_stays() {
        let own = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
        let bytes = with_end_of_text(Arc::new(ByteTokenizer)).unwrap();
        let own = talking(bytes, Some(own.into()), false).unwrap();
        assert_eq!(talking(own.clone(), None, true).unwrap().blob(), own.blob());
        let format = ChatFormat::own(&*own).unwrap();
        assert_eq!((&*format.end, format.ends()), ("<|endoftext|>", vec![256]));
    }
}
