//! What a run may be asked for, each setting in one row.
//!
//! | file | holds |
//! |---|---|
//! | `given.rs` | the values that were given |
//! | `row.rs` | what a row is |
//! | `attention.rs` | the rows of an attention's own settings |
//! | `table.rs` | all rows |
//! | `fill.rs` | core's settings filled by rows |
//!
//! Core says what a setting is and keeps it in checkpoints ([`llm_core::settings`]); the row here
//! gives it a name and a value to start from. A front end adds how it is typed.

mod attention;
mod fill;
mod given;
mod row;
mod table;

#[cfg(test)]
mod tests;

pub use attention::{ATTENTION, AttentionRow, attention_of, largest_divisor, usual_heads};
pub use fill::{fill, follow, new_model, new_recipe, of_field, of_key, rate_of_steps, set_own};
pub use given::{Given, whole};
pub use row::{Initial, OnLoad, Setting};
pub use table::{ALL_OPTIONS, FURTHER, SETTINGS, all_settings, rate_for, settings, settings_of};
