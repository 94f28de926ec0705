//! Chinese for what the libraries say, and how it is found.
//!
//! A [`Message`](llm_core::base::Message) has its translation by its template, which a [`Catalogue`]
//! holds; words of others, such as a system's reason, are found by patterns. What a catalogue does not
//! have stays English. A program that shows lines has a catalogue of its own templates and of
//! [`LIBRARIES`]; a test reads the sources and sees to it that it has everything.
//!
//! ```
//! use llm_messages::{Catalogue, LIBRARIES};
//!
//! let catalogue = Catalogue::new(&LIBRARIES);
//! assert_eq!(catalogue.translation("checksum mismatch in the file"), Some("文件的校验和不符"));
//! assert!(catalogue.translation("a sentence from elsewhere").is_none());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`columns`] | texts in columns of a terminal |
//! | [`table`] | tables that fit a terminal |
//! | [`shell`] | words and commands to be typed |
//! | `catalogue` | translations, and how words are found among them |
//! | `notes` | what is worth saying about a run, in words |
//! | `events` | what happens in a run, in words |
//! | `language` | Chinese of what the libraries say |

pub mod columns;
pub mod shell;
pub mod table;

mod catalogue;

mod notes;

mod events;

mod language;

pub use catalogue::Catalogue;
pub use events::{early, event, unit};
pub use language::{LIBRARIES, chinese};
pub use notes::{note, value};
