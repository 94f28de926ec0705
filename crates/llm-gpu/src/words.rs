//! What the host uploads before each part of a step, as words of 32 bits for rooms.

use crate::error::{GpuError, Result};
use crate::ops::LOSS;
use crate::plan::Room;
use crate::planned::Planned;
use llm_core::message;
use llm_core::model::{Batch, Origin};

/// What is written into a room, from its beginning.
pub type Words = (Room, Vec<u32>);

impl Planned {
    /// Before [`Part::Gradient`](crate::Part::Gradient) of micro-batch `micro` of a step, from 0: its
    /// tokens, what draws its masks, and what it counts. [`Part::Sum`](crate::Part::Sum) follows it.
    ///
    /// # Errors
    /// [`GpuError::List`] when the batch has other or longer rows than the one that was listed, a token is
    /// beyond the vocabulary, or no target counts; [`GpuError::NoKernels`] when targets have weights.
    pub fn words(&self, batch: &Batch, micro: u32) -> Result<Vec<Words>> {
        if batch.weights.is_some() {
            return Err(GpuError::no(LOSS, message!("for targets with weights")));
        }
        let batch = &*batch.padded(self.batches.shape[1]);
        if batch.shape != self.batches.shape {
            return Err(self.batches.refused(batch));
        }
        let counted = batch.counted();
        if counted == 0 || !self.batches.knows(batch) {
            let why = message!("a token is beyond the vocabulary, or no target counts");
            return Err(GpuError::List(why));
        }
        let Origin { seed, step, first_row, .. } = batch.origin;
        let first = u32::try_from(first_row).map_err(|_| {
            GpuError::List(message!("more sequences in a step than a kernel can count"))
        })?;
        let alike = counted as f32 * self.of_all() as f32;
        let share = 1.0 / batch.step_targets.map_or(alike, |all| all as f32);
        let behind = if micro == 0 { 0.0f32 } else { 1.0 };
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        let rooms = &self.rooms;
        let mut words = vec![
            (rooms.tokens, batch.inputs.to_vec()),
            (rooms.targets, batch.targets.to_vec()),
            (rooms.sorted, sorted(&batch.inputs, self.batches.vocab)),
            (rooms.drawn, [&halves(seed)[..], &halves(step), &[first]].concat()),
            (rooms.share, vec![share.to_bits(), behind.to_bits(), 0]),
        ];
        for (table, all, [ids, places]) in &rooms.ngrams {
            let rows = table.rows(&batch.inputs, batch.shape[1]);
            words.extend([(*places, sorted(&rows, *all)), (*ids, rows)]);
        }
        Ok(words)
    }

    /// Before [`Part::Update`](crate::Part::Update), the optimizer's t-th, counted from 1: the learning
    /// rate, and what the gradient is multiplied by ([`clip_scale`](llm_core::optim::clip_scale) of the
    /// norm in the report). Who runs [`Part::Clip`](crate::Part::Clip) before it gives the largest norm
    /// instead, as that function gets it, and need not read the report.
    pub fn numbers(&self, t: u64, lr: f32, scale: f32) -> Words {
        (self.rooms.numbers, self.rule.numbers(t, lr, scale).map(f32::to_bits).to_vec())
    }
}

/// Where each token stands: for token v the places `starts[v]..starts[v + 1]`, in rising order.
fn sorted(tokens: &[u32], vocab: usize) -> Vec<u32> {
    let mut starts = vec![0; vocab + 1];
    tokens.iter().for_each(|&t| starts[t as usize + 1] += 1);
    for v in 0..vocab {
        starts[v + 1] += starts[v];
    }
    let mut next = starts.clone();
    let mut places = vec![0; tokens.len()];
    for (i, &t) in tokens.iter().enumerate() {
        places[next[t as usize] as usize] = i as u32;
        next[t as usize] += 1;
    }
    starts.extend(places);
    starts
}

#[cfg(test)]
mod tests {
    use super::sorted;

    #[test]
    fn places_are_sorted_by_token() {
        let (starts, places) = ([0, 1, 1, 3, 4], [3, 0, 2, 1]);
        assert_eq!(sorted(&[2, 3, 2, 0], 4), [&starts[..], &places].concat());
    }
}
