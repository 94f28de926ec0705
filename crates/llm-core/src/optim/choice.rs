//! Optimizers by their names.

use super::{AdamW, Lion, Muon, OptimizerRow};
use crate::base::{Error, Message, Result};
use crate::message;

/// All optimizers of this crate.
pub const OPTIMIZERS: &[OptimizerRow] = &[AdamW::ROW, Lion::ROW, Muon::ROW];

/// The row of this name.
///
/// # Errors
/// [`Error::Config`] when no row has this name.
pub fn find_optimizer(optimizers: &[OptimizerRow], name: &str) -> Result<OptimizerRow> {
    optimizers.iter().find(|row| row.name == name).copied().ok_or_else(|| {
        let known = Message::list(optimizers.iter().map(|row| row.name));
        let reason = message!("'{}' is not one of: {}", name.escape_default(), known);
        Error::config("optimizer", reason)
    })
}
