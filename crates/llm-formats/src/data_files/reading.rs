//! How files are to be read.

use crate::error::FormatError;
use crate::tokenizers::reads_in_parts;
use llm_core::base::Message;
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};

/// How files are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Whether text can be made into tokens part by part, so that it may stay on the disk.
    pub(super) in_parts: bool,
    /// What they are said to be.
    pub(super) said: Option<DataForm>,
    /// Whether what is no text may be token numbers.
    pub(super) numbers: bool,
    /// Where a text ends in them.
    pub(super) end_of_text: EndOfText,
    /// The vocabulary is that of a model, and cannot be another.
    pub(super) of_model: bool,
    /// Whether no one can say what they are, or make other files: then a refusal gives no advice.
    silent: bool,
    /// Whether they hold pairs of answers, of which one is better.
    pub(super) pairs: bool,
}

impl Reading {
    /// For a tokenizer of this kind; all files are one text.
    pub fn new(kind: &str, data_as: Option<DataForm>) -> Reading {
        let numbers = kind == IdsTokenizer::NAME;
        let (in_parts, said) = (reads_in_parts(kind), data_as);
        let end_of_text = EndOfText::None;
        Reading {
            in_parts,
            said,
            numbers,
            end_of_text,
            of_model: false,
            silent: false,
            pairs: false,
        }
    }

    /// This reading where no options can be given: a refusal names none.
    pub fn without_options(self) -> Reading {
        Reading { silent: true, ..self }
    }

    /// This reading of pairs of answers, where they are that.
    pub fn of_pairs(self, pairs: bool) -> Reading {
        let said = if pairs { Some(DataForm::Chats) } else { self.said };
        Reading { pairs, said, ..self }
    }

    /// A refusal, with what to do.
    pub(super) fn refusal(&self, why: Message, advice: Message) -> FormatError {
        FormatError::Content(if self.silent { why } else { message!("{}; {}", why, advice) })
    }

    /// This reading with texts that end there.
    pub fn ending(self, end_of_text: EndOfText) -> Reading {
        Reading { end_of_text, ..self }
    }

    /// As the data of a run were read, for its tokenizer's kind.
    pub fn again(kind: &str, run: &DataSource, data_as: Option<DataForm>) -> Reading {
        let reading = Reading::new(kind, data_as);
        let DataSource::Files { form, end_of_text, .. } = run else { return reading };
        let reading = reading.ending(*end_of_text);
        match form {
            DataForm::Bytes => Reading { said: reading.said.or(Some(DataForm::Bytes)), ..reading },
            DataForm::U16 => Reading { numbers: true, ..reading },
            DataForm::Chats => Reading { said: reading.said.or(Some(DataForm::Chats)), ..reading },
            DataForm::Text => reading,
        }
    }

    /// As [`Reading::again`] for a model that is there. One from elsewhere knows how texts end,
    /// if it has a token for that.
    pub fn for_model(cut: &dyn Tokenizer, run: &DataSource, data_as: Option<DataForm>) -> Reading {
        let reading = Reading { of_model: true, ..Reading::again(cut.name(), run, data_as) };
        let is_own = *run == DataSource::NONE && cut.end_of_text().is_some();
        if is_own { reading.ending(EndOfText::Files) } else { reading }
    }
}
