//! The one function that says how a story can go on, and the tools to write its answer down.
//!
//! The generator draws from the answer and the exact predictor sums over it, so the two cannot
//! disagree. A branch says its words freely (`say`) or as facts (`know`): a fact is the only word
//! with which any branch can continue the text up to it.

use super::fact::FactKind;
use super::state::{Phase, Place, State, Which, Who};
use super::words::Grammar;
use super::{events, opening};

/// Some text, and the kind of fact if it is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) text: &'static str,
    pub(super) kind: Option<FactKind>,
}

/// One way to go on: its probability is its weight over the sum of the weights of all ways.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) weight: u32,
    /// What is told.
    pub(super) pieces: Vec<Piece>,
    /// Where that leads.
    pub(super) next: State,
}

/// Every way a story can go on from `state`; empty when it is over.
pub(super) fn branches(grammar: &Grammar, state: &State) -> Vec<Branch> {
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

/// The grammar and the state, with the words for what is in them.
pub(super) struct Teller<'a> {
    pub(super) grammar: &'a Grammar,
    pub(super) state: &'a State,
}

impl Teller<'_> {
    pub(super) fn name(&self, who: Who) -> &'static str {
        self.grammar.people[self.state.people[who]].name
    }

    pub(super) fn pronoun(&self, who: Who) -> &'static str {
        self.grammar.people[self.state.people[who]].pronoun
    }

    pub(super) fn colour(&self, which: Which) -> &'static str {
        self.grammar.colours[self.state.items[which].colour]
    }

    pub(super) fn thing(&self, which: Which) -> &'static str {
        self.grammar.things[self.state.items[which].thing]
    }

    /// The state after an item has moved.
    pub(super) fn moved(&self, which: Which, place: Place, phase: Phase) -> State {
        let mut next = State { phase, ..*self.state };
        next.items[which].place = place;
        next
    }

    /// An item whose colour is chosen freely; its thing follows from the colour.
    pub(super) fn any_item(&self, line: Line, which: Which) -> Line {
        line.say(self.colour(which)).say(" ").know(FactKind::Thing, self.thing(which))
    }

    /// An item whose colour is a fact of the given kind.
    pub(super) fn known_item(&self, line: Line, kind: FactKind, which: Which) -> Line {
        let line = line.know(kind, self.colour(which)).say(" ");
        line.know(FactKind::Thing, self.thing(which))
    }
}

/// The text of a branch under construction.
#[derive(Clone)]
pub(super) struct Line(Vec<Piece>);

impl Line {
    pub(super) fn new() -> Line {
        Line(Vec::with_capacity(20))
    }

    /// Text that is not a fact.
    pub(super) fn say(mut self, text: &'static str) -> Line {
        self.0.push(Piece { text, kind: None });
        self
    }

    /// A word that follows from the text before it.
    pub(super) fn know(mut self, kind: FactKind, text: &'static str) -> Line {
        self.0.push(Piece { text, kind: Some(kind) });
        self
    }

    /// The finished branch, which leads to `next` with the bytes told added to its count.
    pub(super) fn then(self, weight: u32, next: State) -> Branch {
        let told: usize = self.0.iter().map(|piece| piece.text.len()).sum();
        Branch { weight, pieces: self.0, next: State { used: next.used + told, ..next } }
    }
}
