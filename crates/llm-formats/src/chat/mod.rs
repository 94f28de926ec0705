//! Conversations: read from JSON, a line each or in a list, written down as a model's own template
//! has it, and made tokens of which the answers are learned.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `json` | objects of JSON as far as they are read |
//! | `keys` | keys that change what is learned: read, or refused |
//! | `line` | what a line of JSON holds: turns of a conversation, or a text |
//! | `source` | the source of a template, with everything bounded that gets a name |
//! | `environment` | what a template finds, and bounds on what it makes |
//! | `template` | how a model has conversations written down: its chat template (Jinja) |
//! | `answers` | which part of a conversation that is written down is an answer |
//! | `format` | how a model talks: its template, what begins and what ends an answer |
//! | `pieces` | the conversations of a text: lines of it, or the entries of a list |
//! | `file` | the conversations in files, and which of them stay unseen |
//! | `asked` | how long conversations are, and what is asked in them |
//! | `tokens` | their tokens, and which of them are learned |
//! | [`exported`] | conversations as apps export them, made such lines |

mod json;

mod keys;

mod line;

mod source;

mod environment;

mod template;

mod answers;

mod format;

mod pieces;

mod file;

mod asked;

mod tokens;

pub mod exported;

pub use answers::{WrittenDown, begin_of_answer, end_of_answer, remarks, written_down};
pub use file::Conversations;
pub use format::ChatFormat;
pub use line::{Line, Turn};
pub use template::Template;
pub use tokens::{Cut, Learned};
