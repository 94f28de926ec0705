//! Chinese for what the libraries say, and how it is found.
//!
//! A [`Message`](llm_core::base::Message) has its translation by its template, which a
//! [`Catalogue`] holds; an error is said by its kind, see [`errors`]. Whoever has nothing but a finished
//! line finds it by its English text. What a catalogue does not have stays English. Whoever shows
//! lines has a catalogue of its own sentences and of [`LIBRARIES`]; a test reads the sources and sees
//! to it that it has everything.
//!
//! ```
//! use llm_messages::{Catalogue, LIBRARIES};
//!
//! let catalogue = Catalogue::new(&[LIBRARIES]);
//! assert!(catalogue.chinese("checksum mismatch in the file").is_some());
//! assert!(catalogue.chinese("a sentence of somebody else").is_none());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `catalogue` | pairs of sentences, and how a line is found among them |
//! | [`errors`] | what the libraries refuse, by its kind |
//! | `notes` | what is worth saying about a run, in words |

mod catalogue;

pub mod errors;

mod notes;

pub use catalogue::{Catalogue, Pair, Phrase};
pub use notes::{note, value};

/// What the libraries below say: their templates, and lines that are still found by their text.
pub const LIBRARIES: &str = concat!(
    include_str!("zh/libraries.toml"),
    "\n",
    include_str!("zh/run.toml"),
    "\n",
    include_str!("zh/old.toml")
);
