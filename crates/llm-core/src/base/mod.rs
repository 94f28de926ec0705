//! What every floor above stands on: errors, random streams, limits, files that cannot be lost.
//!
//! | file | holds |
//! |---|---|
//! | `sizes.rs` | byte counts and numbers as a person reads them |
//! | `io_action.rs`, `error.rs`, `checkpoint_error.rs`, `crew_error.rs` | what can go wrong |
//! | `reason.rs`, `causes.rs` | an error of others as a part of a sentence; an error with its causes |
//! | `scoped.rs` | a value of a thread for the time of a call |
//! | [`rng`] | random streams that are functions of what they are for |
//! | `value.rs`, `settings.rs`, `choices.rs` | named values, as checkpoints store them; the names of choices |
//! | [`escape`] | names and text of others, so that they cannot control a terminal |
//! | `message.rs`, `says.rs` | a sentence with its values, for any language; those of an error |
//! | [`machine`], `sysctl.rs` | the processor and its cores |
//! | [`memory`], [`arenas`], `large_pages.rs`, [`allocations`] | how much there is, and how it is asked for |
//! | `regular.rs` | opening a file that is one |
//! | `patience.rs` | a file that another program holds |
//! | `replace.rs`, `target.rs`, `temporary.rs`, `file_calls.rs` | replacing a file so that it is always whole |

#[doc(hidden)]
pub mod allocations;
#[doc(hidden)]
pub mod arenas;
mod causes;
mod checkpoint_error;
mod choices;
mod crew_error;
mod error;
#[doc(hidden)]
pub mod escape;
pub(crate) mod file_calls;
mod io_action;
pub(crate) mod large_pages;
#[doc(hidden)]
pub mod machine;
pub mod memory;
mod message;
mod patience;
mod reason;
mod regular;
pub(crate) mod replace;
#[doc(hidden)]
pub mod rng;
mod says;
mod scoped;
mod settings;
mod sizes;
#[cfg(target_os = "macos")]
mod sysctl;
pub(crate) mod target;
mod temporary;
mod value;

#[doc(hidden)]
pub use causes::with_causes;
pub use checkpoint_error::CheckpointError;
pub(crate) use choices::choices;
pub use crew_error::CrewError;
pub use error::{Error, Result};
pub use io_action::IoAction;
pub use message::{Fill, Filling, Language, Message};
#[doc(hidden)]
pub use patience::is_refused;
#[doc(hidden)]
pub use reason::{plain_reason, reason_of, system_reason};
#[doc(hidden)]
pub use regular::open_regular;
#[doc(hidden)]
pub use replace::{check_writable, real_path, replace_file, sweep_stale};
pub(crate) use scoped::scoped;
pub use settings::Settings;
#[doc(hidden)]
pub use sizes::{bytes, thousands};
pub use value::Value;

/// A token's number in the vocabulary.
pub type TokenId = u32;
