//! Texts, files and token numbers as Python has them.

use crate::arrays::whole_numbers;
use crate::conversations::{is_conversations, lines_of};
use llm_core::model::Batch;
use llm_core::recipe::DataForm;
use llm_core::tokenizer::{Tokenizer, encode_marked};
use llm_core::{TokenId, message};
use llm_run::RunError;
use llm_run::options::Options;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};
use std::path::{Path, PathBuf};

/// What a run learns from or is measured on.
const DATA: &str = "a text, bytes, a path, paths, conversations or a row of token numbers";
/// What a model reads.
const READ: &str = "a text, bytes or an array of token numbers";
/// What a text in memory is called.
const NAME: &str = "data";
/// Name of a validation text in memory.
const VAL_NAME: &str = "val";
/// Longer texts are no names of files.
const LONGEST_NAME: usize = 200;
/// How names of files end that somebody learns from.
const ENDINGS: [&str; 16] = [
    "txt", "md", "json", "jsonl", "ndjson", "csv", "tsv", "gz", "zst", "xz", "bin", "npy",
    "parquet", "html", "pdf", "epub",
];

/// What is given to learn from or to measure on.
#[derive(Debug)]
pub enum Given {
    /// A text, or the bytes of a file.
    Bytes(Vec<u8>),
    /// Token numbers, 16 bits each.
    Numbers(Vec<u8>),
    /// Conversations, a line of JSON each.
    Chats(Vec<u8>),
    /// Files and folders.
    Files(Vec<PathBuf>),
}

impl Given {
    /// Puts this into the options as training data.
    pub fn into_training_data(self, options: &mut Options) {
        match self {
            Given::Numbers(_) => options.data_as = Some(DataForm::U16),
            Given::Chats(_) => options.data_as = Some(DataForm::Chats),
            Given::Bytes(_) | Given::Files(_) => {}
        }
        options.data = self.held(NAME, options);
    }

    /// The names of the files; what is in memory is held by its own.
    fn held(self, name: &str, options: &mut Options) -> Vec<PathBuf> {
        match self {
            Given::Files(files) => files,
            Given::Bytes(bytes) | Given::Numbers(bytes) | Given::Chats(bytes) => {
                options.held.insert(name.into(), bytes.into());
                vec![name.into()]
            }
        }
    }
}

/// Reads what was given as `data` and as `val` into the options.
pub fn given_texts(
    data: Option<&Bound<'_, PyAny>>,
    val: Option<&Bound<'_, PyAny>>,
    options: &mut Options,
) -> PyResult<()> {
    if let Some(data) = data {
        given(data)?.into_training_data(options);
    }
    if let Some(val) = val {
        options.val = given(val)?.held(VAL_NAME, options);
    }
    Ok(())
}

/// A text, bytes, a path, paths, or a row of token numbers.
///
/// # Errors
/// `TypeError` for anything else, `ValueError` for numbers that are no tokens.
pub fn given(data: &Bound<'_, PyAny>) -> PyResult<Given> {
    if let Some(bytes) = bytes_of(data)? {
        if let (true, Ok(text)) = (bytes.len() <= LONGEST_NAME, std::str::from_utf8(&bytes))
            && data.is_instance_of::<PyString>()
        {
            refuse_name(text)?;
        }
        return Ok(Given::Bytes(bytes));
    }
    if data.hasattr("__fspath__")? {
        return Ok(Given::Files(vec![data.extract()?]));
    }
    if is_conversations(data)? {
        return Ok(Given::Chats(lines_of(data)?));
    }
    let is_list = data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>();
    let first = if is_list { data.try_iter()?.next().transpose()? } else { None };
    if let Some(first) = first {
        if first.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "a list of texts: join them to one, or give their files as pathlib.Path",
            ));
        }
        if first.hasattr("__fspath__")? {
            return Ok(Given::Files(data.extract()?));
        }
    }
    let (numbers, shape) = whole_numbers(data, DATA)?;
    if shape.len() != 1 {
        let shape = shape.len();
        let why = format!("expected a row of token numbers, not an array of {shape} axes");
        return Err(PyValueError::new_err(why));
    }
    let mut bytes = Vec::with_capacity(2 * numbers.len());
    for number in numbers {
        let token = u16::try_from(number).map_err(|_| {
            PyValueError::new_err(format!("{number} is no token number from 0 to 65535"))
        })?;
        bytes.extend(token.to_le_bytes());
    }
    Ok(Given::Numbers(bytes))
}

/// Refuses a text that is the name of a file: it would be learned itself.
fn refuse_name(text: &str) -> PyResult<()> {
    let path = Path::new(text);
    if !text.is_empty() && path.exists() {
        return Err(PyValueError::new_err(format!(
            "'{text}' is the text itself here, and there is a file of that name: give \
             pathlib.Path('{text}') for what is in it"
        )));
    }
    let ending = path.extension().map(|of| of.to_ascii_lowercase());
    let ends = ending.is_some_and(|of| ENDINGS.iter().any(|known| of == *known));
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if is_word && (ends || text.contains(['/', '\\'])) {
        return Err(PyValueError::new_err(format!(
            "'{text}' looks like the name of a file, and there is none of that name: a path is \
             given as pathlib.Path('{text}'), a text like it as bytes"
        )));
    }
    Ok(())
}

fn bytes_of(data: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if data.is_instance_of::<PyString>() {
        return Ok(Some(data.extract::<String>()?.into_bytes()));
    }
    if data.is_instance_of::<PyBytes>() || data.is_instance_of::<PyByteArray>() {
        return Ok(Some(data.extract()?));
    }
    Ok(None)
}

/// What a model is to read: a text that becomes tokens where its tokenizer is, or token numbers.
#[derive(Debug)]
pub enum Read {
    /// A text.
    Text(Vec<u8>),
    /// Token numbers `[T]` or `[B, T]`.
    Tokens(Vec<TokenId>, Vec<usize>),
}

/// A text, or token numbers `[T]` or `[B, T]`.
///
/// # Errors
/// As [`given`].
pub fn read(data: &Bound<'_, PyAny>) -> PyResult<Read> {
    read_by(data, as_tokens)
}

/// [`read`] of targets: where one is -1, or -100 as PyTorch has it, nothing is to be learned.
///
/// # Errors
/// As [`given`].
pub fn read_targets(data: &Bound<'_, PyAny>) -> PyResult<Read> {
    read_by(data, |numbers| {
        let ignored = i64::from(Batch::IGNORED);
        let token = |number| if [-1, -100].contains(&number) { ignored } else { number };
        as_tokens(numbers.into_iter().map(token).collect())
    })
}

fn read_by(data: &Bound<'_, PyAny>, of: fn(Vec<i64>) -> PyResult<Vec<TokenId>>) -> PyResult<Read> {
    if let Some(text) = bytes_of(data)? {
        return Ok(Read::Text(text));
    }
    let (numbers, shape) = whole_numbers(data, READ)?;
    if !(1..=2).contains(&shape.len()) {
        return Err(PyValueError::new_err(format!(
            "expected tokens of shape [T] or [B, T], not an array of {} axes",
            shape.len()
        )));
    }
    Ok(Read::Tokens(of(numbers)?, shape))
}

/// Whole numbers as tokens.
///
/// # Errors
/// `ValueError` for the first that cannot be one.
pub fn as_tokens(numbers: Vec<i64>) -> PyResult<Vec<TokenId>> {
    let token = |number: i64| {
        let wrong = || PyValueError::new_err(format!("{number} is no token number"));
        TokenId::try_from(number).map_err(|_| wrong())
    };
    numbers.into_iter().map(token).collect()
}

impl Read {
    /// The tokens and their shape; there is at least one.
    ///
    /// # Errors
    /// [`RunError::Data`] for what the tokenizer does not know, and for nothing.
    pub fn tokens(self, tokenizer: &dyn Tokenizer) -> Result<(Vec<TokenId>, Vec<usize>), RunError> {
        let (tokens, shape) = match self {
            Read::Text(text) => {
                let tokens = encode_marked(tokenizer, &text)?;
                let shape = vec![tokens.len()];
                (tokens, shape)
            }
            Read::Tokens(tokens, shape) => (tokens, shape),
        };
        if tokens.is_empty() {
            let why = message!("there is nothing to read; expected a token or more");
            return Err(RunError::Data(why));
        }
        Ok((tokens, shape))
    }

    /// [`Read::tokens`] of one text, `[T]` or `[1, T]`.
    ///
    /// # Errors
    /// As [`Read::tokens`]; [`RunError::Data`] for several rows.
    pub fn row(self, tokenizer: &dyn Tokenizer) -> Result<Vec<TokenId>, RunError> {
        match self.tokens(tokenizer)? {
            (_, shape) if shape.len() == 2 && shape[0] > 1 => Err(RunError::Data(message!(
                "expected tokens of one text, [T] or [1, T], not {} rows",
                shape[0]
            ))),
            (tokens, _) => Ok(tokens),
        }
    }
}
