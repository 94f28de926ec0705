//! Training and validation data of a run: the built-in stories, or files.

use llm_core::base::{Message, with_causes};
mod beginning;
mod input;
mod twins;
mod validation;

pub use beginning::Beginning;
pub use input::{Input, check_about_files, check_kind_of_data, one_stdin};
pub use llm_formats::chat::Cut;
pub use llm_formats::data_files::{Files, Reading};
pub use twins::{LARGEST_PATCHED, twin_pairs, unseen_twins};
pub use validation::{Report, Slices, Validation};

use crate::error::{Result, RunError};
use crate::numbers::short;
use llm_core::data::TokenDataset;
use llm_core::recipe::EndOfText;
use llm_core::tokenizer::{ByteTokenizer, END_OF_TEXT, IdsTokenizer, Tokenizer};
use llm_core::{base, counted, message};
use llm_formats::chat::{Conversations, Template, Turn, remarks};
use llm_formats::data_files::in_memory;
use llm_formats::texts::Text;
use llm_formats::tokenizers::{is_bytes, kept, kind};
use llm_stories::{GRAMMAR_VERSION, ToldStories};
use std::cmp::Reverse;
use std::sync::Arc;

/// The share of passages in the training data from which on text is not unseen.
const MOST_REPEATED: f64 = 0.5;

/// Keys of a message with what a model thinks before it answers.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// The number of training stories among `count`.
pub fn training_stories(count: u64, val_frac: f64) -> u64 {
    count - (count as f64 * val_frac) as u64
}

/// Data ready for use. Copies share what is large.
#[derive(Clone, Debug)]
pub struct Data {
    /// The training data.
    pub train: TokenDataset,
    /// The validation data, if there is any.
    pub val: Option<Validation>,
    /// For the banner.
    pub label: Message,
    /// First words of an unseen story, to prompt with.
    pub opening: Option<String>,
    /// What is known of conversations.
    pub chats: Option<ChatFacts>,
}

/// What is known of the conversations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatFacts {
    /// Training conversations.
    pub count: usize,
    /// Training conversations that are longer than a window.
    pub longer: usize,
    /// A question, of an unseen conversation if there is one, with what was said before.
    pub question: Option<Vec<Turn>>,
}

impl Data {
    /// Cuts the input into training and validation parts for windows of this length; with `val`, all
    /// of it is for training and `val` is for validation.
    ///
    /// # Errors
    /// [`RunError::Data`] when the training part has no room for one window, `val` nothing to
    /// score, or one of them a character that the vocabulary does not have.
    pub fn new(
        input: Input,
        val: Option<Input>,
        val_frac: f64,
        cut: Cut,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Data> {
        match (input, val) {
            (stories @ Input::Stories { .. }, _) => {
                Data::divided(stories, val_frac, cut, tokenizer, &mut None)
            }
            (Input::Files(files), None) => {
                let unseen = unseen(&files, val_frac)?;
                let data = Data::of_files(*files, val_frac, cut, tokenizer)?;
                Ok(Data { label: message!("{}; {}", data.label, unseen), ..data })
            }
            (Input::Files(files), Some(val)) => {
                if let Input::Files(val) = &val {
                    check_unseen(val, &files)?;
                }
                let judged_on = match &val {
                    Input::Files(val) => Some(labelled(val, &**tokenizer)),
                    Input::Stories { .. } => None,
                };
                let data = Data::of_files(*files, 0.0, cut, tokenizer)?;
                let val = Data::whole(val, cut, tokenizer)?;
                let label = match judged_on {
                    Some(other) => message!("{}; validation: {}", data.label, other),
                    None => data.label,
                };
                Ok(Data { val: Some(val), label, ..data })
            }
        }
    }

    /// [`Data::new`] without validation data of its own. Stories that `told` holds are not generated
    /// again.
    ///
    /// # Errors
    /// As [`Data::new`].
    pub fn divided(
        input: Input,
        val_frac: f64,
        cut: Cut,
        tokenizer: &Arc<dyn Tokenizer>,
        told: &mut Option<ToldStories>,
    ) -> Result<Data> {
        let (seed, count) = match input {
            Input::Stories { seed, count } => (seed, count),
            Input::Files(files) => return Data::of_files(*files, val_frac, cut, tokenizer),
        };
        let seq_len = cut.seq_len;
        let cut = training_stories(count, val_frac);
        let known = told.take().filter(|told| told.parts() == (seed, count, cut));
        let known = known.map_or_else(|| ToldStories::new((seed, count, cut)), Ok)?;
        let told = told.insert(known);
        let train = told.learned.tokens(tokenizer.as_ref())?;
        let stories = message!(
            "built-in stories, grammar {}: {} to learn ({}), {} unseen",
            GRAMMAR_VERSION,
            base::thousands(cut),
            base::bytes(told.learned.data.len() as u64),
            base::thousands(count - cut)
        );
        let label = with_facts(stories, vocabulary(tokenizer.as_ref()));
        let val = (cut < count)
            .then(|| Validation::of_stories(told.unseen.clone(), seq_len, tokenizer.clone()));
        let opening = Some(beginning::opening(seed, count));
        Ok(Data { train, val: val.transpose()?, label, opening, chats: None })
    }

    fn of_files(
        mut files: Files,
        val_frac: f64,
        cut: Cut,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Data> {
        let label = labelled(&files, tokenizer.as_ref());
        let label = with_facts(label, vocabulary(tokenizer.as_ref()));
        let name = files.name.clone();
        if let Some(chats) = files.chats.take() {
            return of_chats(chats, (name, label), val_frac, cut, tokenizer);
        }
        let seq_len = cut.seq_len;
        let [train, val] = files.divided(val_frac, tokenizer.as_ref())?;
        if let Err(e) = train.check_room(message!("the training part"), seq_len) {
            let most = train.len().saturating_sub(1);
            let advice = match most {
                0 | 1 => message!("give more text"),
                n => message!("give more text, or {seq} {} or less", n),
            };
            let cause = with_causes(&e);
            return Err(RunError::Data(message!("{} is too small: {}; {}", name, cause, advice)));
        }
        let val = Validation::of(val, seq_len, tokenizer.clone());
        let val = (!val.is_empty()).then_some(val);
        Ok(Data { train, val, label, opening: None, chats: None })
    }

    /// Tokens that stand for one pass over the training data: a window for each conversation.
    pub fn tokens_of_epoch(&self, seq_len: usize) -> usize {
        let windows = |n: usize| n.saturating_mul(seq_len);
        self.train.passages().map_or(self.train.len(), windows)
    }

    /// All of the input as validation data.
    ///
    /// # Errors
    /// [`RunError::Data`] when it has one token or none, or a character that the vocabulary does
    /// not have.
    pub fn whole(input: Input, cut: Cut, tokenizer: &Arc<dyn Tokenizer>) -> Result<Validation> {
        match input {
            input @ Input::Stories { .. } => {
                let data = Data::divided(input, 0.1, cut, tokenizer, &mut None)?;
                data.val.ok_or_else(|| RunError::Internal(message!("no unseen stories")))
            }
            Input::Files(files) => {
                let name = files.name.clone();
                let changed = !files.changes.is_empty() || files.texts.is_respelt(&**tokenizer);
                let about = changed.then(|| labelled(&files, &**tokenizer));
                if let Some(chats) = &files.chats {
                    let made = chats.tokens(&template(tokenizer)?, &**tokenizer, cut)?;
                    let made = made.ok_or_else(|| RunError::Data(nothing_said(name)))?;
                    return Ok(Validation::of(made.data, cut.seq_len, tokenizer.clone()));
                }
                let data = files.tokens(tokenizer.as_ref())?;
                let val = Validation::of(data, cut.seq_len, tokenizer.clone());
                if val.is_empty() {
                    let unit = Message::words(llm_formats::tokenizers::unit(tokenizer.as_ref()));
                    let why = message!("{} is too small: one {} predicts nothing", name, unit);
                    return Err(RunError::Data(why));
                }
                Ok(val.with(about))
            }
        }
    }
}

/// Conversations, of which the last `share` of each file is unseen.
fn of_chats(
    chats: Conversations,
    (name, label): (Message, Message),
    share: f64,
    cut: Cut,
    tokenizer: &Arc<dyn Tokenizer>,
) -> Result<Data> {
    let template = template(tokenizer)?;
    let is_chatml = !template.is_own || kept(&**tokenizer)?.is_chatml();
    let (count, passed) = (chats.len(), chats.passed_over(&template));
    let [learned, unseen] = chats.divided(share);
    let asked = (learned.len(), unseen.question().or_else(|| learned.question()));
    let made = learned.tokens(&template, &**tokenizer, cut)?;
    let made = made.ok_or_else(|| RunError::Data(nothing_said(name)))?;
    let unseen = unseen.tokens(&template, &**tokenizer, cut)?;
    let val = unseen.map(|unseen| Validation::of(unseen.data, cut.seq_len, tokenizer.clone()));
    let percent = 100.0 * made.targets as f64 / made.tokens as f64;
    let [longer, apart, weighted] = [made.longer, learned.not_learned(), learned.weighted()];
    let (thoughts, keys): (Vec<_>, Vec<_>) =
        passed.into_iter().partition(|(key, _)| THOUGHTS.contains(&&**key));
    let facts = [
        Some(counted!(count, "conversation")),
        Some(message!("{:.0} % of their tokens learned", percent)),
        is_chatml.then(|| message!("written down as ChatML")),
        (longer > 0)
            .then(|| message!("{} longer than {} tokens, learned in parts", longer, cut.seq_len)),
        (apart > 0).then(|| message!("{} of the answers read and not learned (weight 0)", apart)),
        (weighted > 0)
            .then(|| message!("{} of the answers count by a weight of their own", weighted)),
        (!thoughts.is_empty()).then(|| {
            message!(
                "thoughts left out, of which the chat template knows nothing: {}",
                counted(thoughts)
            )
        }),
        (!keys.is_empty()).then(|| message!("keys passed over: {}", counted(keys))),
    ];
    let label = with_facts(label, facts.into_iter().flatten().chain(remarks(&template)));
    let chats = ChatFacts { count: asked.0, longer, question: asked.1 };
    Ok(Data { train: made.data, val, label, opening: None, chats: Some(chats) })
}

/// The most frequent keys, and how often each stands there.
fn counted(mut keys: Vec<(String, usize)>) -> String {
    const MOST: usize = 8;
    keys.sort_by_key(|(_, times)| Reverse(*times));
    let more = (keys.len() > MOST).then(|| "..".to_string());
    let shown = |key: &str| key.escape_debug().take(40).collect::<String>();
    let some = keys.iter().take(MOST).map(|(key, times)| format!("{} ({times})", shown(key)));
    some.chain(more).collect::<Vec<_>>().join(", ")
}

fn template(tokenizer: &Arc<dyn Tokenizer>) -> Result<Template> {
    Ok(Template::of(&**tokenizer)?)
}

fn nothing_said(name: Message) -> Message {
    message!("{} has no conversation to learn from", name)
}

/// Refuses to validate on a file of the training data, by whatever name, or on passages of it.
fn check_unseen(val: &Files, train: &Files) -> Result<()> {
    if let Some((own, other)) = val.texts.equal_file(&train.texts)? {
        return Err(RunError::Data(message!(
            "{} of {val} is learned too, as {}: nothing in it is unseen; take it out of {data}, or \
             leave {val} out",
            val.names[own],
            train.names[other]
        )));
    }
    if let (Some(chats), Some(others)) = (&val.chats, &train.chats) {
        let again = chats.repeated_in(others);
        return match again < MOST_REPEATED {
            true => Ok(()),
            false => Err(RunError::Data(message!(
                "{} of {val}: {:.0} % of its conversations are learned too, in {}; take them out of \
                 {data}, or leave {val} out",
                val.name,
                100.0 * again,
                train.name
            ))),
        };
    }
    let again = val.texts.repeated_in(&train.texts)?;
    if again < MOST_REPEATED {
        return Ok(());
    }
    Err(RunError::Data(message!(
        "{} of {val}: {:.0} % of its passages are learned too, word for word, in {}; take them out \
         of {data}, or leave {val} out",
        val.name,
        100.0 * again,
        train.name
    )))
}

/// A label and what else there is to say about it.
fn with_facts(label: Message, facts: impl IntoIterator<Item = Message>) -> Message {
    facts.into_iter().fold(label, |label, fact| message!("{}, {}", label, fact))
}

/// Files and their size.
fn labelled(files: &Files, tokenizer: &dyn Tokenizer) -> Message {
    let (data, len) = (&files.texts, files.texts.text().len() as u64);
    let numbers = data.largest().is_some();
    let on_disk = matches!(data.text(), Text::Disk(_));
    let stays = on_disk && (is_bytes(tokenizer) || numbers);
    let several = data.count() > 1;
    let marked = data.end_of_text() == EndOfText::Marked;
    let facts = [
        numbers.then(|| message!("{} tokens of 16 bits", base::thousands(len / 2))),
        stays.then(|| message!("read from the disk")),
        several.then(|| message!("{} texts", data.count())),
        marked.then(|| message!("{} ends a text", END_OF_TEXT)),
        data.is_respelt(tokenizer).then(|| {
            message!("put into Unicode's form NFC by the tokenizer (its bytes are counted)")
        }),
    ];
    let label = message!("{}, {}", files.name, base::bytes(len));
    with_facts(label, facts.into_iter().flatten().chain(files.changes.clone()))
}

/// Which part of files is set apart, in words.
fn unseen(files: &Files, share: f64) -> Result<Message> {
    /// Less is what people write twice themselves.
    const WORTH_SAYING: f64 = 0.05;
    if share == 0.0 {
        return Ok(message!("none of it is unseen"));
    }
    if files.chats.as_ref().is_some_and(|chats| chats.len() < 2) {
        return Ok(message!("one conversation, none of it is unseen"));
    }
    let percent = short(100.0 * share as f32);
    let texts = &files.texts;
    let unseen = match texts.are_several() {
        true => message!("the last {} % of each unseen", percent),
        false => message!("the last {} % unseen", percent),
    };
    // A large text is not read once more for this.
    let small = texts.text().len() as u64 <= in_memory();
    let again = match &files.chats {
        Some(chats) => chats.repeated(share),
        None if small => texts.repeated(share)?,
        None => 0.0,
    };
    Ok(match again >= WORTH_SAYING {
        true => message!("{}, {:.0} % of that in the rest as well", unseen, 100.0 * again),
        false => unseen,
    })
}

/// The units of the vocabulary, when they are not all bytes.
fn vocabulary(tokenizer: &dyn Tokenizer) -> Option<Message> {
    let size = tokenizer.vocab_size();
    match kind(tokenizer) {
        ByteTokenizer::NAME if size <= ByteTokenizer::VOCAB_SIZE + 1 => None,
        IdsTokenizer::NAME => Some(message!("a vocabulary of {} numbers", size)),
        name => Some(message!("{} {} tokens", base::thousands(size as u64), name)),
    }
}
