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
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `words` | the word lists, and the few numbers that shape a story |
//! | `fact` | a story from the outside: its text, and the words in it that can be known |
//! | `state` | what has happened so far |
//! | `line` | the tools that a branch is written with |
//! | `opening`, `events` | how a story opens; giving, hiding, finding, and the ending |
//! | `branches` | the one function that says how a story can go on |
//! | `tell`, `exact` | drawing a story; the exact probability of the next byte |
//! | `twins` | the same story with the answer of one fact changed |
//! | `predictors` | two predictors that do not read, for comparison |
//! | `corpus`, `fact_scores` | stories in a row as data; how many of their facts a model gets right |
//! | `unseen` | unseen stories for validation, in tokens of any kind |
//!
//! ```
//! use llm_stories::{StoryCorpus, story, surprise};
//!
//! let fifth = story(1, 5);
//! assert!(fifth.text.starts_with("Carl met Ella. Carl had a violet cup"));
//! let nats = surprise(&fifth.text).expect("it is a story");
//! assert_eq!(nats.len(), fifth.text.len());
//!
//! let corpus = StoryCorpus::new(1, 0..100); // the same stories, as tokens to learn from
//! assert_eq!(corpus.stories[5], fifth);
//! let floor = corpus.entropy_floor(&corpus.data.windows(256));
//! assert!(floor > 0.05 && floor < 0.1, "no model's loss can be below {floor}");
//! ```

mod words;

mod fact;
mod state;

mod line;

mod events;
mod opening;

mod branches;

mod exact;
mod tell;

mod twins;

mod predictors;

mod corpus;
mod fact_scores;

mod unseen;

#[cfg(test)]
mod tests;

pub use corpus::StoryCorpus;
pub use exact::surprise;
pub use fact::{Fact, FactKind, Story, WordClass};
pub use fact_scores::{FactScores, FactTable};
pub use predictors::{Predictors, Tally};
pub use tell::story;
pub use twins::{Twin, twin};
pub use unseen::{ToldStories, ToldUnseen, UnseenStories};
pub use words::WINDOW;

/// The version of the grammar. It changes whenever [`story`] gives other bytes for some seed.
pub const GRAMMAR_VERSION: u32 = 1;
