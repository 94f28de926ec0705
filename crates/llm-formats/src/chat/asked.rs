//! What is known of conversations before they are cut: how long they are, and what is asked.

use super::file::Conversations;
use super::format::ChatFormat;
use super::line::{ASSISTANT, Line, Turn};
use crate::error::Result;
use llm_core::tokenizer::Tokenizer;
use rayon::prelude::*;

impl Conversations {
    /// The number of tokens of each conversation, for a model with this tokenizer. Those that its template
    /// refuses are left out: learning them says why.
    ///
    /// # Errors
    /// As [`ChatFormat::of`].
    pub fn lengths(&self, tokenizer: &dyn Tokenizer) -> Result<Vec<usize>> {
        let format = ChatFormat::of(tokenizer)?;
        let of = |line: &Line| {
            let text = match line {
                Line::Turns(turns) => format.template.render(turns, false).ok()?,
                Line::Text(text) => text.clone(),
            };
            tokenizer.encode(text.as_bytes()).ok().map(|tokens| tokens.len())
        };
        Ok(self.all.par_iter().filter_map(|said| of(&said.what)).collect())
    }

    /// The turns before the first answer of the first conversation that has one.
    pub fn question(&self) -> Option<Vec<Turn>> {
        self.questions().find_map(|(turns, answer)| answer.map(|_| turns))
    }

    /// The turns before the first answer of each conversation that does not begin with one, and that answer, if there
    /// is one.
    pub fn questions(&self) -> impl Iterator<Item = (Vec<Turn>, Option<String>)> {
        self.all.iter().filter_map(|said| {
            let Line::Turns(turns) = &said.what else { return None };
            let answer = turns.iter().position(|turn| turn.role == ASSISTANT);
            let (question, rest) = turns.split_at(answer.unwrap_or(turns.len()));
            let answer = rest.first().map(|turn| turn.content.clone());
            (!question.is_empty()).then(|| (question.to_vec(), answer))
        })
    }

    /// The pairs of answers: the turns before them, the better one and the worse one.
    pub fn pairs(&self) -> impl Iterator<Item = (Vec<Turn>, [String; 2])> {
        self.all.iter().filter_map(|said| {
            let (Line::Turns(turns), Some(worse)) = (&said.what, &said.rejected) else {
                return None;
            };
            let (better, question) = turns.split_last()?;
            Some((question.to_vec(), [better.content.clone(), worse.clone()]))
        })
    }
}
