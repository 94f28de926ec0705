//! Chinese for what the libraries say, and how it is found.
//!
//! A line is found by its finished English text, at the one place where it is shown; whatever made
//! it knows no language. So this is presentation alone, and what a catalogue does not have stays
//! English. Whoever shows lines has a catalogue of its own sentences and of [`LIBRARIES`]; a test reads
//! the sources and sees to it that it has everything.
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
//! | `notes` | what is worth saying about a run, in words |

mod catalogue;
mod notes;

pub use catalogue::{Catalogue, Pair, Phrase};
pub use notes::{note, value};

/// What the libraries below say: their errors, and the parts of these.
pub const LIBRARIES: &str = include_str!("zh/libraries.toml");
