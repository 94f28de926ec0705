//! A conversation with a model: its own chat template, its stops, and what was read before kept.

use crate::error::{Result, RunError};
use llm_core::generate::{Generator, Sampling, Stops, Written};
use llm_core::kernels::small::SmallKind;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId, message};
use llm_formats::chat::{ChatFormat, Turn};
use std::fmt;
use std::sync::Arc;

/// A conversation.
pub struct Talk<'m> {
    generator: Generator<'m>,
    tokenizer: Arc<dyn Tokenizer>,
    format: ChatFormat,
    stops: Stops,
    turns: Vec<Turn>,
    /// Most tokens of a conversation and an answer.
    context: usize,
    /// Questions that were asked.
    asked: u64,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// What was written.
    pub written: Written,
    /// Tokens of the conversation up to it.
    pub prompt: Vec<TokenId>,
    /// Turns that no longer fit into the context, and were left out from then on.
    pub forgotten: usize,
}

impl fmt::Debug for Talk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk").field("turns", &self.turns).finish_non_exhaustive()
    }
}

impl<'m> Talk<'m> {
    /// A conversation that has not begun; `system` is what the model is told before it.
    ///
    /// # Errors
    /// [`RunError::Data`] for a template that cannot be used, [`RunError::Core`] for settings outside
    /// their ranges.
    pub fn new(
        model: &'m TinyGPT,
        tokenizer: Arc<dyn Tokenizer>,
        system: Option<&str>,
        sampling: Sampling,
        weights: Option<SmallKind>,
    ) -> Result<Talk<'m>> {
        let format = ChatFormat::of(&*tokenizer)?;
        let stops = format.stops();
        let turns = system.map(|text| Turn::new("system", text)).into_iter().collect();
        let context = model.config().seq_len;
        // Any prompt: the first question takes its place.
        let generator = Generator::with_weights(model, &[0], sampling, 1, weights)?;
        Ok(Talk { generator, tokenizer, format, stops, turns, context, asked: 0 })
    }

    /// Whether the model has a chat template of its own.
    pub fn has_template(&self) -> bool {
        self.format.template.is_own
    }

    /// What was said before, as if it had been here.
    pub fn remember(&mut self, turns: impl IntoIterator<Item = Turn>) {
        self.turns.extend(turns);
    }

    /// Asks, and has the answer written: at most `n` tokens, up to what ends one. `go_on` is as for
    /// [`Generator::write`]. Where the context is full, the oldest turns are forgotten.
    ///
    /// # Errors
    /// [`RunError::Data`] when the template refuses the conversation, or the question alone is too
    /// long; then it was not asked.
    pub fn ask(
        &mut self,
        question: &str,
        n: usize,
        mut go_on: impl FnMut(&Written) -> bool,
    ) -> Result<Answer> {
        self.turns.push(Turn::new("user", question));
        let (prompt, forgotten) = self.prompt(n).inspect_err(|_| drop(self.turns.pop()))?;
        self.turns.drain(self.first()..self.first() + forgotten);
        let n = n.min(self.context - prompt.len());
        self.generator.prompt(&prompt, self.asked)?;
        self.asked += 1;
        let go_on = |_: &mut Generator<'_>, written: &Written| Ok::<_, RunError>(go_on(written));
        let written = self.generator.write(&*self.tokenizer, n, &self.stops, go_on)?;
        self.turns.push(Turn::new("assistant", String::from_utf8_lossy(&written.text)));
        Ok(Answer { written, prompt, forgotten })
    }

    /// The number of turns before the first question.
    fn first(&self) -> usize {
        self.turns.iter().take_while(|turn| turn.role == "system").count()
    }

    /// The conversation with the last question as tokens, and how many turns had to be left out for an
    /// answer of `n` tokens to fit, or one that takes a quarter of the context.
    fn prompt(&self, n: usize) -> Result<(Vec<u32>, usize)> {
        // A whole answer may be as long as the context: then nothing before it would ever be kept.
        let enough = n.min(self.context / 4);
        let first = self.first();
        let mut forgotten = 0;
        loop {
            let turns = [&self.turns[..first], &self.turns[first + forgotten..]].concat();
            let tokens = self.format.question(&turns, &*self.tokenizer)?;
            let last = first + forgotten + 1 == self.turns.len();
            let room = self.context.saturating_sub(tokens.len());
            if room >= enough || (last && room > 0) {
                return Ok((tokens, forgotten));
            }
            if last {
                let (len, context) = (tokens.len(), self.context);
                return Err(RunError::Data(message!(
                    "{} tokens are too many for the model's context of {}; ask something shorter",
                    len,
                    context
                )));
            }
            // A question and its answer.
            forgotten += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;
    use llm_core::tokenizer::ByteTokenizer;

    #[test]
    fn a_conversation_goes_on_and_forgets_its_beginning() {
        let model = TinyGPT::new(Config::new(256, 160, 16, 1), 1).unwrap();
        let talk =
            Talk::new(&model, Arc::new(ByteTokenizer), Some("Be brief."), Sampling::greedy(), None);
        let mut talk = talk.unwrap();
        assert!(!talk.has_template());
        let first = talk.ask("a", 8, |_| true).unwrap();
        assert_eq!((first.forgotten, first.written.choices.len()), (0, 8));
        let second = talk.ask("b", 8, |_| true).unwrap();
        assert!(second.forgotten == 0 || second.prompt.len() < first.prompt.len() + 60);
        let third = talk.ask("c", 8, |_| true).unwrap();
        assert!(third.forgotten + second.forgotten > 0 && talk.turns[0].role == "system");
        assert!(third.prompt.len() + 8 <= 160);
        let before = talk.turns.len();
        let refused = talk.ask(&"d".repeat(200), 8, |_| true).unwrap_err().to_string();
        assert!(refused.contains("too many for the model's context of 160"), "{refused}");
        assert_eq!(talk.turns.len(), before);
        talk.remember([Turn::new("user", "e"), Turn::new("assistant", "f")]);
        assert_eq!(talk.turns.len(), before + 2);
    }
}
