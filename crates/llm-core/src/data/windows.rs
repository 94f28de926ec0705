//! What an evaluation scores: stretches of a sequence.

use crate::buffer::Preview;
use std::fmt;

/// A stretch to be scored: tokens `start..start + len` are inputs, those one further the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Position of the first input.
    pub start: usize,
    /// Number of scored targets.
    pub len: usize,
}

/// Windows in order. Those that follow one another are worked out when they are asked for: the list
/// of a large file's would not fit into memory either.
#[derive(Clone, PartialEq, Eq)]
pub struct Windows(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    /// Over the targets of positions 0..scored, `seq_len` each, the last one shorter.
    Consecutive {
        scored: usize,
        seq_len: usize,
    },
    Listed(Vec<Window>),
}

impl fmt::Debug for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Consecutive { scored, seq_len } => {
                write!(f, "windows of {seq_len} over {scored} targets")
            }
            Kind::Listed(windows) => Preview(windows).fmt(f),
        }
    }
}

impl Windows {
    /// Over all of `len` tokens, `seq_len` long, the last one shorter. The first token is no
    /// target.
    pub fn consecutive(len: usize, seq_len: usize) -> Windows {
        Windows(Kind::Consecutive { scored: len.saturating_sub(1), seq_len: seq_len.max(1) })
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Consecutive { scored, seq_len } => scored.div_ceil(*seq_len),
            Kind::Listed(list) => list.len(),
        }
    }

    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Window number `i`, if it exists.
    pub fn get(&self, i: usize) -> Option<Window> {
        match &self.0 {
            Kind::Consecutive { scored, seq_len } => (i < self.len()).then(|| {
                let start = i * seq_len;
                Window { start, len: (*seq_len).min(scored - start) }
            }),
            Kind::Listed(list) => list.get(i).copied(),
        }
    }

    /// All, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Window> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Number of scored tokens.
    pub fn tokens(&self) -> usize {
        match &self.0 {
            Kind::Consecutive { scored, .. } => *scored,
            Kind::Listed(list) => list.iter().map(|w| w.len).sum(),
        }
    }

    /// Length of the longest; 0 without windows.
    pub fn longest(&self) -> usize {
        match &self.0 {
            Kind::Consecutive { scored, seq_len } => *seq_len.min(scored),
            Kind::Listed(list) => list.iter().map(|w| w.len).max().unwrap_or(0),
        }
    }

    /// At most `limit` tokens' worth of windows, evenly spaced over all; one at least.
    pub fn evenly_spaced(&self, limit: usize) -> Windows {
        let (count, total) = (self.len(), self.tokens());
        if total <= limit || count == 0 {
            return self.clone();
        }
        let share = |n: usize, whole: usize| (n as u128 * limit as u128 / whole as u128) as usize;
        let mut keep = share(count, total).max(1);
        loop {
            let place = |i: usize| (i as u128 * count as u128 / keep as u128) as usize;
            let kept: Windows = (0..keep).filter_map(|i| self.get(place(i))).collect();
            let found = kept.tokens();
            if found <= limit || keep == 1 {
                return kept;
            }
            // Those taken happen to be long ones.
            keep = share(keep, found).clamp(1, keep - 1);
        }
    }
}

impl FromIterator<Window> for Windows {
    fn from_iter<I: IntoIterator<Item = Window>>(windows: I) -> Windows {
        Windows(Kind::Listed(windows.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(windows: &Windows) -> Vec<(usize, usize)> {
        windows.iter().map(|w| (w.start, w.len)).collect()
    }

    #[test]
    fn long_windows_among_short_ones_keep_to_the_limit() {
        let window = |i: usize| Window { start: i * 100, len: [100, 1][i % 2] };
        let windows: Windows = (0..100).map(window).collect();
        for limit in [1, 100, 500, 2525, 5049] {
            let kept = windows.evenly_spaced(limit);
            assert!(kept.tokens() <= limit.max(100) && !kept.is_empty(), "{limit}");
        }
        assert_eq!(windows.evenly_spaced(5050).len(), 100);
    }

    #[test]
    fn each_token_but_the_first_is_scored_once() {
        let windows = Windows::consecutive(21, 8);
        assert_eq!(list(&windows), [(0, 8), (8, 8), (16, 4)]);
        assert_eq!((windows.tokens(), windows.longest(), windows.get(3)), (20, 8, None));
        assert_eq!(list(&Windows::consecutive(17, 8)), [(0, 8), (8, 8)]);
        assert_eq!(Windows::consecutive(4, 8).longest(), 3);
        assert!(Windows::consecutive(1, 8).is_empty() && Windows::consecutive(0, 8).is_empty());
        let listed: Windows = windows.iter().collect();
        assert_eq!((listed.len(), listed.tokens(), listed.longest()), (3, 20, 8));
    }

    #[test]
    fn a_few_of_many_are_spread_over_all() {
        let windows = Windows::consecutive(100, 8);
        let some = windows.evenly_spaced(24);
        assert_eq!(some.iter().map(|w| w.start).collect::<Vec<_>>(), [0, 32, 64]);
        assert_eq!(windows.evenly_spaced(99), windows);
        assert_eq!(windows.evenly_spaced(1).len(), 1);
        // Without a list of all of them.
        let many = Windows::consecutive(usize::MAX, 8).evenly_spaced(80);
        assert_eq!((many.len(), many.tokens()), (10, 80));
        assert!(many.get(9).unwrap().start > usize::MAX / 10 * 8);
    }
}
