//! The settings of a model and of a run as they are typed, each in one row.
//!
//! | file | holds |
//! |---|---|
//! | `row.rs` | what a row is |
//! | `table.rs` | all rows |
//! | `typed.rs` | rows as arguments of a command |
//!
//! What a setting is, and where it starts, is [`llm_run::settings`]'; the row here gives it a flag and a
//! help text. Everything else follows: the argument and the key in a file of settings, the new run
//! and the one that goes on, the file that a run keeps, the name in errors.

mod row;
mod table;
mod typed;

#[cfg(test)]
mod tests;

pub use row::{Flag, Kind, Words};
pub use table::{
    FURTHER, GROUPS, Group, LEARNING, LENGTH, OPTIONS, SEED, SIZES, VAL_FRAC, flags, flags_of,
};
pub(crate) use typed::arguments;
pub use typed::{Further, Typed, further_args};
