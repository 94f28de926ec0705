//! The numbers of a matrix that nothing writes to, in half the memory.

use crate::buffer::Buffer;
use crate::kernels::gemm::bf16::number::widen;
use std::sync::{Arc, OnceLock};

/// Numbers that are all bf16, each by its 16 bits.
#[derive(Debug)]
pub(crate) struct Halves {
    bits: Vec<u16>,
    /// All numbers in f32, once a slice of them was asked for.
    wide: OnceLock<Arc<Buffer>>,
}

impl Halves {
    /// These numbers; none where one is not finite, or has more bits.
    pub(crate) fn of(numbers: &[f32]) -> Option<Halves> {
        let fits = |x: &f32| x.is_finite() && x.to_bits() & 0xffff == 0;
        let bits = || numbers.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
        numbers.iter().all(fits).then(|| Halves { bits: bits(), wide: OnceLock::new() })
    }

    pub(super) fn bits(&self) -> &[u16] {
        &self.bits
    }

    pub(super) fn wide(&self) -> &Arc<Buffer> {
        self.wide.get_or_init(|| {
            let numbers = self.bits.iter().map(|x| widen(*x));
            Arc::new(numbers.collect())
        })
    }

    /// Whether all of them are there in f32, too.
    #[cfg(test)]
    pub(crate) fn is_wide(&self) -> bool {
        self.wide.get().is_some()
    }
}
