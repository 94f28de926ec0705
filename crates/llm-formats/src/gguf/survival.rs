//! What is left of an adapter when it has become a part of weights that are rounded.

use super::block::BlockType;
use super::dequantise::dequantise;
use super::quantise::{Stored, quantise};
use crate::mapping::Source;
use crate::safetensors::{Fill, pieces};

/// What rounding leaves of a change ΔW, over all matrices that are changed: with Q(·) for a matrix as it is stored
/// and read again,
///
/// ```text
/// D = Q(W + ΔW) − Q(W)
/// kept = ⟨D, ΔW⟩ / ‖ΔW‖²     the part of ΔW that is still there: 1 all of it, 0 nothing
/// noise = ‖D − ΔW‖ / ‖ΔW‖    what is there besides, in sizes of ΔW
/// ```
///
/// A change far below the steps of rounding is kept on average where W lies anywhere between them, with much noise;
/// where W lies on them, as one does that was rounded before, it is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Survival {
    /// ⟨D, ΔW⟩ / ‖ΔW‖².
    pub kept: f64,
    /// ‖D − ΔW‖ / ‖ΔW‖.
    pub noise: f64,
}

/// Sums over the numbers of all matrices: ⟨D, ΔW⟩, ‖D − ΔW‖² and ‖ΔW‖².
#[derive(Default)]
pub(super) struct Sums([f64; 3]);

impl Sums {
    /// Adds a matrix without and with its change.
    pub(super) fn add(&mut self, source: &Source, stored: Stored, both: [&Fill<'_>; 2]) {
        let &[rows, width] = &source.shape[..] else { return };
        for (first, count) in pieces(rows, width) {
            let numbers = both.map(|fill| {
                let mut numbers = vec![0.0; count * width];
                fill(first, &mut numbers);
                let rounded = rounded(stored, &numbers);
                (numbers, rounded)
            });
            let [(w, q), (w_changed, q_changed)] = &numbers;
            for (((w, w_changed), q), q_changed) in w.iter().zip(w_changed).zip(q).zip(q_changed) {
                let change = f64::from(*w_changed) - f64::from(*w);
                let left = f64::from(*q_changed) - f64::from(*q);
                let [dot, noise, size] = &mut self.0;
                *dot += left * change;
                *noise += (left - change).powi(2);
                *size += change * change;
            }
        }
    }

    /// What is left; nothing to say where nothing is changed.
    pub(super) fn survival(self) -> Option<Survival> {
        let [dot, noise, size] = self.0;
        let found = Survival { kept: dot / size, noise: (noise / size).sqrt() };
        (size > 0.0).then_some(found)
    }
}

/// Numbers as they are read again.
fn rounded(stored: Stored, numbers: &[f32]) -> Vec<f32> {
    let (mut bytes, mut again) = (Vec::new(), vec![0.0; numbers.len()]);
    // A number that cannot be stored ends the writing, before anybody asks.
    if quantise(stored, numbers, &mut bytes).is_ok() {
        let kind: BlockType = stored.kind();
        dequantise(kind, &bytes, &mut again);
    }
    again
}
