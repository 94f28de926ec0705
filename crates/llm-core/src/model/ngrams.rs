//! Tables of n-grams: a row for the last n tokens, added to the row of the last one.
//!
//! What follows two or three letters is mostly a matter of which they are. With a row for each group,
//! a model need not compute that: a look-up costs the same however many rows there are.

use super::Config;
use crate::base::{Error, Result};
use crate::kernels::ngrams::NgramTable;
use crate::message;

impl Config {
    /// Longest n of a table of n-grams.
    pub const MAX_NGRAM: usize = 8;
    /// Most rows of a table of n-grams.
    pub const MAX_NGRAM_ROWS: usize = 1 << 24;

    /// The tables, in the order of their rows.
    pub(crate) fn ngram_tables(&self) -> impl Iterator<Item = NgramTable> {
        let kinds = (self.vocab_size as u64).saturating_add(1);
        self.ngrams.iter().scan(0, move |first, &n| {
            let all = kinds.saturating_pow(n.min(Config::MAX_NGRAM) as u32);
            let most = self.ngram_rows.max(1) as u64;
            let (rows, exact) = (all.min(most) as usize, all <= most);
            let table = NgramTable { n, first: *first, rows, kinds, exact };
            *first += rows;
            Some(table)
        })
    }

    /// Rows of all tables together.
    pub(super) fn all_ngram_rows(&self) -> usize {
        self.ngram_tables().map(|table| table.rows).sum()
    }

    pub(super) fn check_ngrams(&self) -> Result<()> {
        let within = self.ngrams.iter().all(|n| (2..=Config::MAX_NGRAM).contains(n));
        let reason = message!(
            "it is a list of different numbers in 2..={}, the smallest first, such as 2,3,4",
            Config::MAX_NGRAM
        );
        Error::unless(within && self.ngrams.is_sorted_by(|a, b| a < b), "ngrams", reason)?;
        let within = (1..=Config::MAX_NGRAM_ROWS).contains(&self.ngram_rows);
        let reason = message!("{} is outside 1..={}", self.ngram_rows, Config::MAX_NGRAM_ROWS);
        Error::unless(within, "ngram_rows", reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TokenId;
    use std::collections::HashSet;

    fn config(vocab_size: usize, ngrams: &[usize], ngram_rows: usize) -> Config {
        Config { ngrams: ngrams.into(), ngram_rows, ..Config::new(vocab_size, 8, 4, 1) }
    }

    /// With three tokens there are four kinds of places, so 16 pairs and 64 triples.
    #[test]
    fn rows_are_counted_in_the_base_of_the_vocabulary_while_there_is_room() {
        let config = config(3, &[2, 3], 64);
        let tables: Vec<_> = config.ngram_tables().collect();
        let text = [2, 0, 1];
        let rows = |i| tables.iter().map(|table| table.row(&text, i)).collect::<Vec<_>>();
        assert_eq!(rows(0), [3 * 4 + 2, 16 + (3 * 4 + 3) * 4 + 2]);
        assert_eq!(rows(1), [2 * 4, 16 + (3 * 4 + 2) * 4]);
        assert_eq!(rows(2), [1, 16 + 2 * 16 + 1]);
        assert_eq!(config.all_ngram_rows(), 80);
    }

    #[test]
    fn a_hash_stays_in_its_table_and_fills_it() {
        let config = config(256, &[2, 4], 100);
        let tables: Vec<_> = config.ngram_tables().collect();
        let text: Vec<TokenId> = (0..4000).map(|i| (i * i * 7 + i / 3) % 256).collect();
        for (table, range) in tables.iter().zip([0..100, 100..200]) {
            let seen: HashSet<_> = (0..text.len()).map(|i| table.row(&text, i)).collect();
            assert!(seen.iter().all(|row| range.contains(row)));
            assert!(seen.len() > 95, "{}", seen.len());
        }
    }

    /// A row looks at its n tokens alone, and at their order.
    #[test]
    fn only_the_last_n_count() {
        let config = config(256, &[3], 1 << 20);
        let table = config.ngram_tables().next().unwrap();
        let row = |text: &[TokenId]| table.row(text, text.len() - 1);
        assert_eq!(row(&[9, 1, 2, 3]), row(&[7, 7, 1, 2, 3]));
        assert_ne!(row(&[1, 2, 3]), row(&[2, 1, 3]));
        assert_ne!(row(&[0, 2, 3]), row(&[2, 3]));
    }

    #[test]
    fn lists_that_are_none_are_refused() {
        for (ngrams, fits) in [
            (&[][..], true),
            (&[2], true),
            (&[2, 3, 8], true),
            (&[1], false),
            (&[9], false),
            (&[3, 2], false),
            (&[2, 2], false),
        ] {
            assert_eq!(config(5, ngrams, 10).check().is_ok(), fits, "{ngrams:?}");
        }
        for rows in [0, Config::MAX_NGRAM_ROWS + 1] {
            let refused = config(5, &[], rows).check().unwrap_err();
            assert!(matches!(refused, Error::Config { field: "ngram_rows", .. }), "{refused}");
        }
    }
}
