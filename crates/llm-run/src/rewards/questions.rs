//! Questions as rows of a batch, and where an answer ends.

use super::{Judge, own_questions};
use crate::data::{Data, Input, Validation};
use crate::error::{Result, RunError, usage};
use llm_core::base::thousands;
use llm_core::data::{TokenDataset, Window};
use llm_core::generate::Stops;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TokenId, message};
use llm_formats::chat::{ChatFormat, Turn};
use std::collections::HashMap;
use std::sync::Arc;

/// Most tokens of an answer where no answer is known.
const UNKNOWN_LENGTH: usize = 64;

/// Questions that are asked on the way.
const FIXED: usize = 16;

/// What is known of the questions of a run.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Most tokens of an answer.
    pub most: usize,
    /// Most tokens of a question.
    pub longest: usize,
    /// Some questions, evenly spaced: of those that are unseen, where there are any.
    pub(super) fixed: Vec<Vec<TokenId>>,
    /// By the tokens of a question: its text, and the answer where one is known.
    pub(super) texts: HashMap<Vec<TokenId>, (String, Option<String>)>,
    /// Tokens behind which nothing is written; the first ends an answer.
    ends: Vec<TokenId>,
    stops: Stops,
}

impl Questions {
    /// What an answer says, and whether it came to its end: to that of an answer, not that of a text.
    pub fn said(&self, answer: &[TokenId], tokenizer: &dyn Tokenizer) -> (String, bool) {
        let (mut stops, mut text) = (self.stops.clone(), Vec::new());
        for token in answer {
            let (more, stop) = match self.is_over(*token) {
                true => (stops.finish(), true),
                false => stops.push(tokenizer.bytes_of(*token)),
            };
            text.extend(more);
            if stop {
                let ended = !self.is_over(*token) || self.ends.first() == Some(token);
                return (String::from_utf8_lossy(&text).into_owned(), ended);
            }
        }
        text.extend(stops.finish());
        (String::from_utf8_lossy(&text).into_owned(), false)
    }

    /// Whether nothing follows a token, by itself.
    pub(super) fn is_over(&self, token: TokenId) -> bool {
        self.ends.contains(&token)
    }
}

/// How a model is asked and answers: by the chat template that it has learned, or behind the question as it stands,
/// up to the end of the line.
pub(super) struct Manner {
    format: Option<ChatFormat>,
    /// What ends an answer.
    end: String,
}

impl Manner {
    pub fn of(tokenizer: &dyn Tokenizer) -> Manner {
        let format = ChatFormat::own(tokenizer);
        let end = format.as_ref().map_or("\n".into(), |format| format.end.clone());
        Manner { format, end }
    }

    /// The tokens up to an answer.
    ///
    /// # Errors
    /// What the template refuses; [`RunError::Data`] for several turns without one.
    pub fn prompt(&self, turns: &[Turn], tokenizer: &dyn Tokenizer) -> Result<Vec<TokenId>> {
        match (&self.format, turns) {
            (Some(format), turns) => Ok(format.question(turns, tokenizer)?),
            (None, [question]) => Ok(tokenizer.encode(question.content.as_bytes())?),
            (None, _) => Err(RunError::Data(message!(
                "a question of several turns is for a model that has learned conversations"
            ))),
        }
    }

    /// The tokens of an answer and of what ends it.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn answer(&self, answer: String, tokenizer: &dyn Tokenizer) -> Result<Vec<TokenId>> {
        Ok(tokenizer.encode((answer + &self.end).as_bytes())?)
    }
}

/// A question: the turns up to the answer, and the answer where one is known.
type Asked = (Vec<Turn>, Option<String>);

/// The data of a run that learns from rewards: a row for each question with its known answer, of which the last
/// `val_frac` stay unseen. A model with a chat template of its own is asked by that; any other goes on behind the
/// question as it stands, up to the end of the line.
///
/// # Errors
/// [`RunError::Usage`] for questions without answers where answers are compared, or no room for an answer;
/// [`RunError::Data`] where there are no questions.
pub fn questions(
    input: Input,
    recipe: &Recipe,
    context: usize,
    tokenizer: &Arc<dyn Tokenizer>,
) -> Result<(Data, Questions)> {
    let Input::Files(files) = input else {
        return usage(message!("{reward} needs questions: name them with {data}"));
    };
    let name = files.name.clone();
    let asked: Vec<Asked> = match &files.chats {
        Some(chats) => chats.questions().collect(),
        None => {
            let text = files.texts.learned(0.0, None)?;
            let lines = String::from_utf8_lossy(&text).into_owned();
            let lines = lines.lines().filter(|line| !line.trim().is_empty());
            lines.map(|line| (vec![Turn::new("user", line)], None)).collect()
        }
    };
    if asked.is_empty() {
        return Err(RunError::Data(message!("{} has no question", name)));
    }
    let judge = Judge::of(&recipe.reward);
    if judge == Judge::Exact && asked.iter().any(|(_, answer)| answer.is_none()) {
        return usage(message!(
            "{reward} {}: the questions of {} have no answers to compare with",
            &recipe.reward,
            name
        ));
    }
    let manner = Manner::of(&**tokenizer);
    let (ends, stops) = match &manner.format {
        Some(format) => (format.ends(), format.stops()),
        None => (tokenizer.end_of_text().into_iter().collect(), Stops::new([b"\n".to_vec()])),
    };
    let (mut texts, mut rows) = (HashMap::new(), Vec::new());
    for (turns, answer) in asked {
        let question = turns.last().map_or(String::new(), |turn| turn.content.clone());
        let prompt = manner.prompt(&turns, &**tokenizer)?;
        let known = answer.clone().unwrap_or_default();
        rows.push((prompt.clone(), manner.answer(known, &**tokenizer)?));
        texts.entry(prompt).or_insert((question, answer));
    }
    let longest = rows.iter().map(|(prompt, _)| prompt.len()).max().unwrap_or(0);
    let most = match (recipe.answer_length as usize, judge) {
        (0, Judge::Exact) => 2 * rows.iter().map(|(_, answer)| answer.len()).max().unwrap_or(0),
        (0, _) => UNKNOWN_LENGTH.min(context.saturating_sub(longest)),
        (most, _) => most,
    };
    if most == 0 || longest + most > context {
        return usage(message!(
            "{answer_length} {}: questions of up to {} tokens leave less of the context of {}",
            most.max(1),
            longest,
            context
        ));
    }
    let unseen = match own_questions(&recipe.reward).is_some() || recipe.val_frac > 0.0 {
        true => (rows.len() as f64 * recipe.val_frac).ceil() as usize,
        false => 0,
    };
    let val = rows.split_off(rows.len() - unseen.min(rows.len() - 1));
    let judged = !val.is_empty() && texts.values().all(|(_, answer)| answer.is_some());
    let label = message!(
        "{}: {} questions, {} of them unseen; {} answers to each, of up to {} tokens",
        name,
        thousands((rows.len() + val.len()) as u64),
        thousands(val.len() as u64),
        recipe.group,
        most
    );
    let asked = if val.is_empty() { &rows } else { &val };
    let n = FIXED.min(asked.len());
    let fixed = (0..n).map(|i| asked[i * asked.len() / n].0.clone()).collect();
    let val = judged
        .then(|| Ok::<_, RunError>(Validation::of(passages(&val)?, context, tokenizer.clone())))
        .transpose()?;
    let data = Data { train: passages(&rows)?, val, label, opening: None, chats: None };
    Ok((data, Questions { most, longest, fixed, texts, ends, stops }))
}

/// Rows of questions and answers, of which the answers are targets.
pub(super) fn passages(rows: &[(Vec<TokenId>, Vec<TokenId>)]) -> Result<TokenDataset> {
    let (mut tokens, mut is_target, mut windows) = (Vec::new(), Vec::new(), Vec::new());
    for (prompt, answer) in rows {
        windows.push(Window { start: tokens.len(), len: prompt.len() + answer.len() - 1 });
        tokens.extend(prompt.iter().chain(answer));
        is_target.extend(prompt.iter().map(|_| false).chain(answer.iter().map(|_| true)));
    }
    Ok(TokenDataset::from_tokens(tokens).with_passages(windows, is_target)?)
}
