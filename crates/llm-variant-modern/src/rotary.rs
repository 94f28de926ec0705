//! The angles of rotary positions, computed once for a model.

use llm_core::kernels::rotary::Angles;
use llm_core::model::Rotary;
use std::sync::{Arc, Mutex, PoisonError};

/// The angles of the positions so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownAngles(Arc<Mutex<Option<Arc<Angles>>>>);

impl KnownAngles {
    /// The angles of at least n positions, for heads of D channels.
    pub(crate) fn of(&self, rotary: &Rotary, positions: usize, head_dim: usize) -> Arc<Angles> {
        let width = rotary.width.unwrap_or(head_dim);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(angles) if angles.positions() >= positions && angles.width() == width => {
                angles.clone()
            }
            _ => {
                let more = positions.next_power_of_two(); // so that a growing text asks seldom
                known.insert(Arc::new(rotary.angles(head_dim, more))).clone()
            }
        }
    }
}
