//! What was given for training or validation, before it is cut into tokens.

use crate::defaults::{STORY_COUNT, STORY_SEED};
use crate::error::{Result, option, usage};
use crate::settings::Given;
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_formats::chat::Conversations;
use llm_formats::data_files::{Files, Reading, is_stdin};
use llm_stories::GRAMMAR_VERSION;
use std::path::PathBuf;

/// Data as it was given.
#[derive(Debug)]
pub enum Input {
    /// The built-in stories.
    Stories {
        /// Seed of the stories.
        seed: u64,
        /// How many.
        count: u64,
    },
    /// Files of the user's.
    Files(Box<Files>),
}

impl Input {
    /// The stories of a new run.
    pub fn stories() -> Input {
        Input::Stories { seed: STORY_SEED, count: STORY_COUNT }
    }

    /// Files, see [`Files::read`].
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn files(paths: &[PathBuf], reading: Reading) -> Result<Input> {
        Ok(Input::Files(Box::new(Files::read(paths, reading)?)))
    }

    /// One file whose bytes are here, by its name.
    ///
    /// # Errors
    /// As [`Files::of_bytes`].
    pub fn of_bytes(name: String, bytes: Vec<u8>, reading: Reading) -> Result<Input> {
        Ok(Input::Files(Box::new(Files::of_bytes(name, bytes, reading)?)))
    }

    /// The files that are given, else a run's training data if that can be made again; `None`:
    /// it was trained on files, which have to be given.
    ///
    /// # Errors
    /// As [`Input::files`].
    pub fn again(of: &DataSource, files: &[PathBuf], reading: Reading) -> Result<Option<Input>> {
        match *of {
            _ if !files.is_empty() => Input::files(files, reading).map(Some),
            DataSource::Stories { seed, count, .. } => Ok(Some(Input::Stories { seed, count })),
            DataSource::Files { .. } => Ok(None),
        }
    }

    /// The conversations, when the input holds some.
    pub fn chats(&self) -> Option<&Conversations> {
        match self {
            Input::Files(files) => files.chats.as_ref(),
            Input::Stories { .. } => None,
        }
    }

    /// Whether it is conversations.
    pub fn are_chats(&self) -> bool {
        self.chats().is_some()
    }

    /// What a checkpoint remembers of it.
    pub fn source(&self) -> DataSource {
        match self {
            Input::Stories { seed, count } => {
                DataSource::Stories { version: GRAMMAR_VERSION, seed: *seed, count: *count }
            }
            Input::Files(files) => files.source.clone(),
        }
    }
}

/// Refuses a setting of what files hold when there are no files, and on texts where they hold none.
///
/// # Errors
/// [`RunError::Usage`](crate::error::RunError::Usage).
pub fn check_about_files(
    data: &[PathBuf],
    data_as: Option<DataForm>,
    ends: Option<EndOfText>,
) -> Result<()> {
    let said = [("data_as", data_as.is_some()), ("end_of_text", ends.is_some())];
    match said.iter().find(|(_, said)| *said) {
        Some((flag, _)) if data.is_empty() => usage(message!("{} needs {data}", option(flag))),
        _ if data_as == Some(DataForm::U16) && !matches!(ends, None | Some(EndOfText::None)) => {
            usage(message!("{end_of_text} is for text: token numbers have their ends among them"))
        }
        _ => Ok(()),
    }
}

/// Refuses a choice of what is learned of conversations where there are none, and one of the order of windows
/// where there are some.
///
/// # Errors
/// [`RunError::Usage`](crate::error::RunError::Usage).
pub fn check_kind_of_data(given: &Given, input: &Input) -> Result<()> {
    match (given.get("loss_on"), given.get("order")) {
        (Some(what), _) if !input.are_chats() => usage(message!(
            "{loss_on} {} is for conversations, which are lines or a list of JSON",
            what
        )),
        (_, Some(what)) if input.are_chats() => usage(message!(
            "{order} {} is for texts and stories: conversations always come in passes",
            what
        )),
        _ => Ok(()),
    }
}

/// Refuses to read standard input more than once.
///
/// # Errors
/// [`RunError::Usage`](crate::error::RunError::Usage).
pub fn one_stdin<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.into_iter().filter(|path| is_stdin(path)).nth(1).is_none() {
        return Ok(());
    }
    usage(message!("standard input (-) can be read only once; name a file"))
}
