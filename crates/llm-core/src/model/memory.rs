//! What a run needs: its buffers taken and given back on paper, as a step does it.
//!
//! Storage is recycled by length (see [`buffer`](crate::buffer)), so what counts is, for each
//! length, the most buffers of it that are in use at once.

use super::Config;
use std::collections::BTreeMap;

/// Buffers by length, in numbers of f32.
#[derive(Default)]
struct Paper(BTreeMap<u128, Count>);

#[derive(Clone, Copy, Default)]
struct Count {
    used: i64,
    most: i64,
}

impl Paper {
    fn take<const N: usize>(&mut self, lengths: [u128; N]) {
        for len in lengths {
            let count = self.0.entry(len).or_default();
            count.used += 1;
            count.most = count.most.max(count.used);
        }
    }

    fn give<const N: usize>(&mut self, lengths: [u128; N]) {
        for len in lengths {
            self.0.entry(len).or_default().used -= 1;
        }
    }

    fn total(&self) -> u128 {
        self.0.iter().map(|(len, count)| len * count.most.max(0) as u128).sum()
    }
}

/// Numbers of f32 that training takes at most: weights, two moments, gradients, and what a batch
/// of `rows` leaves for backward.
pub(super) fn training(config: &Config, rows: usize) -> u128 {
    let [v, c, t] = [config.vocab_size, config.d_model, config.seq_len].map(|n| n as u128);
    let n = rows as u128;
    let (stream, qkv, wide) = (n * c, n * 3 * c, n * 4 * c);
    let mut paper = Paper::default();

    // Forward: both embeddings and their sum; per block x, norm, qkv, y, x', norm', 4C twice stay.
    paper.take([stream; 3]);
    paper.give([stream; 2]);
    for _ in 0..config.n_layers {
        paper.take([stream, qkv, stream]); // norm, qkv, y
        paper.take([stream, stream]); // projection, sum
        paper.give([stream]);
        paper.take([stream, wide, wide]); // norm, hidden, gelu
        paper.take([stream, stream]); // out, sum
        paper.give([stream]);
    }
    paper.take([stream]); // final norm
    paper.take([n * v]); // logits, which become their own gradient

    // Backward, in the other direction; gradients of parameters stay until the update.
    paper.take([stream]);
    paper.take([v * c]);
    if config.head_bias {
        paper.take([v]);
    }
    paper.give([n * v]);
    paper.give([stream]);
    paper.take([stream]); // final norm
    paper.give([stream; 2]);
    for _ in 0..config.n_layers {
        paper.take([stream]); // the other way of the sum
        paper.take([wide]);
        paper.take([4 * c * c, c]); // out
        paper.give([stream, wide]);
        paper.take([wide]); // gelu
        paper.give([wide, wide]);
        paper.take([stream]);
        paper.take([4 * c * c, 4 * c]); // hidden
        paper.give([wide, stream]);
        paper.take([stream]); // norm'
        paper.give([stream; 3]);
        paper.take([stream]); // the other way of the sum
        paper.take([stream]);
        paper.take([c * c, c]); // projection
        paper.give([stream]);
        paper.take([qkv]); // attention
        paper.give([stream, stream, qkv]);
        paper.take([stream]);
        paper.take([3 * c * c, 3 * c]); // qkv
        paper.give([qkv, stream]);
        paper.take([stream]); // norm
        paper.give([stream; 3]);
    }
    if !config.tied_head {
        paper.take([v * c]);
    }
    paper.take([t * c]);
    3 * u128::from(config.parameter_count()) + paper.total()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gradient_is_on_paper() {
        // Without rows nothing but weights, moments and gradients is left.
        for config in
            [Config::new(256, 64, 48, 3), Config { tied_head: true, ..Config::new(9, 5, 7, 2) }]
        {
            let all = 4 * u128::from(config.parameter_count());
            assert_eq!(training(&config, 0), all, "{config:?}");
        }
    }

    #[test]
    fn a_length_that_occurs_twice_is_counted_once() {
        // With as many rows as channels activations and gradients have the same lengths.
        let config = Config::new(300, 64, 64, 8);
        assert!(training(&config, 64) < training(&config, 63));
    }
}
