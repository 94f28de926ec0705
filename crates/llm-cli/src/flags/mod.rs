//! The settings of a model and of a run as they are typed.
//!
//! | file | holds |
//! |---|---|
//! | `spelled.rs` | how settings are typed, where that is more than their name |
//! | `row.rs` | a setting as a flag |
//! | `table.rs` | every flag, and where it stands in the help |
//! | `typed.rs` | flags as arguments of a command |
//!
//! What a setting is for, and where it starts, is [`llm_run::settings`]'. From its name and type
//! follow a flag, the key in a file of settings, the new run and the one that goes on, the file
//! that a run keeps, the name in errors; a row here gives the flag other names, or words that help
//! explains.

mod row;
mod spelled;
mod table;
mod typed;

#[cfg(test)]
mod tests;

pub use row::{Flag, Kind};
pub use table::{
    FURTHER, HEADS, LEARNING, LENGTH, OPTIONS, SEED, SIZES, VAL_FRAC, flags, flags_of,
    optimizer_parser,
};
pub(crate) use typed::arguments;
pub use typed::{Further, Typed, further_args};
