//! The tools that a branch is written with: its pieces of text, and the words for what is in the state.
//!
//! A branch says its words freely (`say`) or as facts (`know`): a fact is the only word with which
//! any branch can continue the text up to it.

use crate::fact::FactKind;
use crate::state::{Phase, Place, State, Which, Who};
use crate::words::Grammar;

/// Some text, and the kind of fact if it is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) text: &'static str,
    pub(crate) kind: Option<FactKind>,
}

/// One way to go on: its probability is its weight over the sum of the weights of all ways.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) weight: u32,
    /// What is told.
    pub(crate) pieces: Vec<Piece>,
    /// Where that leads.
    pub(crate) next: State,
}

/// The grammar and the state, with the words for what is in them.
pub(crate) struct Teller<'a> {
    pub(crate) grammar: &'a Grammar,
    pub(crate) state: &'a State,
}

impl Teller<'_> {
    pub(crate) fn name(&self, who: Who) -> &'static str {
        self.grammar.people[self.state.people[who]].name
    }

    pub(crate) fn pronoun(&self, who: Who) -> &'static str {
        self.grammar.people[self.state.people[who]].pronoun
    }

    pub(crate) fn colour(&self, which: Which) -> &'static str {
        self.grammar.colours[self.state.items[which].colour]
    }

    pub(crate) fn thing(&self, which: Which) -> &'static str {
        self.grammar.things[self.state.items[which].thing]
    }

    /// The state after an item has moved.
    pub(crate) fn moved(&self, which: Which, place: Place, phase: Phase) -> State {
        let mut next = State { phase, ..*self.state };
        next.items[which].place = place;
        next
    }

    /// An item whose colour is chosen freely; its thing follows from the colour.
    pub(crate) fn any_item(&self, line: Line, which: Which) -> Line {
        line.say(self.colour(which)).say(" ").know(FactKind::Thing, self.thing(which))
    }

    /// An item whose colour is a fact of the given kind.
    pub(crate) fn known_item(&self, line: Line, kind: FactKind, which: Which) -> Line {
        let line = line.know(kind, self.colour(which)).say(" ");
        line.know(FactKind::Thing, self.thing(which))
    }
}

/// The text of a branch under construction.
#[derive(Clone)]
pub(crate) struct Line(Vec<Piece>);

impl Line {
    pub(crate) fn new() -> Line {
        Line(Vec::with_capacity(20))
    }

    /// Text that is not a fact.
    pub(crate) fn say(mut self, text: &'static str) -> Line {
        self.0.push(Piece { text, kind: None });
        self
    }

    /// A word that follows from the text before it.
    pub(crate) fn know(mut self, kind: FactKind, text: &'static str) -> Line {
        self.0.push(Piece { text, kind: Some(kind) });
        self
    }

    /// The finished branch, which leads to `next` with the bytes told added to its count.
    pub(crate) fn then(self, weight: u32, next: State) -> Branch {
        let told: usize = self.0.iter().map(|piece| piece.text.len()).sum();
        Branch { weight, pieces: self.0, next: State { used: next.used + told, ..next } }
    }
}
