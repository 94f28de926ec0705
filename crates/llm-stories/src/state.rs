//! The state of the story machine: the little world, and how far the telling has come.
//!
//! A state is small and comparable, so that the exact predictor can hold many of them and merge
//! equal ones. Indices point into the word lists of a [`Grammar`](crate::words::Grammar).

/// One of the two people of a story: 0 is the one named first.
pub(crate) type Who = usize;

/// One of the two items of a story: 0 is the one named first.
pub(crate) type Which = usize;

/// Where an item is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In the hands of a person.
    With(Who),
    /// In a hiding spot (an index into the spots).
    Hidden(usize),
}

/// A coloured thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    /// Index into the colours.
    pub(crate) colour: usize,
    /// Index into the things.
    pub(crate) thing: usize,
    /// Where it is.
    pub(crate) place: Place,
}

/// What is told next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The person named first.
    FirstPerson,
    /// The person named second.
    SecondPerson,
    /// The person who has the first item, and its colour.
    FirstColour,
    /// What it is, and whether the same person has the second item.
    FirstThing,
    /// The colour of the second item.
    SecondColour,
    /// What it is.
    SecondThing,
    /// An event, or the ending.
    Event,
    /// Nothing: the line has ended.
    Done,
}

/// Everything the rest of a story depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct State {
    /// What is told next.
    pub(crate) phase: Phase,
    /// Indices of the two people in the grammar's list.
    pub(crate) people: [usize; 2],
    /// The two items.
    pub(crate) items: [Item; 2],
    /// How many events have been told.
    pub(crate) events: u8,
    /// How many bytes have been told.
    pub(crate) used: usize,
}

impl State {
    /// The state before the first byte.
    pub(crate) fn start() -> State {
        let nothing = Item { colour: 0, thing: 0, place: Place::With(0) };
        State { phase: Phase::FirstPerson, people: [0; 2], items: [nothing; 2], events: 0, used: 0 }
    }
}
