//! Mean and spread over seeds, and what may be said about a difference.

use crate::messages::compare::{Conclusion, Difference, Mean, Quantity};
use llm_report::Bilingual;
use llm_report::{Compared, Comparison, GroupSpread};

/// What is measured about one quantity.
struct Findings<'a> {
    quantity: Quantity<'a>,
    /// One for each row.
    spreads: Vec<GroupSpread>,
}

impl<'a> Findings<'a> {
    /// `None` when some row has no values of it.
    fn of<'r>(
        quantity: Quantity<'a>,
        rows: &'r [Compared],
        values: impl Fn(&'r Compared) -> &'r [f64],
    ) -> Option<Findings<'a>> {
        let spreads = rows.iter().map(|row| GroupSpread::of(values(row))).collect::<Option<_>>()?;
        Some(Findings { quantity, spreads })
    }

    /// The place of the best mean, the first of equals, from `first` on.
    fn best(&self, first: usize) -> usize {
        let lower_is_better = self.quantity == Quantity::Loss;
        let better = |a: f64, b: f64| if lower_is_better { a < b } else { a > b };
        let mut best = first;
        for (i, spread) in self.spreads.iter().enumerate().skip(first) {
            best = if better(spread.mean, self.spreads[best].mean) { i } else { best };
        }
        best
    }

    /// Whether the best of them differs from the first row.
    fn difference(&self, rows: &[Compared]) -> Difference {
        let top = self.best(0);
        let spreads = &self.spreads;
        let mean = |i: usize| Mean { name: rows[i].name.clone(), value: spreads[i].mean };
        let (first, best) = (mean(0), mean(top));
        if spreads.iter().all(|s| s.low == spreads[0].high && s.high == spreads[0].low) {
            return Difference::Never(first.value);
        }
        if top == 0 {
            let next = self.best(1.min(spreads.len() - 1));
            let beyond = spreads[0].is_apart_from(&spreads[next]);
            return Difference::FirstIsBest { first, next: mean(next), beyond };
        }
        match spreads[top].is_apart_from(&spreads[0]) {
            true => Difference::Beyond { best, first },
            false => Difference::Within { best, first },
        }
    }
}

/// What follows from the measurements, and nothing beyond it. `planned` is the number of runs;
/// of those kinds of which some `diverged`, nothing else is said.
pub(super) fn conclude<'a>(
    comparison: &'a Comparison,
    planned: usize,
    diverged: &[(Bilingual, usize)],
) -> Vec<Conclusion<'a>> {
    let (by_heads, mut rows) = (comparison.by_heads, comparison.rows.clone());
    if by_heads {
        // The fewest first, in whatever order they were given.
        rows.sort_by_key(|row| row.n_heads);
    }
    let done: usize = rows.iter().map(|row| row.loss.len()).sum();
    let done = done + diverged.iter().map(|(_, n)| n).sum::<usize>();
    if !comparison.complete {
        return vec![Conclusion::Incomplete { done, planned }];
    }
    let ran_away = |(name, n): &(Bilingual, usize)| {
        let some = rows.iter().find(|row| row.name == *name).map_or(0, |row| row.loss.len());
        Conclusion::Diverged { name: name.clone(), diverged: *n, of: n + some }
    };
    let ran_away: Vec<_> = diverged.iter().map(ran_away).collect();
    rows.retain(|row| diverged.iter().all(|(name, _)| *name != row.name));
    if !ran_away.is_empty() && rows.len() < 2 {
        return ran_away;
    }
    let counts = || rows.iter().map(|row| row.tokens);
    let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let tokens = (fewest < most).then_some(Conclusion::Tokens { fewest, most });
    let said = ran_away.into_iter().chain(tokens);
    let seeds = rows.first().map_or(0, |row| row.loss.len());
    if seeds < 2 {
        return said.chain([Conclusion::OneSeed]).collect();
    }
    let loss = Findings::of(Quantity::Loss, &rows, |row| &row.loss);
    let all = Findings::of(Quantity::AllFacts, &rows, |row| &row.facts_total);
    let kinds = comparison.rows.first().map_or(&[][..], |row| &row.facts);
    let kinds = kinds.iter().filter_map(|(kind, _)| {
        Findings::of(Quantity::FactsOf(kind), &rows, |row| values_of(row, kind))
    });
    let found = loss.into_iter().chain(all).chain(kinds).map(|findings| {
        let difference = findings.difference(&rows);
        Conclusion::Found { quantity: findings.quantity, difference, seeds, by_heads }
    });
    let rule = std::iter::once(Conclusion::Rule { seeds, by_heads });
    said.chain(rule).chain(found).chain([Conclusion::Limits]).collect()
}

/// The shares right of a kind; empty when it did not occur.
pub(super) fn values_of<'a>(row: &'a Compared, kind: &str) -> &'a [f64] {
    row.facts.iter().find(|(name, _)| name == kind).map_or(&[], |(_, values)| values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::compare::heads;

    fn row(n_heads: usize, loss: &[f64], spot: &[f64]) -> Compared {
        Compared {
            name: heads(n_heads),
            n_heads,
            loss: loss.to_vec(),
            facts_total: spot.to_vec(),
            facts: vec![("spot".into(), spot.to_vec())],
            ..Compared::default()
        }
    }

    fn english(rows: Vec<Compared>, complete: bool) -> Vec<String> {
        let comparison = Comparison { complete, rows, by_heads: true, ..Comparison::default() };
        conclude(&comparison, 6, &[]).iter().map(|found| found.text().en).collect()
    }

    #[test]
    fn a_difference_counts_when_ranges_do_not_overlap() {
        let rows = vec![
            row(4, &[0.10, 0.11, 0.12], &[0.93, 0.95, 0.94]),
            row(1, &[0.12, 0.13, 0.14], &[0.60, 0.62, 0.92]),
            row(2, &[0.15, 0.16, 0.17], &[0.50, 0.70, 0.60]),
        ];
        let said = english(rows, true);
        // Equal ends are an overlap.
        assert_eq!(
            said[1],
            "Validation loss: no difference beyond the spread of 3 seeds (0.1100 nats with 4 \
             heads, 0.1300 nats with 1 head)."
        );
        assert_eq!(
            said[3],
            "Facts of kind spot: 94.0 % with 4 heads against 71.3 % with 1 head, a difference \
             beyond the spread of 3 seeds."
        );
    }

    #[test]
    fn the_fewest_heads_may_be_the_best() {
        let rows = vec![row(1, &[0.1, 0.2], &[0.9, 0.8]), row(2, &[0.3, 0.3], &[0.1, 0.1])];
        let said = english(rows, true);
        assert_eq!(
            said[1],
            "Validation loss: no number of heads has a better mean than 1 head, 0.1500 nats; the \
             next, 2 heads with 0.3000 nats, is beyond the spread of 2 seeds."
        );
        assert_eq!(
            said[2],
            "All facts: no number of heads has a better mean than 1 head, 85.0 %; the next, 2 heads \
             with 10.0 %, is beyond the spread of 2 seeds."
        );
    }

    #[test]
    fn what_never_differs_is_said_once() {
        let said =
            english(vec![row(1, &[0.1, 0.2], &[0.0; 2]), row(2, &[0.1, 0.2], &[0.0; 2])], true);
        assert_eq!(said[2], "All facts: 0.0 % with every number of heads and every seed.");
        assert!(said[1].contains("no number of heads has a better mean"), "{}", said[1]);
    }

    #[test]
    fn nothing_is_concluded_from_one_seed_or_half_a_comparison() {
        let rows = || vec![row(1, &[0.9], &[0.1]), row(4, &[0.1], &[0.9])];
        assert!(english(rows(), true)[0].starts_with("One seed"));
        assert_eq!(english(rows(), true).len(), 1);
        let half = english(rows(), false);
        assert_eq!(half, ["Incomplete: 2 of 6 runs are done. Nothing is concluded."]);
    }

    #[test]
    fn of_what_ran_away_nothing_else_is_said() {
        let rows = vec![
            row(1, &[0.4, 0.5], &[]),
            row(2, &[0.0], &[]), // the best there is, of one seed
            row(4, &[0.1, 0.2], &[]),
        ];
        let comparison =
            Comparison { complete: true, rows, by_heads: true, ..Comparison::default() };
        let said = |diverged: &[(Bilingual, usize)]| -> Vec<String> {
            conclude(&comparison, 8, diverged).iter().map(|found| found.text().en).collect()
        };
        let lines = said(&[(heads(2), 1), (heads(8), 2)]);
        assert_eq!(lines[0], "With 2 heads 1 of 2 runs diverged: it is not compared.");
        assert_eq!(lines[1], "With 8 heads 2 of 2 runs diverged: it is not compared.");
        assert!(lines[3].contains("0.1500 nats with 4 heads against 0.4500"), "{lines:?}");
        let all = [(heads(1), 1), (heads(2), 1), (heads(8), 2)];
        assert_eq!(said(&all).len(), 3, "one is left, and nothing to compare it with");
    }

    #[test]
    fn of_other_settings_the_first_is_the_measure() {
        let rate = |name: &str, loss: &[f64]| Compared { name: name.into(), ..row(4, loss, &[]) };
        let rows = vec![rate("lr 1e-3", &[0.5, 0.6]), rate("lr 3e-3", &[0.3, 0.4])];
        let comparison = Comparison { complete: true, rows, ..Comparison::default() };
        let said = conclude(&comparison, 4, &[]);
        let said: Vec<_> = said.iter().map(|found| found.text().en).collect();
        assert!(said[0].contains("compared with the first one"), "{said:?}");
        assert_eq!(
            said[1],
            "Validation loss: 0.3500 nats with lr 3e-3 against 0.5500 nats with lr 1e-3, a \
             difference beyond the spread of 2 seeds."
        );
    }
}
