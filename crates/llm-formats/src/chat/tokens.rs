//! The tokens of conversations, and which of them are learned.

use super::answers::written_down;
use super::file::{Conversations, Said};
use super::line::{ASSISTANT, Line, Turn};
use super::template::Template;
use crate::error::{FormatError, Result};
use llm_core::base::{Message, with_causes};
use llm_core::data::{TokenDataset, Window, Windows};
use llm_core::message;
use llm_core::recipe::LossOn;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Recipe, TokenId};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How conversations are cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Tokens of a window: a conversation that is longer is learned in several.
    pub seq_len: usize,
    /// Which of their tokens are learned.
    pub loss_on: LossOn,
}

impl From<&Recipe> for Cut {
    fn from(recipe: &Recipe) -> Cut {
        Cut { seq_len: recipe.seq_len, loss_on: recipe.loss_on }
    }
}

/// Conversations as tokens.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Each a passage that stands alone, or several.
    pub data: TokenDataset,
    /// How many are longer than a window.
    pub longer: usize,
    /// Tokens that are learned, ..
    pub targets: usize,
    /// Tokens that follow another one, of which the targets are a part.
    pub tokens: usize,
}

/// Tokens, and how much each counts: those of 0 are not learned.
type Marked = (Vec<TokenId>, Vec<f32>);

impl Conversations {
    /// Tokens of the conversations, for a model with this template and tokenizer; nothing where
    /// there is nothing to learn.
    ///
    /// # Errors
    /// [`FormatError::Content`] with the file, the line and why it cannot be learned.
    pub fn tokens(
        &self,
        template: &Template,
        tokenizer: &dyn Tokenizer,
        cut: Cut,
    ) -> Result<Option<Learned>> {
        // After a line that is refused none is looked at, which may take as long as that one did.
        let refused = AtomicUsize::new(usize::MAX);
        let made = |(i, said): (usize, &Said)| {
            let goes_on = refused.load(Ordering::Relaxed) > i;
            let made = goes_on.then(|| marked(&said.what, template, tokenizer, cut.loss_on))?;
            if made.is_err() {
                refused.fetch_min(i, Ordering::Relaxed);
            }
            Some(made)
        };
        let made: Vec<_> = self.all.par_iter().enumerate().map(made).collect();
        let (mut tokens, mut weights, mut windows) = (Vec::new(), Vec::new(), Vec::new());
        let mut longer = 0;
        for (said, made) in self.all.iter().zip(made.into_iter().flatten()) {
            let (own, counts) =
                made.map_err(|why| FormatError::Content(self.at((said.file, said.spot), why)))?;
            let start = tokens.len();
            longer += usize::from(own.len() > cut.seq_len + 1);
            let pieces = Windows::consecutive(own.len(), cut.seq_len);
            let learns =
                |w: &Window| counts[w.start + 1..=w.start + w.len].iter().any(|&w| w > 0.0);
            let learned = pieces.iter().filter(learns);
            windows.extend(learned.map(|w| Window { start: start + w.start, ..w }));
            tokens.extend(own);
            weights.extend(counts);
        }
        if windows.is_empty() {
            return Ok(None);
        }
        let all = tokens.len() - self.all.len();
        let is_target = weights.iter().map(|&w| w > 0.0).collect();
        let mut data = TokenDataset::from_tokens(tokens).with_passages(windows, is_target)?;
        if weights.iter().any(|w| ![0.0, 1.0].contains(w)) {
            data = data.with_weights(weights)?;
        }
        let targets = data.targets_in(&data.windows(cut.seq_len));
        Ok(Some(Learned { data, longer, targets, tokens: all }))
    }
}

/// The tokens of a line.
fn marked(
    line: &Line,
    template: &Template,
    tokenizer: &dyn Tokenizer,
    loss_on: LossOn,
) -> Result<Marked, Message> {
    let encode = |text: &str| tokenizer.encode(text.as_bytes()).map_err(|e| with_causes(&e));
    let turns = match line {
        Line::Turns(turns) => turns,
        Line::Text(text) => {
            let mut tokens = encode(text)?;
            tokens.extend(tokenizer.end_of_text());
            let all = vec![1.0; tokens.len()];
            return Ok((tokens, all));
        }
    };
    let turns = &*known(template, turns);
    let all = loss_on == LossOn::All;
    if all && turns.iter().all(|turn| turn.weight == 1.0) {
        let tokens = encode(&template.render(turns, false)?)?;
        let all = vec![1.0; tokens.len()];
        return Ok((tokens, all));
    }
    let written = written_down(template, turns)?;
    if written.answers.is_empty() && !all {
        return Err(message!("it has no answer to learn (a message of the role assistant)"));
    }
    let tokens = encode(&written.text)?;
    // What is no answer counts for all or nothing, and so may an answer.
    let others = if all { 1.0 } else { 0.0 };
    let is_answer = |turn: &&Turn| turn.role == ASSISTANT;
    let meant = turns.iter().filter(is_answer).map(|turn| turn.weight).zip(written.answers);
    let (own, meant): (Vec<_>, Vec<_>) = meant.filter(|(weight, _)| *weight != others).unzip();
    let answers = spans(&written.text, &meant, &tokens, tokenizer)?;
    let (mut place, mut rest) = (0, &*answers.into_iter().zip(own).collect::<Vec<_>>());
    let weights = tokens.iter().map(|&token| {
        let start = place;
        place += tokenizer.bytes_of(token).len();
        while let [(answer, _), others @ ..] = rest
            && answer.end <= start
        {
            rest = others;
        }
        rest.first().filter(|(answer, _)| answer.start < place).map_or(others, |(_, own)| *own)
    });
    let weights = weights.collect();
    Ok((tokens, weights))
}

/// The turns by the roles that a template knows: for most of them a developer speaks as the system.
fn known<'t>(template: &Template, turns: &'t [Turn]) -> Cow<'t, [Turn]> {
    const DEVELOPER: &str = "developer";
    if template.knows(DEVELOPER) || turns.iter().all(|turn| turn.role != DEVELOPER) {
        return Cow::Borrowed(turns);
    }
    let mut turns = turns.to_vec();
    let by_another = turns.iter_mut().filter(|turn| turn.role == DEVELOPER);
    by_another.for_each(|turn| turn.role = "system".into());
    Cow::Owned(turns)
}

/// The answers' places in the bytes of the tokens: in the text itself, unless the tokenizer puts it
/// into another form.
fn spans(
    text: &str,
    answers: &[Range<usize>],
    tokens: &[TokenId],
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Range<usize>>, Message> {
    let len = |tokens: &[TokenId]| -> usize {
        tokens.iter().map(|&token| tokenizer.bytes_of(token).len()).sum()
    };
    if len(tokens) == text.len() {
        return Ok(answers.to_vec());
    }
    let place = |at: usize| {
        let before = tokenizer.encode(&text.as_bytes()[..at]);
        before.map(|tokens| len(&tokens)).map_err(|e| with_causes(&e))
    };
    answers.iter().map(|answer| Ok(place(answer.start)?..place(answer.end)?)).collect()
}

#[cfg(feature = "bpe")]
#[cfg(test)]
mod tests {
    use super::super::template::tests::chatml;
    use super::*;
    use llm_core::tokenizer::{ByteTokenizer, WithEndOfText};
    use std::sync::Arc;

    const LINE: &str = r#"{"prompt": "cat", "completion": "hat"}"#;

    fn learned(lines: &str, seq_len: usize, loss_on: LossOn) -> Result<Option<Learned>> {
        let tokenizer = WithEndOfText::extend(Arc::new(ByteTokenizer)).unwrap();
        let files = [(message!("chats"), lines.as_bytes())];
        let found = Conversations::parse(files).unwrap();
        found.tokens(&chatml(), &*tokenizer, Cut { seq_len, loss_on })
    }

    /// The targets of every window, as text.
    fn targets(of: &Learned) -> Vec<String> {
        let windows = of.data.windows(0);
        let batch = |w: Window| {
            let tokens = of.data.tokens(w.start + 1, w.len).unwrap();
            tokens.iter().map(|&t| char::from_u32(t).unwrap()).collect()
        };
        windows.iter().map(batch).collect()
    }

    #[test]
    fn answers_alone_are_learned_and_windows_do_not_cross() {
        let lines = format!("{LINE}\n{LINE}\n{{\"text\": \"ab\"}}\n");
        let found = learned(&lines, 128, LossOn::Answers).unwrap().unwrap();
        let whole = "|im_start|>user\ncat<|im_end|>\n<|im_start|>assistant\nhat<|im_end|>\n";
        assert_eq!(targets(&found), [whole, whole, "b\u{100}"]);
        // "hat<|im_end|>\n" twice, "b" and the end of a text
        assert_eq!((found.targets, found.longer), (2 * 14 + 2, 0));
        let all = learned(&lines, 128, LossOn::All).unwrap().unwrap();
        assert_eq!(all.targets, 2 * whole.len() + 2);
        // In pieces, of which those without a part of the answer are left out.
        let found = learned(LINE, 16, LossOn::Answers).unwrap().unwrap();
        assert_eq!(found.longer, 1);
        assert_eq!(targets(&found).concat(), whole[48..]);
    }

    #[test]
    fn answers_that_are_not_to_be_learned_are_read_alone() {
        let turn = |more: &str| {
            format!(
                r#"{{"role": "user", "content": "cat"}}, {{"role": "assistant", "content": "hat"{more}}}"#
            )
        };
        let line = |a: &str, b: &str| format!("{{\"messages\": [{}, {}]}}", turn(a), turn(b));
        let count = |lines: &str, loss_on: LossOn| {
            learned(lines, 512, loss_on).unwrap().map_or(0, |found| found.targets)
        };
        let [both, all] = [LossOn::Answers, LossOn::All].map(|on| count(&line("", ""), on));
        assert_eq!(both, 2 * 14);
        for key in [r#", "weight": 0"#, r#", "train": false"#, r#", "loss_mask": 0.0"#] {
            assert_eq!(count(&line(key, r#", "weight": 1"#), LossOn::Answers), 14, "{key}");
            assert_eq!(count(&line(key, ""), LossOn::All), all - 14, "{key}");
            assert_eq!(count(&line(key, key), LossOn::Answers), 0, "{key}");
        }
        let weighted = |lines: &str, on| {
            let data = learned(lines, 512, on).unwrap().unwrap().data;
            let weights = data.batch(1, 0, [1, 512]).unwrap().weights;
            weights.map(|of| [0.0, 0.25, 1.0].map(|w| of.iter().filter(|x| **x == w).count()))
        };
        let half = |more| line(r#", "weight": 0.25"#, more);
        let n = all - 2 * 14;
        for (on, others) in [(LossOn::Answers, [n, 14, 14]), (LossOn::All, [0, 14, n + 14])] {
            assert_eq!(weighted(&half(""), on), Some(others));
            assert_eq!(weighted(&line("", ""), on), None);
        }
        assert_eq!(weighted(&half(r#", "weight": 0"#), LossOn::Answers), Some([n + 14, 14, 0]));
        let developer = r#"{"messages": [{"role": "developer", "content": "Rhyme."}, "#;
        let found = learned(&format!("{developer}{}]}}", turn("")), 512, LossOn::Answers);
        assert!(targets(&found.unwrap().unwrap())[0].starts_with("|im_start|>system\nRhyme."));
    }

    #[test]
    fn what_cannot_be_learned_is_named_by_its_line() {
        let lines =
            format!("{LINE}\n\n{{\"messages\": [{{\"role\": \"user\", \"content\": \"a\"}}]}}");
        let said = learned(&lines, 16, LossOn::Answers).unwrap_err().to_string();
        assert!(said.starts_with("chats, line 3: it has no answer to learn"), "{said}");
        assert!(learned("", 16, LossOn::All).unwrap().is_none());
        // The first of several, whichever was looked at first.
        let bad = r#"{"messages": [{"role": "usr", "content": "a"}]}"#;
        let lines = format!("{}{bad}\n", format!("{LINE}\n").repeat(50)).repeat(9);
        let said = learned(&lines, 16, LossOn::Answers).unwrap_err().to_string();
        assert!(said.starts_with("chats, line 51: "), "{said}");
    }
}
