//! The word lists, and the few numbers that shape a story.
//!
//! Within one list no two words share their first letter, so the first byte of a word is the
//! decision and the rest is spelling.

/// No story is longer than this many bytes, line end included.
pub const WINDOW: usize = 256;

/// A person's name and the pronoun that goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person {
    /// The name.
    pub(crate) name: &'static str,
    /// "She" or "He", as at the start of a sentence.
    pub(crate) pronoun: &'static str,
}

const fn she(name: &'static str) -> Person {
    Person { name, pronoun: "She" }
}

const fn he(name: &'static str) -> Person {
    Person { name, pronoun: "He" }
}

/// The free parameters of the story machine. [`FULL`] is what users get; tests use a smaller one
/// whose stories can all be written down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    /// The people, at least two.
    pub(crate) people: &'static [Person],
    /// The colours, at least two.
    pub(crate) colours: &'static [&'static str],
    /// The things, at least two.
    pub(crate) things: &'static [&'static str],
    /// The places to hide things in, at least one.
    pub(crate) spots: &'static [&'static str],
    /// An event is told only if the story, ending included, stays within this many bytes.
    pub(crate) room: usize,
    /// The ending may come after this many events.
    pub(crate) min_events: u8,
    /// The ending must come after this many events.
    pub(crate) max_events: u8,
}

/// The grammar behind [`story`](crate::story).
pub(crate) const FULL: Grammar = Grammar {
    people: &[
        she("Lucy"),
        she("Ruth"),
        she("Ella"),
        she("Jane"),
        he("Hugo"),
        he("Carl"),
        he("Kurt"),
        he("Finn"),
    ],
    colours: &["pink", "grey", "brown", "silver", "violet", "tan"],
    things: &["cup", "hat", "ring", "map", "flute", "doll", "shoe", "key"],
    spots: &["jar", "drawer", "basket", "shed", "trunk", "closet"],
    room: WINDOW,
    min_events: 2,
    max_events: 4,
};

impl Grammar {
    /// The longest ending in bytes, line end included: what every event must leave free.
    pub(crate) fn longest_ending(&self) -> usize {
        let longest = |words: &[&str]| words.iter().map(|w| w.len()).max().unwrap_or(0);
        let name = self.people.iter().map(|p| p.name.len()).max().unwrap_or(0);
        let item = longest(self.colours) + longest(self.things);
        let who = " Who has the  ? .\n".len() + item + name;
        let hidden = " Where is the  ? In the .\n".len() + item + longest(self.spots);
        let farewell = "  and  went home.\n".len() + 2 * name;
        who.max(hidden).max(farewell)
    }
}
