//! The built-in stories: a small deterministic grammar of English, whose every choice is known.
//!
//! A story is one line of ASCII text of at most [`WINDOW`] bytes. Two people meet; between them
//! they have two coloured things, which they give, hide and find; most stories close with a
//! question and its answer. This is `story(1, 5)`:
//!
//! ```text
//! Carl met Ella. Carl had a violet cup and a brown key. He gave Ella the violet cup. Carl kept
//! the brown key. Carl gave Ella a gift. So Ella had the brown key and the violet cup. Who has
//! the violet cup? Ella.
//! ```
//!
//! Words that the text before them determines are tagged as [`Fact`]s. Here, in order: "He"
//! (he-she), "Ella" (other-person), "cup" (thing), "Carl" (other-person), "brown" (other-item),
//! "key" (thing), "Ella" (other-person), "Ella" (receiver), "key" (thing), "violet" (other-item),
//! "cup" (thing), "cup" (thing), "Ella" (who-has). Some kinds need one earlier place to be looked
//! up, some need two at once ([`FactKind::places`]).
//!
//! Because the stories come from a known machine, the best possible loss is known too:
//! [`surprise`] gives −ln P(byte | story so far) under the generator itself. Its mean is the
//! entropy floor, below which no model's expected loss can fall.
//!
//! Where to read on:
//! - `fact.rs`: the kinds of facts; `words.rs`: the word lists; `state.rs`: the state
//! - `branches.rs`: how a story can go on; `opening.rs` and `events.rs`: what it says
//! - `tell.rs`: drawing a story; `exact.rs`: the exact probability of the next byte
//! - `predictors.rs`: two predictors that do not read, for comparison

mod branches;
mod events;
mod exact;
mod fact;
mod opening;
mod predictors;
mod state;
mod tell;
mod words;

#[cfg(test)]
mod tests;

pub use fact::{Fact, FactKind, Story, WordClass};
pub use predictors::{Predictors, Tally};

/// The version of the grammar. It changes whenever `story` gives other bytes for some seed.
pub const GRAMMAR_VERSION: u32 = 1;

/// No story is longer than this many bytes, line end included.
pub const WINDOW: usize = 256;

/// Story number `index` of the sequence that belongs to `seed`: the same bytes on every machine.
pub fn story(seed: u64, index: u64) -> Story {
    let mut rng = crate::util::rng::stream(seed, b"stories1", index, 0);
    tell::tell(&words::FULL, &mut rng)
}

/// −ln P(byte t | bytes before t) for every byte of one story, in nats, with P the exact
/// distribution of the generator: one number per byte, the first one included.
///
/// The beginning of a story is fine, and so is the empty text. `None` if no story of the grammar
/// begins with `text`.
pub fn surprise(text: &str) -> Option<Vec<f64>> {
    exact::surprise(&words::FULL, text)
}
