//! What ends a command early: one line for the person, one number for the shell.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::looks;
use crate::messages::{said, spelled};
use crate::voice;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, with_causes};
use llm_core::{Error, message};
use std::io::{self, Write};
use std::process::ExitCode;

pub use llm_run::error::{Kind, Result, RunError, foreign};

/// The line for the person, without line breaks or control characters, whatever names it contains.
pub fn line(e: &RunError) -> String {
    format!("error: {}", reason(e))
}

/// The error and its causes, as a part of a line.
pub fn reason(e: &RunError) -> String {
    let text = spelled(&sentence(e));
    // serde and the system end some messages with a full stop or a line break.
    one_line(text.trim_end_matches(['.', '\n', ' ']))
}

/// [`line`] in the language that was chosen.
fn shown(e: &RunError) -> String {
    // serde and the system end some messages with a full stop or a line break.
    let text = said(message!("error: {}", sentence(e)));
    one_line(text.trim_end_matches(['.', '\n', ' ']))
}

/// The sentence of an error, with the verb or the flag that helps where a library knows of none.
pub(crate) fn sentence(e: &RunError) -> Message {
    match e {
        RunError::Foreign { path, look } => {
            message!("'{}': {}", path.display(), looks::instead(*look))
        }
        RunError::Core { source: source @ Error::NumbersOnly, hint: None } => message!(
            "{}: generate takes --prompt-ids; for text, import it again with its tokenizer's files",
            with_causes(source)
        ),
        other => other.message(),
    }
}

/// The error of a library in a verb that saves no run, with what did not happen and which flag to
/// change.
pub(crate) fn of_verb(e: RunError, hint: impl Into<Message>) -> RunError {
    match e {
        RunError::Create { path, why } => {
            RunError::not_created(&path, io::Error::other(why.to_string()), hint)
        }
        other => other,
    }
}

/// Refuses what was typed.
pub(crate) fn usage<T>(why: impl Into<Message>) -> Result<T> {
    Err(RunError::Usage(why.into()))
}

/// The exit code of a command; what it failed for is a line on standard error.
pub(crate) fn exit(result: Result<()>) -> ExitCode {
    let Err(e) = result else { return ExitCode::SUCCESS };
    // What a signal interrupted has been reported where it happened.
    if !matches!(e, RunError::Signal(_) | RunError::Elsewhere(_)) {
        // A failure to write is ignored: there is nowhere to report it.
        let line = voice::prefix() + &shown(&e);
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
    ExitCode::from(e.kind().code())
}
