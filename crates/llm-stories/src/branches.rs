//! The one function that says how a story can go on.
//!
//! The generator draws from the answer and the exact predictor sums over it, so the two cannot
//! disagree.

use crate::line::{Branch, Teller};
use crate::state::{Phase, State};
use crate::words::Grammar;
use crate::{events, opening};

/// Every way a story can go on from `state`; empty when it is over.
pub(crate) fn branches(grammar: &Grammar, state: &State) -> Vec<Branch> {
    let teller = Teller { grammar, state };
    match state.phase {
        Phase::FirstPerson => opening::first_person(&teller),
        Phase::SecondPerson => opening::second_person(&teller),
        Phase::FirstColour => opening::first_colour(&teller),
        Phase::FirstThing => opening::first_thing(&teller),
        Phase::SecondColour => opening::second_colour(&teller),
        Phase::SecondThing => opening::second_thing(&teller),
        Phase::Event => events::events(&teller),
        Phase::Done => Vec::new(),
    }
}
