//! An error with what caused it, in one sentence.

use super::{CheckpointError, CrewError, Error, Message, reason_of};
use crate::message;
use std::error::Error as AnyError;

/// What an error says, and behind it what caused it, each with its translation where it has one.
pub fn with_causes(e: &(dyn AnyError + 'static)) -> Message {
    let all = std::iter::successors(Some(e), |&e| e.source()).map(said);
    Message::joined("{}: {}", all).unwrap_or_else(|| message!("{}", ""))
}

/// One error of a chain.
fn said(e: &(dyn AnyError + 'static)) -> Message {
    if let Some(Error::Hook(own)) = e.downcast_ref() {
        return with_causes(own.as_ref());
    }
    let ours = e.downcast_ref::<Error>().map(Error::message);
    let ours = ours.or_else(|| e.downcast_ref::<CheckpointError>().map(CheckpointError::message));
    let ours = ours.or_else(|| e.downcast_ref::<CrewError>().map(CrewError::message));
    ours.unwrap_or_else(|| reason_of(e))
}
