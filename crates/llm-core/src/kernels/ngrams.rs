//! Rows of tables of n-grams, by the last n tokens.

use crate::base::TokenId;

/// The rows of one n in [`Weights::ngrams`](crate::model::Weights::ngrams), where those of all n lie one
/// after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NgramTable {
    pub(crate) n: usize,
    pub(crate) first: usize,
    pub(crate) rows: usize,
    /// V + 1: the tokens, and the place before the first one.
    pub(crate) kinds: u64,
    /// Whether every n-gram has a row of its own.
    pub(crate) exact: bool,
}

impl NgramTable {
    /// The rows of all places of texts of `t` tokens, one behind the other.
    pub fn rows(&self, texts: &[TokenId], t: usize) -> Vec<TokenId> {
        let texts = texts.chunks(t.max(1));
        texts.flat_map(|text| (0..text.len()).map(|i| self.row(text, i))).collect()
    }

    /// The row of the n tokens that end at place `i` of a text. A place before its first counts as a
    /// token of its own, number V.
    ///
    /// Where there is a row for each of the (V + 1)ⁿ, their number in base V + 1; otherwise a hash, so
    /// that some share a row.
    pub fn row(&self, text: &[TokenId], i: usize) -> TokenId {
        let mut key = 0u64;
        for back in (0..self.n).rev() {
            let token = i.checked_sub(back).map_or(self.kinds - 1, |at| u64::from(text[at]));
            key = if self.exact { key * self.kinds + token } else { mixed(key ^ (token + 1)) };
        }
        (self.first as u64 + key % self.rows as u64) as TokenId
    }
}

/// A number in which each bit of `x` changes about half of the bits.
///
/// Reference: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
