//! Questions as tokens.

use super::shapes::{Question, Ways, is_space};
use crate::error::Result;
use llm_core::base::{Message, with_causes};
use llm_core::tokenizer::{Tokenizer, encode_marked};
use llm_core::{TokenId, message};
use llm_formats::chat::{ChatFormat, Turn};
use llm_formats::tokenizers::{before_every_text, before_first_text};

/// One text that the model is asked about.
pub(super) struct Asked {
    /// Context and continuation, no more than fit.
    pub tokens: Vec<TokenId>,
    /// The last ones, which are scored.
    pub scored: usize,
    /// Whether tokens were left out at its beginning.
    pub is_cut: bool,
}

/// Cuts questions into tokens for one model.
pub(super) struct Cutter<'a> {
    tokenizer: &'a dyn Tokenizer,
    /// What the tokenizer's own files put before every text.
    before: Vec<TokenId>,
    /// The token in the place of an empty context, and whether there was such a context.
    first: (Option<TokenId>, bool),
    context: usize,
    most_written: usize,
    /// The format of a conversation in which a context is what the user says.
    chat: Option<&'a ChatFormat>,
}

impl<'a> Cutter<'a> {
    pub fn new(
        tokenizer: &'a dyn Tokenizer,
        context: usize,
        most_written: usize,
        chat: Option<&'a ChatFormat>,
    ) -> Result<Self> {
        let line_break = || match tokenizer.encode(b"\n").as_deref() {
            Ok(&[token]) => Some(token),
            _ => None,
        };
        let first = (before_first_text(tokenizer)?.or_else(line_break), false);
        let before = before_every_text(tokenizer)?;
        Ok(Cutter { tokenizer, before, first, context, most_written, chat })
    }

    /// The token before texts without a context, if there were any.
    pub fn begun_with(&self) -> Option<TokenId> {
        self.first.0.filter(|_| self.first.1)
    }

    /// The texts of a question: one for each choice.
    pub fn cut(&mut self, question: &Question) -> Result<Vec<Asked>, Message> {
        let Question { context, ways, .. } = question;
        let one = match ways {
            Ways::Choices { texts, delimiter, .. } => {
                let texts = texts.iter().map(|text| format!("{delimiter}{text}"));
                return texts.map(|text| self.pair(context, &text)).collect();
            }
            Ways::Continuation(text) => self.pair(context, text)?,
            Ways::Written(_) => {
                let tokens = match self.chat {
                    None => self.encode(context)?,
                    Some(chat) => self.said(chat, context)?,
                };
                let from = tokens.len().saturating_sub(self.context - self.most_written);
                Asked { tokens: tokens[from..].to_vec(), scored: 0, is_cut: from > 0 }
            }
        };
        Ok(vec![one])
    }

    /// Both together are cut, and the continuation is what comes after as many tokens as the context alone
    /// has. Spaces at the end of the context belong to the continuation: in most vocabularies a word begins with
    /// one.
    fn pair(&mut self, context: &str, continuation: &str) -> Result<Asked, Message> {
        let (context, mut rest) = match (context, self.first.0) {
            _ if let Some(chat) = self.chat => {
                (self.said(chat, context)?, self.plain(continuation.trim_start_matches(is_space))?)
            }
            ("", None) => {
                return Err(message!(
                    "its context is empty, and the tokenizer has no token to begin a text with"
                ));
            }
            ("", Some(first)) => {
                self.first.1 = true;
                let rest = self.plain(continuation)?;
                // A text that begins with that token already has it once.
                let twice = rest.first() == Some(&first);
                (vec![first], rest[usize::from(twice)..].to_vec())
            }
            _ => {
                let all = format!("{context}{continuation}");
                let context = self.encode(context.trim_end_matches(is_space))?;
                let mut all = self.encode(&all)?;
                let rest = all.split_off(context.len().min(all.len()));
                (context, rest)
            }
        };
        if context.is_empty() {
            return Err(message!("its context is white space alone"));
        }
        let (scored, most) = (rest.len(), self.context);
        if !(1..=most).contains(&scored) {
            let why = message!("an answer has {} tokens of its own, not 1 to {}", scored, most);
            return Err(why);
        }
        let mut tokens = context;
        tokens.append(&mut rest);
        let from = tokens.len().saturating_sub(self.context + 1);
        Ok(Asked { tokens: tokens.split_off(from), scored, is_cut: from > 0 })
    }

    /// What stands before an answer to what the user says.
    fn said(&self, chat: &ChatFormat, text: &str) -> Result<Vec<TokenId>, Message> {
        if text.is_empty() {
            return Err(message!("its context is empty: nothing that a user says"));
        }
        chat.question(&[Turn::new("user", text)], self.tokenizer).map_err(|e| with_causes(&e))
    }

    fn plain(&self, text: &str) -> Result<Vec<TokenId>, Message> {
        encode_marked(self.tokenizer, text.as_bytes()).map_err(|e| with_causes(&e))
    }

    fn encode(&self, text: &str) -> Result<Vec<TokenId>, Message> {
        let tokens = self.plain(text)?;
        match tokens.starts_with(&self.before) {
            true => Ok(tokens),
            false => Ok([&self.before[..], &tokens].concat()),
        }
    }
}
