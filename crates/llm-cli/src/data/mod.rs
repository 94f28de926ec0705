//! What a run learns from and is judged on: the built-in stories, or files.

mod files;
mod folder;
mod input;
mod reading;
mod small;
mod validation;

pub use files::Files;
pub use input::{Input, check_about_files, one_stdin};
pub use reading::Reading;
pub use small::{small_file, small_regular_file, small_stdin};
pub use validation::{Report, Validation};

use crate::console::note;
use crate::defaults::in_memory;
use crate::error::{CliError, Result, of_library};
use crate::messages::short;
use llm_core::base;
use llm_core::data::TokenDataset;
use llm_core::message;
use llm_core::recipe::EndOfText;
use llm_core::tokenizer::{ByteTokenizer, END_OF_TEXT, IdsTokenizer, Tokenizer};
use llm_formats::tokenizers::is_bytes;
use llm_messages::escape::one_line;
use llm_stories::{GRAMMAR_VERSION, StoryCorpus};
use std::sync::Arc;

/// How many of `count` stories are learnt.
pub fn learnt(count: u64, val_frac: f64) -> u64 {
    count - (count as f64 * val_frac) as u64
}

/// Data ready for use.
#[derive(Debug)]
pub struct Data {
    /// What is learnt.
    pub train: TokenDataset,
    /// What it is judged on, if there is any.
    pub val: Option<Validation>,
    /// For the banner.
    pub label: String,
    /// First words of an unseen story, to prompt with.
    pub opening: Option<String>,
}

impl Data {
    /// Cuts the input into training and validation parts for windows of `seq_len`; with `val`, all
    /// of it is learnt and that is what it is judged on.
    ///
    /// # Errors
    /// [`CliError::Data`] when the training part has no room for one window, `val` nothing to
    /// score, or one of them a character that the vocabulary does not have.
    pub fn new(
        input: Input,
        val: Option<Input>,
        val_frac: f64,
        seq_len: usize,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Data> {
        match (input, val) {
            (Input::Stories { seed, count }, _) => {
                Data::of_stories(seed, count, val_frac, seq_len, tokenizer)
            }
            (Input::Files(files), None) => {
                let unseen = unseen(&files, val_frac)?;
                let data = Data::of_files(*files, val_frac, seq_len, tokenizer)?;
                Ok(Data { label: data.label + &unseen, ..data })
            }
            (Input::Files(files), Some(val)) => {
                if let Input::Files(val) = &val {
                    val.are_unseen(&files)?;
                }
                let label = match &val {
                    Input::Files(val) => format!("; judged on {}", labelled(val, &**tokenizer)),
                    Input::Stories { .. } => String::new(),
                };
                let data = Data::of_files(*files, 0.0, seq_len, tokenizer)?;
                let val = Data::whole(val, seq_len, tokenizer)?;
                Ok(Data { val: Some(val), label: data.label + &label, ..data })
            }
        }
    }

    fn of_stories(
        seed: u64,
        count: u64,
        val_frac: f64,
        seq_len: usize,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Data> {
        let cut = learnt(count, val_frac);
        let train = StoryCorpus::new(seed, 0..cut);
        let data = train.tokens(tokenizer.as_ref())?;
        let label = format!(
            "built-in stories, grammar {GRAMMAR_VERSION}: {} to learn ({}), {} unseen{}",
            base::thousands(cut),
            base::bytes(train.data.len() as u64),
            base::thousands(count - cut),
            vocabulary(tokenizer.as_ref())
        );
        let val = (cut < count)
            .then(|| Validation::of_stories(seed, cut..count, &train, seq_len, tokenizer.clone()));
        // The story after the last one: nobody learns it.
        let unseen = llm_stories::story(seed, count).text;
        let opening = unseen.split_inclusive(' ').take(2).collect::<String>().trim().to_string();
        Ok(Data { train: data, val: val.transpose()?, label, opening: Some(opening) })
    }

    fn of_files(
        files: Files,
        val_frac: f64,
        seq_len: usize,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Data> {
        let label = labelled(&files, tokenizer.as_ref()) + &vocabulary(tokenizer.as_ref());
        let name = files.name.clone();
        let (train, val) = files.divided(val_frac, tokenizer.as_ref())?;
        if let Err(e) = train.check_room("the training part", seq_len) {
            let most = train.len().saturating_sub(1);
            let advice = match most {
                0 | 1 => "give more text".to_string(),
                n => format!("give more text, or --seq {n} or less"),
            };
            return Err(CliError::Data(message!(
                "{} is too small: {}; {}",
                name,
                of_library(&e),
                advice
            )));
        }
        let val = Validation::of(val, seq_len, tokenizer.clone());
        let val = (!val.is_empty()).then_some(val);
        Ok(Data { train, val, label, opening: None })
    }

    /// All of the input as something to be judged on.
    ///
    /// # Errors
    /// [`CliError::Data`] when it has one token or none, or a character that the vocabulary does
    /// not have.
    pub fn whole(
        input: Input,
        seq_len: usize,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<Validation> {
        match input {
            Input::Stories { seed, count } => {
                let data = Data::of_stories(seed, count, 0.1, seq_len, tokenizer)?;
                data.val.ok_or_else(|| CliError::Internal("no unseen stories".into()))
            }
            Input::Files(files) => {
                let name = files.name.clone();
                if !files.changes.is_empty() || files.texts().is_respelt(&**tokenizer) {
                    note(message!("data    {}", one_line(&labelled(&files, &**tokenizer))));
                }
                let data = files.tokens(tokenizer.as_ref())?;
                let val = Validation::of(data, seq_len, tokenizer.clone());
                if val.is_empty() {
                    let unit = llm_formats::tokenizers::unit(tokenizer.as_ref());
                    let why = message!("{} is too small: one {} predicts nothing", name, unit);
                    return Err(CliError::Data(why));
                }
                Ok(val)
            }
        }
    }
}

/// Files and their size.
fn labelled(files: &Files, tokenizer: &dyn Tokenizer) -> String {
    let (data, len) = (files.texts(), files.texts().text().len() as u64);
    let numbers = data.largest().is_some();
    let stays = files.on_disk() && (is_bytes(tokenizer) || numbers);
    let tokens = format!("{} tokens of 16 bits", base::thousands(len / 2));
    let facts = numbers.then_some(tokens).into_iter();
    let facts = facts.chain(stays.then(|| "read from the disk".into()));
    let texts = (data.count() > 1).then(|| format!("{} texts", data.count()));
    let facts = facts.chain(texts);
    let marked = data.end_of_text() == EndOfText::Marked;
    let facts = facts.chain(marked.then(|| format!("{END_OF_TEXT} ends a text")));
    let respelt = data.is_respelt(tokenizer);
    let facts = facts
        .chain(respelt.then(|| {
            "put into Unicode's form NFC by the tokenizer (its bytes are counted)".into()
        }));
    let facts: String =
        facts.chain(files.changes.clone()).map(|fact| format!(", {fact}")).collect();
    format!("{}, {}{facts}", files.name, base::bytes(len))
}

/// Which part of files is set apart, in words.
fn unseen(files: &Files, share: f64) -> Result<String> {
    /// Less is what people write twice themselves.
    const WORTH_SAYING: f64 = 0.05;
    if share == 0.0 {
        return Ok("; none of it is unseen".into());
    }
    let percent = short(100.0 * share as f32);
    let texts = files.texts();
    let unseen = match texts.are_several() {
        true => format!("; the last {percent} % of each unseen"),
        false => format!("; the last {percent} % unseen"),
    };
    // A large text is not read once more for this.
    let small = texts.text().len() as u64 <= in_memory();
    let again = if small { texts.repeated(share)? } else { 0.0 };
    Ok(match again >= WORTH_SAYING {
        true => unseen + &format!(", {:.0} % of that in the rest as well", 100.0 * again),
        false => unseen,
    })
}

/// Of what the vocabulary consists, when it is not all bytes.
fn vocabulary(tokenizer: &dyn Tokenizer) -> String {
    match tokenizer.name() {
        ByteTokenizer::NAME => String::new(),
        IdsTokenizer::NAME => format!(", a vocabulary of {} numbers", tokenizer.vocab_size()),
        name => format!(", {} {name} tokens", base::thousands(tokenizer.vocab_size() as u64)),
    }
}
