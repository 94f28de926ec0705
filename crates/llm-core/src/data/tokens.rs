//! Where tokens are kept: in memory, in as few bytes each as they allow, or in files.

use super::ByteFiles;
use crate::base::{Result, TokenId};
use std::ops::Range;
use std::sync::Arc;

/// A part of stored tokens. Copies and parts share the store.
#[derive(Clone)]
pub(super) struct StoredTokens {
    store: Store,
    range: Range<usize>,
}

/// What holds the tokens of a whole sequence.
#[derive(Clone)]
pub(super) enum Store {
    /// One byte each.
    Bytes(Arc<Vec<u8>>),
    Narrow(Arc<Vec<u16>>),
    Wide(Arc<Vec<TokenId>>),
    Files(Arc<ByteFiles>),
    /// Two bytes each, little-endian.
    NarrowFiles(Arc<ByteFiles>),
    Ended(Arc<Ended>),
}

/// Tokens with one more after each of some places.
pub(super) struct Ended {
    tokens: StoredTokens,
    /// In rising order, none beyond the last token.
    places: Vec<usize>,
    end: TokenId,
}

impl StoredTokens {
    /// All that is in a store.
    pub(super) fn all(store: Store) -> StoredTokens {
        let len = match &store {
            Store::Bytes(bytes) => bytes.len(),
            Store::Narrow(tokens) => tokens.len(),
            Store::Wide(tokens) => tokens.len(),
            Store::Files(files) => files.len(),
            Store::NarrowFiles(files) => files.len() / 2,
            Store::Ended(ended) => ended.tokens.len() + ended.places.len(),
        };
        StoredTokens { store, range: 0..len }
    }

    /// These tokens and the token `end` after each of these numbers of them, which rise and are no
    /// more than there are.
    pub(super) fn ended(self, places: Vec<usize>, end: TokenId) -> StoredTokens {
        StoredTokens::all(Store::Ended(Arc::new(Ended { tokens: self, places, end })))
    }

    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// The tokens of a range, which must lie inside.
    pub(super) fn part(&self, range: Range<usize>) -> StoredTokens {
        let start = self.range.start;
        StoredTokens { store: self.store.clone(), range: start + range.start..start + range.end }
    }

    /// `out` becomes the tokens from `start` on, with zeros past the end.
    pub(super) fn read(&self, start: usize, out: &mut [TokenId]) -> Result<()> {
        let there = self.len().saturating_sub(start).min(out.len());
        let (out, past) = out.split_at_mut(there);
        past.fill(0);
        if there == 0 {
            return Ok(());
        }
        let first = self.range.start + start;
        let range = first..first + there;
        match &self.store {
            Store::Bytes(bytes) => widen(out, &bytes[range]),
            Store::Narrow(tokens) => widen(out, &tokens[range]),
            Store::Wide(tokens) => out.copy_from_slice(&tokens[range]),
            Store::Files(files) => read_files(files, first, out, |[byte]| byte.into())?,
            Store::NarrowFiles(files) => {
                read_files(files, first, out, |pair| u16::from_le_bytes(pair).into())?;
            }
            Store::Ended(ended) => ended.read(first, out)?,
        }
        Ok(())
    }
}

impl Ended {
    /// `out` becomes what is at `start` and after, which must be there.
    fn read(&self, start: usize, mut out: &mut [TokenId]) -> Result<()> {
        // The i-th added token stands at places[i] + i.
        let (mut low, mut high) = (0, self.places.len());
        while low < high {
            let i = low.midpoint(high);
            if self.places[i] + i < start { low = i + 1 } else { high = i }
        }
        let (mut added, mut place) = (low, start - low);
        while !out.is_empty() {
            let until = self.places.get(added).map_or(out.len(), |&end| end - place);
            let (now, later) = out.split_at_mut(until.min(out.len()));
            self.tokens.read(place, now)?;
            place += now.len();
            out = later;
            if let [first, rest @ ..] = out {
                *first = self.end;
                added += 1;
                out = rest;
            }
        }
        Ok(())
    }
}

/// `out` becomes the tokens of N bytes each from number `first` on.
fn read_files<const N: usize>(
    files: &ByteFiles,
    first: usize,
    out: &mut [TokenId],
    token: impl Fn([u8; N]) -> TokenId,
) -> Result<()> {
    // Small enough for the stack, large enough for most windows.
    let mut piece = [0; 4096];
    let tokens = piece.len() / N;
    for (i, out) in out.chunks_mut(tokens).enumerate() {
        let piece = &mut piece[..N * out.len()];
        files.read(N * (first + i * tokens), piece)?;
        out.iter_mut().zip(piece.as_chunks().0).for_each(|(out, bytes)| *out = token(*bytes));
    }
    Ok(())
}

fn widen<N: Copy + Into<TokenId>>(out: &mut [TokenId], tokens: &[N]) {
    for (out, &token) in out.iter_mut().zip(tokens) {
        *out = token.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_tokens_stand_after_their_places() {
        let bytes = StoredTokens::all(Store::Bytes(Arc::new((0..10).collect())));
        let ended = bytes.part(2..9).ended(vec![0, 3, 3, 7], 99);
        let all = [99, 2, 3, 4, 99, 99, 5, 6, 7, 8, 99];
        assert_eq!(ended.len(), all.len());
        for start in 0..=all.len() {
            for len in 0..=all.len() + 2 {
                let mut out = vec![77; len];
                ended.read(start, &mut out).unwrap();
                let want = (start..start + len).map(|p| all.get(p).copied().unwrap_or(0));
                assert!(out.iter().copied().eq(want), "{start} {len}: {out:?}");
            }
        }
        let mut part = [0; 3];
        ended.part(3..6).read(1, &mut part).unwrap();
        assert_eq!(part, [99, 99, 0]);
    }

    #[test]
    fn every_store_reads_the_same() {
        let bytes: Vec<u8> = (0..10_000u32).map(|i| (i * i / 3) as u8).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let wide: Vec<TokenId> = bytes.iter().map(|&b| TokenId::from(b) + 300).collect();
        let narrow: Vec<u16> = bytes.iter().map(|&b| u16::from(b) + 300).collect();
        let pairs = tempfile::NamedTempFile::new().unwrap();
        let little: Vec<u8> = narrow.iter().flat_map(|n| n.to_le_bytes()).collect();
        std::fs::write(pairs.path(), &little).unwrap();
        let stores = [
            (Store::Bytes(Arc::new(bytes.clone())), 0),
            (Store::Narrow(Arc::new(narrow)), 300),
            (Store::Wide(Arc::new(wide)), 300),
            (Store::Files(Arc::new(ByteFiles::open(&[file.path()]).unwrap())), 0),
            (Store::NarrowFiles(Arc::new(ByteFiles::open(&[pairs.path()]).unwrap())), 300),
        ];
        let stores = stores.map(|(store, more)| (StoredTokens::all(store), more));
        for (start, len) in [(0, 10), (9_990, 20), (10_000, 3), (usize::MAX, 2), (7, 9_000)] {
            for (tokens, more) in &stores {
                let mut out = vec![77; len];
                tokens.read(start, &mut out).unwrap();
                let want = (0..len).map(|i| {
                    let byte = start.checked_add(i).and_then(|p| bytes.get(p));
                    byte.map_or(0, |&b| TokenId::from(b) + more)
                });
                assert!(out.into_iter().eq(want), "{start} {len} {more}");
                let mut part = vec![0; 5];
                tokens.part(100..103).read(1, &mut part).unwrap();
                let want = [bytes[101], bytes[102]].map(|b| TokenId::from(b) + more);
                assert_eq!((&part[..2], &part[2..]), (&want[..], &[0; 3][..]));
            }
        }
    }
}
