//! Conversations: read from lines of JSON, written down as a model's own template has it, and made
//! tokens of which the answers are learned.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `line` | what a line of JSON holds: turns of a conversation, or a text |
//! | `source` | the source of a template, with everything bounded that gets a name |
//! | `environment` | what a template finds, and bounds on what it makes |
//! | `template` | how a model has conversations written down: its chat template (Jinja) |
//! | `answers` | which part of a conversation that is written down is an answer |
//! | `file` | the lines of files, and which of them stay unseen |
//! | `tokens` | their tokens, and which of them are learned |

mod line;

#[cfg(feature = "bpe")]
mod source;

#[cfg(feature = "bpe")]
mod environment;

#[cfg(feature = "bpe")]
mod template;
#[cfg(not(feature = "bpe"))]
#[path = "no_template.rs"]
mod template;

mod answers;

mod file;

mod tokens;

pub use answers::{WrittenDown, begin_of_answer, end_of_answer, remarks, written_down};
pub use file::Conversations;
pub use line::{Line, Turn};
pub use template::Template;
pub use tokens::{Cut, Learned};
