//! Conversations as Python has them: dicts, as the package `datasets` reads them from JSON lines.

use llm_formats::chat::Turn;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// The role that asks; the last of a conversation that is to be answered.
const USER: &str = "user";

/// What is asked: what was said before, and the question.
#[derive(Debug)]
pub struct Asked {
    /// What was said before.
    pub before: Vec<Turn>,
    /// What is to be answered.
    pub question: String,
}

/// The first of a list, a tuple, or what else has a length and numbers its items.
fn first<'py>(data: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let some = data.len().is_ok_and(|len| len > 0) && !data.is_instance_of::<PyString>();
    if some { data.get_item(0).ok() } else { None }
}

/// A message of a conversation: a dict with a role.
fn is_message(of: &Bound<'_, PyAny>) -> bool {
    of.cast::<PyDict>().is_ok_and(|of| of.contains("role").is_ok_and(|has| has))
}

/// Whether these are conversations: dicts, or lists of messages.
///
/// # Errors
/// `TypeError` for one dict: there are several conversations to learn from.
pub fn is_conversations(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    if data.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err(
            "a dict: conversations are given as a list of them, [{'messages': [..]}, ..], or as a \
             pathlib.Path of JSON lines",
        ));
    }
    let Some(one) = first(data) else { return Ok(false) };
    Ok(one.is_instance_of::<PyDict>() || first(&one).is_some_and(|of| is_message(&of)))
}

/// Conversations as lines of JSON. Messages alone are one conversation.
///
/// # Errors
/// `TypeError` for what JSON cannot hold.
pub fn lines_of(data: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = data.py();
    let json = py.import("json")?;
    let mut lines = Vec::new();
    let mut write = |of: &Bound<'_, PyAny>| -> PyResult<()> {
        let of = match of.is_instance_of::<PyDict>() {
            true => of.clone(),
            false => {
                let all = PyDict::new(py);
                all.set_item("messages", of)?;
                all.into_any()
            }
        };
        let line = json.call_method1("dumps", (of,)).map_err(|why| {
            let why = why.value(py).to_string();
            PyTypeError::new_err(format!("conversations: expected what JSON can hold ({why})"))
        })?;
        lines.extend(line.extract::<String>()?.into_bytes());
        lines.push(b'\n');
        Ok(())
    };
    if first(data).is_some_and(|one| is_message(&one)) {
        write(data)?;
    } else {
        for one in data.try_iter()? {
            write(&one?)?;
        }
    }
    Ok(lines)
}

/// A question, or messages of which the last is the user's.
///
/// # Errors
/// `TypeError` for anything else, `ValueError` where another has the last word.
pub fn asked(messages: &Bound<'_, PyAny>) -> PyResult<Asked> {
    if let Ok(question) = messages.extract::<String>() {
        return Ok(Asked { before: Vec::new(), question });
    }
    let expected = "messages: expected a question, or a list of {'role': .., 'content': ..}";
    let needed = || PyTypeError::new_err(expected);
    let messages = messages.cast::<PyList>().map_err(|_| needed())?;
    let mut before = Vec::with_capacity(messages.len());
    for message in messages {
        let message = message.cast::<PyDict>().map_err(|_| needed())?;
        let text = |key: &str| -> PyResult<String> {
            message.get_item(key)?.ok_or_else(needed)?.extract().map_err(|_| needed())
        };
        before.push(Turn::new(&text("role")?, text("content")?));
    }
    match before.pop() {
        Some(last) if last.role == USER => Ok(Asked { before, question: last.content }),
        Some(last) => Err(PyValueError::new_err(format!(
            "messages: the last is of role '{}'; a question of role '{USER}' is answered",
            last.role
        ))),
        None => Err(PyValueError::new_err("messages: there is none")),
    }
}
