//! What stands in for chat templates in a program that was built without BPE tokenizers: no model
//! with a template of its own is read there.

use super::line::Turn;
use crate::bpe;
use llm_core::base::Message;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, Result};

/// No day.
pub(super) const DAY: &str = "";

/// None.
#[derive(Debug)]
pub struct Template {
    /// No.
    pub is_own: bool,
}

impl Template {
    /// Refused.
    ///
    /// # Errors
    /// Always.
    pub fn of(tokenizer: &dyn Tokenizer) -> Result<Template> {
        Err(Error::tokenizer(tokenizer.name(), bpe::UNAVAILABLE))
    }

    /// Refused.
    ///
    /// # Errors
    /// Always.
    pub fn render(&self, _: &[Turn], _: bool) -> Result<String, Message> {
        Err(bpe::UNAVAILABLE)
    }

    /// No.
    pub fn names(&self, _: &str) -> bool {
        self.is_own
    }

    /// No.
    pub fn knows(&self, _: &str) -> bool {
        self.is_own
    }

    /// No.
    pub fn asks_for_the_date(&self) -> bool {
        self.is_own
    }
}
