//! What a story is made of from the outside: its text, and the words in it that can be known.

/// What kind of reasoning tells a word of a story that follows from the words before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKind {
    /// The thing named after its colour: "the grey **hat**".
    Thing,
    /// The colour of the hidden item, when it is found.
    Found,
    /// The spot an item was hidden in, when it is looked for or asked about.
    Spot,
    /// "he" or "she" for the person just named.
    Pronoun,
    /// The receiver of a gift, named again in the next sentence.
    Receiver,
    /// The answer to "Who has …?".
    Holder,
    /// The one of the two people who is not the person named just before.
    OtherPerson,
    /// The colour of the one of the two items that is not the item named just before.
    OtherItem,
}

/// The list of words a fact of some kind is chosen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordClass {
    /// The two people's names.
    Name,
    /// "he" and "she", at the start of a sentence or inside it.
    Pronoun,
    /// Colours.
    Colour,
    /// Things.
    Thing,
    /// Hiding spots.
    Spot,
}

// Those that need one earlier place come first; the names are used in tables and in JSON.
llm_core::choices!(
    FactKind,
    Thing = "thing",
    Found = "found-item",
    Spot = "spot",
    Pronoun = "he-she",
    Receiver = "receiver",
    Holder = "who-has",
    OtherPerson = "other-person",
    OtherItem = "other-item"
);

impl FactKind {
    /// How many earlier places have to be combined to know the word: 1 (find it and copy it) or 2
    /// (one place says which it is *not*, another names the pair it is chosen from).
    pub fn places(self) -> u8 {
        match self {
            FactKind::OtherPerson | FactKind::OtherItem => 2,
            FactKind::Thing
            | FactKind::Found
            | FactKind::Spot
            | FactKind::Pronoun
            | FactKind::Receiver
            | FactKind::Holder => 1,
        }
    }

    /// Whether the word is always the one of its [class](FactKind::class) that was mentioned last: such facts are
    /// right without reading.
    pub fn is_last_mentioned(self) -> bool {
        matches!(self, FactKind::Spot | FactKind::Receiver)
    }

    /// The words that compete for the place of such a fact.
    pub fn class(self) -> WordClass {
        match self {
            FactKind::Thing => WordClass::Thing,
            FactKind::Found | FactKind::OtherItem => WordClass::Colour,
            FactKind::Spot => WordClass::Spot,
            FactKind::Pronoun => WordClass::Pronoun,
            FactKind::Receiver | FactKind::Holder | FactKind::OtherPerson => WordClass::Name,
        }
    }
}

/// A word of a story that the text before it determines completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// What has to be looked up to know the word.
    pub kind: FactKind,
    /// The first byte of the word, counted from the start of the story.
    pub start: usize,
    /// One past the last byte of the word.
    pub end: usize,
}

/// One story: a line of ASCII text ending in `'\n'`, with its tagged words in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Story {
    /// The text, at most [`WINDOW`](crate::WINDOW) bytes.
    pub text: String,
    /// The tagged words, in the order of the text, never overlapping.
    pub facts: Vec<Fact>,
}
