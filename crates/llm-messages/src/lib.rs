//! Chinese for what the libraries say, and how it is found.
//!
//! A [`Message`](llm_core::base::Message) has its translation by its template, which a [`Catalogue`]
//! holds; words of others, such as a system's reason, are found by patterns. What a catalogue does not
//! have stays English. Whoever shows lines has a catalogue of its own templates and of [`LIBRARIES`]; a
//! test reads the sources and sees to it that it has everything.
//!
//! ```
//! use llm_messages::{Catalogue, LIBRARIES};
//!
//! let catalogue = Catalogue::new(&[LIBRARIES]);
//! assert_eq!(catalogue.translation("checksum mismatch in the file"), Some("文件的校验和不符"));
//! assert!(catalogue.translation("a sentence of somebody else").is_none());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `catalogue` | translations, and how words are found among them |
//! | `notes` | what is worth saying about a run, in words |

mod catalogue;

mod notes;

pub use catalogue::Catalogue;
pub use notes::{note, value};

/// What the libraries below say.
pub const LIBRARIES: &str =
    concat!(include_str!("zh/libraries.toml"), "\n", include_str!("zh/run.toml"));
