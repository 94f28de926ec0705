//! What several verbs say besides their results.

use crate::console::note;
use crate::error::{RunError, sentence};
use llm_core::message;
use llm_run::data::Validation;

/// Says what was done to a text before it is scored.
pub(crate) fn say_changed(val: &Validation) {
    if let Some(label) = &val.about {
        note(message!("data    {}", label));
    }
}

/// Says which folder could not be looked into.
pub(crate) fn left_out(e: RunError) {
    note(message!("left out: {}", sentence(&e)));
}
