//! Optimizers by their names.

use super::{AdamW, Hyperparameters, Lion, Optimizer, Slot};
use crate::base::{Error, Message, Result};
use crate::message;

/// An optimizer that settings can name.
#[derive(Clone, Copy, Debug)]
pub struct OptimizerRow {
    /// [`Optimizer::name`].
    pub name: &'static str,
    /// In a few words.
    pub doc: &'static str,
    /// [`Optimizer::slots`].
    pub slots: &'static [Slot],
    /// Makes a fresh one.
    pub make: fn(Hyperparameters) -> Result<Box<dyn Optimizer>>,
}

/// All optimizers of this crate.
pub const OPTIMIZERS: &[OptimizerRow] = &[
    OptimizerRow {
        name: AdamW::NAME,
        doc: "Adam with decoupled weight decay",
        slots: AdamW::SLOTS,
        make: |config| Ok(Box::new(AdamW::new(config)?)),
    },
    OptimizerRow {
        name: Lion::NAME,
        doc: "The sign of a running mean; one number per weight less than AdamW",
        slots: Lion::SLOTS,
        make: |config| Ok(Box::new(Lion::new(config)?)),
    },
];

/// The row of this name.
///
/// # Errors
/// [`Error::Config`] when there is none.
pub fn find_optimizer(name: &str) -> Result<&'static OptimizerRow> {
    OPTIMIZERS.iter().find(|row| row.name == name).ok_or_else(|| {
        let known = Message::list(OPTIMIZERS.iter().map(|row| row.name));
        let reason = message!("'{}' is not one of: {}", name.escape_default(), known);
        Error::config("optimizer", reason)
    })
}

/// A fresh optimizer of this name.
///
/// # Errors
/// [`Error::Config`] when there is none, or a number is outside its range.
pub fn make_optimizer(name: &str, config: Hyperparameters) -> Result<Box<dyn Optimizer>> {
    (find_optimizer(name)?.make)(config)
}
