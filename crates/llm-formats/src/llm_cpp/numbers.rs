//! The binary file's numbers, one after the other.

use crate::error::{Result, refuse};
use crate::files::numbers;
use llm_core::base::Message;
use llm_core::message;
use llm_core::optim::{OptimizerState, ParameterState};
use llm_core::recipe::Recipe;
use std::io::Read;

/// A reader of the file's numbers.
pub(super) struct Numbers<R>(pub(super) R);

impl<R: Read> Numbers<R> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads `count` finite elements.
    pub(super) fn floats(&mut self, what: impl Into<Message>, count: usize) -> Result<Vec<f32>> {
        let out = numbers(&mut self.0, count, f32::from_le_bytes)?;
        if !out.iter().all(|x| x.is_finite()) {
            return refuse(message!("{} has a value that is not finite", what.into()));
        }
        Ok(out)
    }

    /// Updates done, and the moments of all parameters.
    pub(super) fn optimizer(&mut self, shapes: &[(String, Vec<usize>)]) -> Result<OptimizerState> {
        let t = self.u64()?;
        if t > Recipe::MAX_STEPS {
            return refuse(message!("{} updates done are too many", t));
        }
        let mut moments = Vec::with_capacity(shapes.len());
        for (name, shape) in shapes {
            let count = shape.iter().product();
            let m = self.floats(message!("{} (first moment)", name), count)?;
            let v = self.floats(message!("{} (second moment)", name), count)?;
            if v.iter().any(|&x| x < 0.0) {
                return refuse(message!("{} has a negative second moment", name));
            }
            moments.push(ParameterState { name: name.clone(), slots: vec![m.into(), v.into()] });
        }
        Ok(OptimizerState { t, parameters: moments })
    }
}
