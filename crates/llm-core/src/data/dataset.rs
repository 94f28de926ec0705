//! A sequence of tokens, and what training and evaluation take from it.

use super::order;
use super::passages::Passages;
use super::tokens::{Store, StoredTokens};
use super::{ByteFiles, Window, Windows};
use crate::base::rng::{below, stream};
use crate::base::{Error, Message, Result, TokenId, memory};
use crate::buffer;
use crate::message;
use crate::model::{Batch, BatchShape, Origin, WindowOrder};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A sequence of tokens, optionally with places where documents start, or with passages that stand
/// alone.
#[derive(Clone)]
pub struct TokenDataset {
    tokens: StoredTokens,
    starts: Option<Vec<usize>>,
    passages: Option<Arc<Passages>>,
    /// What each token counts as a target; all the same without.
    weights: Option<Arc<Vec<f32>>>,
}

impl fmt::Debug for TokenDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = self.starts.as_ref().map(Vec::len);
        let mut fields = f.debug_struct("TokenDataset");
        fields.field("tokens", &self.len()).field("documents", &documents).finish()
    }
}

impl TokenDataset {
    /// Tokens below 256, a byte each.
    pub fn from_bytes(bytes: Vec<u8>) -> TokenDataset {
        TokenDataset::all(Store::Bytes(Arc::new(bytes)))
    }

    fn all(store: Store) -> TokenDataset {
        TokenDataset::of(StoredTokens::all(store))
    }

    fn of(tokens: StoredTokens) -> TokenDataset {
        TokenDataset { tokens, starts: None, passages: None, weights: None }
    }

    /// Tokens of any vocabulary; where all are below 256, they are kept as a byte each.
    pub fn from_tokens(tokens: Vec<TokenId>) -> TokenDataset {
        if tokens.iter().all(|&t| t < 256) {
            return TokenDataset::from_bytes(tokens.iter().map(|&t| t as u8).collect());
        }
        TokenDataset::all(Store::Wide(Arc::new(tokens)))
    }

    /// Tokens of a vocabulary of at most 65,536, in half the memory.
    pub fn from_narrow_tokens(tokens: Vec<u16>) -> TokenDataset {
        TokenDataset::all(Store::Narrow(Arc::new(tokens)))
    }

    /// The bytes of files, a token each, read whenever they are needed.
    pub fn from_files(files: ByteFiles) -> TokenDataset {
        TokenDataset::all(Store::Files(Arc::new(files)))
    }

    /// The tokens of files that hold them as numbers of 16 bits, little-endian, read whenever they
    /// are needed. A last byte without its second is left out.
    pub fn from_narrow_files(files: ByteFiles) -> TokenDataset {
        TokenDataset::all(Store::NarrowFiles(Arc::new(files)))
    }

    /// This dataset with windows that begin only at these positions (in rising order).
    pub fn with_starts(self, starts: Vec<usize>) -> TokenDataset {
        TokenDataset { starts: Some(starts), ..self }
    }

    /// This dataset as passages that stand alone: a row of a batch is one of these windows, with nothing
    /// after it, and token `i` is a target where `is_target[i]`. Rows are as long as the longest
    /// passage of their batch needs; what is left of the others is padding, which is no target.
    ///
    /// # Errors
    /// [`Error::Config`] when a window is not within the tokens or none of its targets counts.
    pub fn with_passages(self, windows: Vec<Window>, is_target: Vec<bool>) -> Result<TokenDataset> {
        let passages = Passages::new(windows, is_target, self.len())?;
        Ok(TokenDataset { passages: Some(Arc::new(passages)), ..self })
    }

    /// This dataset with a weight of each token as a target: batches have them, see [`Batch::weights`]. Measurements
    /// know nothing of them.
    ///
    /// # Errors
    /// [`Error::Config`] for another number of weights than of tokens, or one that is not finite.
    pub fn with_weights(self, weights: Vec<f32>) -> Result<TokenDataset> {
        let fits = weights.len() == self.len() && weights.iter().all(|w| w.is_finite());
        Error::unless(fits, "weights", message!("one for each token, all of them finite"))?;
        Ok(TokenDataset { weights: Some(Arc::new(weights)), ..self })
    }

    /// How many passages stand alone; none in a text.
    pub fn passages(&self) -> Option<usize> {
        self.passages.as_ref().map(|passages| passages.windows.len())
    }

    /// This dataset with the token `end` at each of the given places, where texts end.
    ///
    /// # Errors
    /// [`Error::Config`] when the places do not rise, or one is beyond the last token.
    pub fn with_ends(self, places: Vec<usize>, end: TokenId) -> Result<TokenDataset> {
        let len = self.len();
        let fits = places.is_sorted() && places.last().is_none_or(|&last| last <= len);
        let reason = message!("they have to rise, up to the number of tokens, {}", len);
        Error::unless(fits, "places", reason)?;
        Ok(TokenDataset { tokens: self.tokens.ended(places, end), ..self })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `out` becomes the tokens from `start` on, with 0 past the end (padding that is never
    /// scored).
    ///
    /// # Errors
    /// [`Error::Io`] when they are in a file and it cannot be read, or has changed.
    pub fn read(&self, start: usize, out: &mut [TokenId]) -> Result<()> {
        self.tokens.read(start, out)
    }

    /// The tokens of a range, padded with 0 past the end.
    ///
    /// # Errors
    /// As [`TokenDataset::read`]; [`Error::Memory`] when they do not fit.
    pub fn tokens(&self, start: usize, len: usize) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        let needed = (len as u64).saturating_mul(size_of::<TokenId>() as u64);
        tokens.try_reserve_exact(len).map_err(|_| memory::refused(needed))?;
        tokens.resize(len, 0);
        self.read(start, &mut tokens)?;
        Ok(tokens)
    }

    /// Cuts off the last `share` of the tokens for validation: (training, validation). Nothing is
    /// copied.
    pub fn split(&self, share: f64) -> (TokenDataset, TokenDataset) {
        let cut = self.len() - (self.len() as f64 * share.clamp(0.0, 1.0)) as usize;
        let part = |range| TokenDataset::of(self.tokens.part(range));
        (part(0..cut), part(cut..self.len()))
    }

    /// The batch of a training step: row r begins at a random position (or document start) that
    /// is a pure function of (`seed`, `step`, r). Passages come once in each pass over all of them,
    /// those of like length in one step, which is a function of (`seed`, `step`, number of rows).
    /// Resuming needs no generator state.
    ///
    /// # Errors
    /// [`Error::Shape`] when B or T is 0, [`Error::DataTooSmall`] when no window of T + 1 tokens
    /// fits, [`Error::Memory`] when there is no room for B of them; as [`TokenDataset::read`].
    pub fn batch(&self, seed: u64, step: u64, shape: impl Into<BatchShape>) -> Result<Batch> {
        self.rows(Origin { seed, step, ..Origin::default() }, shape)
    }

    /// The rows of a step's batch from `origin.first_row` on, in the order that it names: where that is
    /// [`WindowOrder::Random`], what [`TokenDataset::batch`] of
    /// `origin.step_rows` has there. Micro-batches are made of them.
    ///
    /// # Errors
    /// As [`TokenDataset::batch`].
    pub fn rows(&self, origin: Origin, shape: impl Into<BatchShape>) -> Result<Batch> {
        let BatchShape { batch_size: b, seq_len: t } = shape.into();
        Error::unless_shaped(b > 0 && t > 0, "batch", "[B, T], neither of them 0", &[b, t])?;
        let passages = self.passages.as_deref();
        let room = match passages {
            Some(_) => 0,
            None => self.check_room(message!("training data"), t)?,
        };
        // Starts 0..room fit; of the documents, those that begin there.
        let fitting = self.starts.as_ref().map(|s| &s[..s.partition_point(|&p| p < room)]);
        let alone = passages.map(|all| all.rows(origin, b)).transpose()?;
        let window = |row: usize| {
            if let Some((windows, _)) = &alone {
                return windows[row];
            }
            let documents = fitting.filter(|starts| !starts.is_empty());
            let start = match (origin.order, documents) {
                (WindowOrder::Random, documents) => {
                    let row = origin.first_row.wrapping_add(row as u64);
                    let mut rng = stream(origin.seed, b"batch\0\0\0", origin.step, row);
                    let place = below(&mut rng, documents.map_or(room, <[usize]>::len));
                    documents.map_or(place, |starts| starts[place])
                }
                (WindowOrder::Passes, Some(starts)) => {
                    let (_, document) = order::of_row(origin, row as u64, starts.len() as u64);
                    starts[document as usize]
                }
                (WindowOrder::Passes, None) => order::start_of_row(origin, row as u64, room, t),
            };
            Window { start, len: t }
        };
        let t = match &alone {
            Some((windows, _)) => Passages::row_len(windows, t)?,
            None => t,
        };
        let tokens = b.saturating_mul(t);
        let mut inputs = buffer::Tokens::try_stale(tokens)?;
        let mut targets = buffer::Tokens::try_stale(tokens)?;
        let mut read = buffer::Tokens::stale(t + 1);
        let mut weights = self.weights.as_ref().map(|_| vec![0.0; tokens]);
        let rows = inputs.chunks_exact_mut(t).zip(targets.chunks_exact_mut(t));
        for (row, (inputs, targets)) in rows.enumerate() {
            let Window { start, len } = window(row);
            self.read(start, &mut read[..=len])?;
            inputs[..len].copy_from_slice(&read[..len]);
            targets[..len].copy_from_slice(&read[1..=len]);
            if let (Some(weights), Some(all)) = (&mut weights, &self.weights) {
                weights[row * t..][..len].copy_from_slice(&all[start + 1..=start + len]);
            }
            if let Some(all) = passages {
                all.hide(start + 1, &mut targets[..len]);
                inputs[len..].fill(0);
                targets[len..].fill(Batch::IGNORED);
            }
        }
        let step_targets = alone.map(|(_, targets)| targets);
        Ok(Batch { inputs, targets, weights, shape: [b, t], origin, step_targets })
    }

    /// The lengths that rows of passages may have, each once; none of a text, all rows of which are as long as asked
    /// for.
    pub fn row_lengths(&self) -> Vec<usize> {
        let windows = self.passages.iter().flat_map(|passages| &passages.windows);
        let lengths: BTreeSet<usize> = windows.map(|window| window.len).collect();
        lengths.into_iter().collect()
    }

    /// How many tokens are scored in these windows.
    pub fn targets_in(&self, windows: &Windows) -> usize {
        let Some(passages) = &self.passages else { return windows.tokens() };
        windows.iter().map(|window| passages.targets_in(window)).sum()
    }

    /// The tokens from `start` on as targets, [`Batch::IGNORED`] where one does not count.
    pub(crate) fn as_targets<'t>(&self, start: usize, tokens: &'t [TokenId]) -> Cow<'t, [TokenId]> {
        let mut targets = Cow::Borrowed(tokens);
        if let Some(passages) = &self.passages {
            passages.hide(start, targets.to_mut());
        }
        targets
    }

    /// Windows that score every token once (but the first): consecutive, `seq_len` long, the last
    /// one shorter. With documents, one window for each, from its start, up to its end or `seq_len`
    /// tokens of it; of passages, these.
    pub fn windows(&self, seq_len: usize) -> Windows {
        if let Some(passages) = &self.passages {
            return passages.windows.iter().copied().collect();
        }
        let Some(starts) = &self.starts else { return Windows::consecutive(self.len(), seq_len) };
        let ends = starts.iter().skip(1).copied().chain([self.len()]);
        let document = |(&start, end): (&usize, usize)| Window {
            start,
            len: seq_len.min(end.saturating_sub(start).saturating_sub(1)),
        };
        starts.iter().zip(ends).map(document).filter(|w| w.len > 0).collect()
    }

    /// Checks that a window of `seq_len` tokens and the one after it fit. Returns the number of
    /// places it may begin at.
    ///
    /// # Errors
    /// [`Error::DataTooSmall`], naming `what`.
    pub fn check_room(&self, what: impl Into<Message>, seq_len: usize) -> Result<usize> {
        let room = self.len().checked_sub(seq_len).filter(|room| *room > 0);
        let (len, needed) = (self.len() as u64, (seq_len as u64).saturating_add(1));
        room.ok_or_else(|| Error::DataTooSmall { what: what.into(), len, seq_len, needed })
    }
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
        let firsts: BTreeSet<_> =
            (0..500).map(|s| data.batch(1, s, [1, 8]).unwrap().inputs[0]).collect();
        assert_eq!(firsts.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(matches!(counting(8).batch(1, 0, [1, 8]), Err(Error::DataTooSmall { .. })));
        assert!(counting(9).batch(1, 0, [1, 8]).is_ok());
    }

    #[test]
    fn shapes_that_no_batch_can_have_are_refused() {
        let data = counting(12);
        for shape in [[1, 0], [0, 4], [0, 0], [0, usize::MAX]] {
            let refused = data.batch(1, 0, shape).unwrap_err();
            assert!(matches!(refused, Error::Shape { op: "batch", .. }), "{refused}");
        }
        for t in [12, usize::MAX] {
            assert!(matches!(data.batch(1, 0, [1, t]), Err(Error::DataTooSmall { .. })));
            assert!(matches!(data.check_room("", t), Err(Error::DataTooSmall { .. })));
        }
        for b in [usize::MAX, usize::MAX / 8, 1 << 50] {
            assert!(matches!(data.batch(1, 0, [b, 4]), Err(Error::Memory { .. })));
        }
        for len in [usize::MAX, usize::MAX / 4] {
            assert!(matches!(data.tokens(0, len), Err(Error::Memory { .. })));
        }
        let documents = data.with_starts(vec![3, usize::MAX]);
        assert_eq!([4, 0].map(|seq_len| documents.windows(seq_len).len()), [1, 0]);
    }

    #[test]
    fn documents_start_windows() {
        let data = counting(30).with_starts(vec![0, 11, 25]);
        for step in 0..50 {
            let first = data.batch(1, step, [1, 8]).unwrap().inputs[0];
            assert!(first == 0 || first == 11);
        }
        let windows = data.windows(12);
        let expected = [(0, 10), (11, 12), (25, 4)].map(|(start, len)| Window { start, len });
        assert_eq!(windows.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn passages_stand_alone_and_some_targets_count() {
        let windows = [(0, 3), (4, 40)].map(|(start, len)| Window { start, len }).to_vec();
        let is_target: Vec<bool> = (0..45).map(|i| [2, 3, 9, 44].contains(&i)).collect();
        let data = counting(45).with_passages(windows.clone(), is_target.clone()).unwrap();
        assert_eq!(data.windows(64).iter().collect::<Vec<_>>(), windows);
        assert_eq!((data.passages(), counting(3).passages()), (Some(2), None));
        assert_eq!(data.targets_in(&data.windows(64)), 4);
        let mut seen = [false; 2];
        for step in 0..20 {
            let batch = data.batch(1, step, [1, 64]).unwrap();
            let of = usize::from(batch.inputs[0] == 4);
            seen[of] = true;
            let Window { start, len } = windows[of];
            assert_eq!(batch.shape, [1, len]);
            for (i, (&x, &y)) in batch.inputs.iter().zip(batch.targets.iter()).enumerate() {
                let (token, next) = ((start + i) as TokenId, start + i + 1);
                assert_eq!(x, if i < len { token } else { 0 });
                let counts = i < len && is_target[next];
                assert_eq!(y, if counts { next as TokenId } else { Batch::IGNORED });
            }
        }
        assert_eq!(seen, [true; 2]);
        assert!(matches!(data.batch(1, 0, [4, 39]), Err(Error::Config { .. })));
        assert!(matches!(data.batch(1, 0, [usize::MAX, 64]), Err(Error::Memory { .. })));
        for (windows, counts) in [
            (vec![], vec![true; 45]),
            (vec![Window { start: 0, len: 45 }], vec![true; 45]),
            (vec![Window { start: 0, len: 3 }], vec![false; 45]),
            (vec![Window { start: 0, len: 3 }], vec![true; 44]),
        ] {
            let refused = counting(45).with_passages(windows, counts);
            assert!(matches!(refused, Err(Error::Config { field: "passages", .. })));
        }
    }

    #[test]
    fn weights_are_those_of_the_targets() {
        let weights: Vec<f32> = (0..45).map(|i| i as f32).collect();
        let windows = [(0, 3), (4, 40)].map(|(start, len)| Window { start, len }).to_vec();
        let data = counting(45).with_passages(windows, vec![true; 45]).unwrap();
        assert_eq!(data.batch(1, 0, [2, 64]).unwrap().weights, None);
        let data = data.with_weights(weights.clone()).unwrap();
        let batch = data.batch(1, 0, [2, 64]).unwrap();
        for (target, weight) in batch.targets.iter().zip(batch.weights.unwrap()) {
            assert_eq!(weight, if *target == Batch::IGNORED { 0.0 } else { *target as f32 });
        }
        for wrong in [vec![1.0; 44], vec![f32::NAN; 45]] {
            let refused = counting(45).with_weights(wrong);
            assert!(matches!(refused, Err(Error::Config { field: "weights", .. })));
        }
    }

    #[test]
    fn texts_end_with_a_token() {
        let data = counting(5).with_ends(vec![2, 5], 300).unwrap();
        assert_eq!(data.tokens(0, data.len()).unwrap(), [0, 1, 300, 2, 3, 4, 300]);
        assert_eq!(data.split(0.5).1.tokens(0, 3).unwrap(), [3, 4, 300]);
        for wrong in [vec![6], vec![3, 2]] {
            let refused = counting(5).with_ends(wrong, 300);
            assert!(matches!(refused, Err(Error::Config { field: "places", .. })));
        }
    }

    #[test]
    fn the_last_part_is_for_validation() {
        let (train, val) = counting(100).split(0.1);
        assert_eq!((train.len(), val.len()), (90, 10));
        assert_eq!(val.tokens(8, 4).unwrap(), [98, 99, 0, 0]);
        assert_eq!(train.tokens(89, 2).unwrap(), [89, 0]);
    }
}
