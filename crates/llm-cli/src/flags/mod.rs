//! The settings of a model and of a run that can be typed, each in one row.
//!
//! | file | holds |
//! |---|---|
//! | `given.rs` | the values that were typed |
//! | `row.rs` | what a row is |
//! | `table.rs` | all rows |
//! | `attention.rs` | the rows of an attention's own settings |
//! | `typed.rs` | rows as arguments of a command |
//! | `fill.rs` | core's settings filled by rows |
//!
//! Core says what a setting is and keeps it in checkpoints ([`llm_core::settings`]); the row here
//! gives it a flag, a help text and a value to start from. Everything else follows: the argument
//! and the key in a file of settings, the new run and the one that goes on, the file that a run
//! keeps, the name in errors.

mod attention;
mod fill;
mod given;
mod row;
mod table;
mod typed;

pub use attention::{ATTENTION, AttentionRow, new_attention};
pub use fill::{fill, follow, new_model, new_recipe, of_field, of_key};
pub use given::{Given, whole};
pub use row::{Beside, Flag, Initial, Kind, Words};
pub use table::{
    FURTHER, GROUPS, Group, LEARNING, LENGTH, OPTIONS, SEED, SIZES, VAL_FRAC, WITHOUT_A_FLAG,
    flags, flags_of,
};
pub use typed::{Further, Typed, further_args};

#[cfg(test)]
mod tests;
