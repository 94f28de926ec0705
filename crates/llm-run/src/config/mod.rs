//! The settings of a run as TOML: for its folder, and for display.
//!
//! | file | holds |
//! |---|---|
//! | `sheet.rs` | tables of settings, and what a run's settings are |
//! | `went_on.rs` | the settings of a run that went on in its own folder |

mod sheet;
mod went_on;

pub use sheet::{Beside, Sheet, number, seconds, text, whole};
pub use went_on::{Before, whole_config};
