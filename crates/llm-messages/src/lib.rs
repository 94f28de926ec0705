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
//! | [`columns`] | texts in columns of a terminal |
//! | `catalogue` | pairs of sentences, and how a line is found among them |
//! | [`errors`] | what the libraries refuse, by its kind |
//! | `notes` | what is worth saying about a run, in words |
//! | `events` | what happens in a run, in words |
//! | `language` | Chinese of what the libraries say |

pub mod columns;

mod catalogue;

pub mod errors;

mod notes;

mod events;

mod language;

pub use catalogue::{Catalogue, Pair, Phrase};
pub use events::{early, event};
pub use language::{LIBRARIES, chinese};
pub use notes::{note, value};
