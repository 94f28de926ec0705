//! A sequence of tokens, and what training and evaluation take from it.

use crate::buffer;
use crate::error::{Error, Result, TokenId};
use crate::util::rng::{below, stream};

/// B windows of T tokens and the token that follows each position.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[B, T]`, flat.
    pub inputs: buffer::Tokens,
    /// `[B, T]`, flat: `inputs` moved by one.
    pub targets: buffer::Tokens,
    /// `[B, T]`.
    pub shape: [usize; 2],
    /// Where it comes from; dropout draws its masks from this.
    pub origin: Origin,
}

/// What decides a batch, and every other random choice about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The run's.
    pub seed: u64,
    /// Steps done before.
    pub step: u64,
    /// Number of the first row within the step: not 0 for the later ones of several micro-batches.
    pub first_row: u64,
}

impl Batch {
    /// A batch of given tokens; inputs and targets are both `[B, T]`, flat.
    pub fn new(
        inputs: impl Into<buffer::Tokens>,
        targets: impl Into<buffer::Tokens>,
        shape: [usize; 2],
    ) -> Batch {
        let (inputs, targets) = (inputs.into(), targets.into());
        Batch { inputs, targets, shape, origin: Origin::default() }
    }
}

/// A stretch to be scored: tokens `start..start + len` are inputs, those one further the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Position of the first input.
    pub start: usize,
    /// Number of scored targets.
    pub len: usize,
}

/// Tokens as they are stored: a byte each when the vocabulary allows.
#[derive(Clone, Debug)]
enum Tokens {
    Bytes(Vec<u8>),
    Wide(Vec<TokenId>),
}

/// A sequence of tokens, optionally with places where documents start.
#[derive(Clone, Debug)]
pub struct TokenDataset {
    tokens: Tokens,
    starts: Option<Vec<usize>>,
}

impl TokenDataset {
    /// Tokens below 256, a byte each.
    pub fn from_bytes(bytes: Vec<u8>) -> TokenDataset {
        TokenDataset { tokens: Tokens::Bytes(bytes), starts: None }
    }

    /// Tokens of any vocabulary.
    pub fn from_tokens(tokens: Vec<TokenId>) -> TokenDataset {
        TokenDataset { tokens: Tokens::Wide(tokens), starts: None }
    }

    /// The same, with windows that begin only at these positions (in rising order).
    pub fn with_starts(self, starts: Vec<usize>) -> TokenDataset {
        TokenDataset { starts: Some(starts), ..self }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        match &self.tokens {
            Tokens::Bytes(b) => b.len(),
            Tokens::Wide(w) => w.len(),
        }
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The token at a position; 0 past the end (padding that is never scored).
    pub fn token(&self, position: usize) -> TokenId {
        match &self.tokens {
            Tokens::Bytes(b) => b.get(position).map_or(0, |&b| TokenId::from(b)),
            Tokens::Wide(w) => w.get(position).copied().unwrap_or(0),
        }
    }

    /// The tokens of a range, padded with 0 past the end.
    pub fn tokens(&self, start: usize, len: usize) -> Vec<TokenId> {
        (start..start + len).map(|i| self.token(i)).collect()
    }

    /// Cuts off the last `share` of the tokens for validation: (training, validation).
    pub fn split(&self, share: f64) -> (TokenDataset, TokenDataset) {
        let cut = self.len() - (self.len() as f64 * share.clamp(0.0, 1.0)) as usize;
        let part = |range: std::ops::Range<usize>| match &self.tokens {
            Tokens::Bytes(b) => TokenDataset::from_bytes(b[range].to_vec()),
            Tokens::Wide(w) => TokenDataset::from_tokens(w[range].to_vec()),
        };
        (part(0..cut), part(cut..self.len()))
    }

    /// The batch of a training step: row r begins at a random position (or document start) that
    /// is a pure function of (`seed`, `step`, r). Resuming needs no generator state.
    ///
    /// # Errors
    /// [`Error::DataTooSmall`] when no window of T + 1 tokens fits.
    pub fn batch(&self, seed: u64, step: u64, shape: [usize; 2]) -> Result<Batch> {
        self.rows(Origin { seed, step, first_row: 0 }, shape)
    }

    /// The rows of a step's batch from `origin.first_row` on: what [`TokenDataset::batch`] would
    /// have there, if it were larger. Micro-batches are made of them.
    ///
    /// # Errors
    /// As [`TokenDataset::batch`].
    pub fn rows(&self, origin: Origin, [b, t]: [usize; 2]) -> Result<Batch> {
        let room = self.check_room("training data", t)?;
        // Starts 0..room fit; of the documents, those that begin there.
        let fitting = self.starts.as_ref().map(|s| &s[..s.partition_point(|&p| p < room)]);
        let [mut inputs, mut targets] = [(); 2].map(|()| buffer::Tokens::stale(b * t));
        let rows = inputs.chunks_exact_mut(t).zip(targets.chunks_exact_mut(t));
        for (row, (inputs, targets)) in rows.enumerate() {
            let row = origin.first_row.wrapping_add(row as u64);
            let mut rng = stream(origin.seed, b"batch\0\0\0", origin.step, row);
            let start = match fitting {
                Some(starts) if !starts.is_empty() => starts[below(&mut rng, starts.len())],
                _ => below(&mut rng, room),
            };
            for i in 0..t {
                inputs[i] = self.token(start + i);
                targets[i] = self.token(start + i + 1);
            }
        }
        Ok(Batch { inputs, targets, shape: [b, t], origin })
    }

    /// Windows that score every token once (but the first): consecutive, `seq_len` long, the last
    /// one shorter. With documents, one window for each, from its start, up to its end.
    pub fn windows(&self, seq_len: usize) -> Vec<Window> {
        match &self.starts {
            None => cut(0, self.len(), seq_len),
            Some(starts) => {
                let ends = starts.iter().skip(1).copied().chain([self.len()]);
                let first = |(&start, end)| cut(start, end, seq_len).into_iter().next();
                starts.iter().zip(ends).filter_map(first).collect()
            }
        }
    }

    /// Does a window of `seq_len` tokens and the one after it fit? The number of places it may
    /// begin at.
    ///
    /// # Errors
    /// [`Error::DataTooSmall`], naming `what`.
    pub fn check_room(&self, what: &'static str, seq_len: usize) -> Result<usize> {
        match self.len().checked_sub(seq_len) {
            Some(room) if room > 0 => Ok(room),
            _ => Err(Error::DataTooSmall {
                what,
                len: self.len() as u64,
                seq_len,
                needed: seq_len as u64 + 1,
            }),
        }
    }
}

/// Consecutive windows over tokens `start..end`.
fn cut(start: usize, end: usize, seq_len: usize) -> Vec<Window> {
    (start..end.saturating_sub(1))
        .step_by(seq_len.max(1))
        .map(|s| Window { start: s, len: seq_len.min(end - 1 - s) })
        .collect()
}

/// At most `limit` tokens' worth of windows, evenly spaced over all.
pub fn evenly_spaced(windows: &[Window], limit: usize) -> Vec<Window> {
    let total: usize = windows.iter().map(|w| w.len).sum();
    if total <= limit || windows.is_empty() {
        return windows.to_vec();
    }
    let keep = (windows.len() as u128 * limit as u128 / total as u128).max(1) as usize;
    (0..keep).map(|i| windows[i * windows.len() / keep]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(n: usize) -> TokenDataset {
        TokenDataset::from_bytes((0..n).map(|i| i as u8).collect())
    }

    #[test]
    fn batches_depend_on_seed_step_and_row_alone() {
        let data = counting(200);
        let batch = data.batch(1, 5, [4, 8]).unwrap();
        assert_eq!(batch, data.batch(1, 5, [4, 8]).unwrap());
        // A bigger batch has the smaller one's rows first.
        assert_eq!(batch.inputs[..], data.batch(1, 5, [6, 8]).unwrap().inputs[..32]);
        assert_ne!(batch, data.batch(1, 6, [4, 8]).unwrap());
        assert_ne!(batch, data.batch(2, 5, [4, 8]).unwrap());
        for (x, y) in batch.inputs.iter().zip(batch.targets.iter()) {
            assert_eq!(x + 1, *y);
        }
    }

    #[test]
    fn every_start_is_used_up_to_the_last_that_fits() {
        let data = counting(12);
        let firsts: std::collections::BTreeSet<_> =
            (0..500).map(|s| data.batch(1, s, [1, 8]).unwrap().inputs[0]).collect();
        assert_eq!(firsts.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(matches!(counting(8).batch(1, 0, [1, 8]), Err(Error::DataTooSmall { .. })));
        assert!(counting(9).batch(1, 0, [1, 8]).is_ok());
    }

    #[test]
    fn documents_start_windows() {
        let data = counting(30).with_starts(vec![0, 11, 25]);
        for step in 0..50 {
            let first = data.batch(1, step, [1, 8]).unwrap().inputs[0];
            assert!(first == 0 || first == 11);
        }
        let windows = data.windows(12);
        assert_eq!(windows, [(0, 10), (11, 12), (25, 4)].map(|(start, len)| Window { start, len }));
    }

    #[test]
    fn windows_score_each_token_once() {
        let windows = counting(21).windows(8);
        assert_eq!(windows, [(0, 8), (8, 8), (16, 4)].map(|(start, len)| Window { start, len }));
        assert!(counting(1).windows(8).is_empty() && counting(0).windows(8).is_empty());
        let some = evenly_spaced(&counting(100).windows(8), 24);
        assert_eq!(some.iter().map(|w| w.start).collect::<Vec<_>>(), [0, 32, 64]);
    }

    #[test]
    fn the_last_part_is_for_validation() {
        let (train, val) = counting(100).split(0.1);
        assert_eq!((train.len(), val.len(), val.token(0)), (90, 10, 90));
        assert_eq!(val.token(10), 0);
    }
}
