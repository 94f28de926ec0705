//! What may be said about a difference, from mean and spread over the seeds.

use crate::data::{Compared, Comparison};
use crate::groups::GroupSpread;
use crate::labels::fact_label;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_stories::FactKind;

/// A quantity that is compared.
#[derive(Clone, Copy)]
enum Quantity {
    /// In nats for a token: lower is better.
    Loss,
    /// The share right, 0..=1.
    AllFacts,
    /// The share right of one kind, 0..=1.
    FactsOf(FactKind),
}

impl Quantity {
    fn name(self) -> Message {
        match self {
            Quantity::Loss => message!("Validation loss"),
            Quantity::AllFacts => message!("All facts"),
            Quantity::FactsOf(kind) => message!("Facts of kind {}", fact_label(kind)),
        }
    }

    /// The value of each seed.
    fn values(self, row: &Compared) -> &[f64] {
        match self {
            Quantity::Loss => &row.loss,
            Quantity::AllFacts => &row.facts_total,
            Quantity::FactsOf(kind) => row.facts_of(kind),
        }
    }

    fn shown(self, value: f64) -> Message {
        match self {
            Quantity::Loss => message!("{:.4} nats", value),
            Quantity::AllFacts | Quantity::FactsOf(_) => message!("{:.1} %", 100.0 * value),
        }
    }

    fn is_better(self, a: f64, b: f64) -> bool {
        match self {
            Quantity::Loss => a < b,
            Quantity::AllFacts | Quantity::FactsOf(_) => a > b,
        }
    }
}

/// What follows from the measurements, and nothing beyond it. `planned` is the number of runs;
/// of those kinds of which some `diverged`, nothing else is said.
pub(super) fn conclude(
    comparison: &Comparison,
    planned: usize,
    diverged: &[(Message, usize)],
) -> Vec<Message> {
    let mut rows: Vec<&Compared> = comparison.rows.iter().collect();
    if comparison.by_heads {
        // The fewest first, in whatever order they were given.
        rows.sort_by_key(|row| row.n_heads);
    }
    if !comparison.complete {
        let done = rows.iter().map(|row| row.loss.len()).chain(diverged.iter().map(|(_, n)| *n));
        return vec![message!(
            "Incomplete: {} of {} runs are done. Nothing is concluded.",
            done.sum::<usize>(),
            planned
        )];
    }
    let ran_away = diverged.iter().map(|(name, n)| {
        let some = rows.iter().find(|row| row.name == *name).map_or(0, |row| row.loss.len());
        message!("With {} {} of {} runs diverged: it is not compared.", name, *n, n + some)
    });
    let mut said: Vec<_> = ran_away.collect();
    rows.retain(|row| diverged.iter().all(|(name, _)| *name != row.name));
    if !said.is_empty() && rows.len() < 2 {
        return said;
    }
    let counts = || rows.iter().map(|row| row.tokens);
    let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    if fewest < most {
        said.push(message!(
            "They did not learn from equally many tokens, but from {} to {}: that is a part of every \
             difference.",
            thousands(fewest),
            thousands(most)
        ));
    }
    let seeds = rows.first().map_or(0, |row| row.loss.len());
    if seeds < 2 {
        said.push(message!(
            "One seed: nothing is known about the spread, so nothing is concluded."
        ));
        return said;
    }
    said.push(rule(comparison.by_heads, seeds));
    let kinds = FactKind::ALL.iter().map(|kind| Quantity::FactsOf(*kind));
    let all = [Quantity::Loss, Quantity::AllFacts].into_iter().chain(kinds);
    said.extend(all.filter_map(|quantity| found(quantity, &rows, seeds, comparison.by_heads)));
    said.push(message!(
        "This was measured with these settings, this data and these seeds, and says nothing about \
         others."
    ));
    said
}

/// When a difference counts.
fn rule(by_heads: bool, seeds: usize) -> Message {
    match by_heads {
        true => message!(
            "Rule: for each quantity, the number of heads with the best mean is compared with the \
             fewest heads (or, where these are the best, with the next); a difference counts when \
             the two ranges over {} seeds do not overlap. The best is chosen after measuring, so \
             chance has several tries.",
            seeds
        ),
        false => message!(
            "Rule: for each quantity, the setting with the best mean is compared with the first one \
             (or, where that is the best, with the next); a difference counts when the two ranges \
             over {} seeds do not overlap. The best is chosen after measuring, so chance has several \
             tries.",
            seeds
        ),
    }
}

/// Whether the best of the rows differs from the first in a quantity; `None` when some row has no
/// values of it.
fn found(quantity: Quantity, rows: &[&Compared], seeds: usize, by_heads: bool) -> Option<Message> {
    let spreads = rows.iter().map(|row| GroupSpread::of(quantity.values(row)));
    let spreads = spreads.collect::<Option<Vec<_>>>()?;
    // The first of equals; the first row where there is no other.
    let best_from = |first: usize| {
        let better = |best: usize, i: usize| {
            if quantity.is_better(spreads[i].mean, spreads[best].mean) { i } else { best }
        };
        (first..spreads.len()).reduce(better).unwrap_or(0)
    };
    let (of, best, next) = (quantity.name(), best_from(0), best_from(1));
    let (name, mean) = (|i: usize| &rows[i].name, |i: usize| quantity.shown(spreads[i].mean));
    if spreads.iter().all(|s| s.low == spreads[0].high && s.high == spreads[0].low) {
        return Some(match by_heads {
            true => message!("{}: {} with every number of heads and every seed.", of, mean(0)),
            false => message!("{}: {} with every setting and every seed.", of, mean(0)),
        });
    }
    if best == 0 {
        let what = if by_heads { message!("number of heads") } else { message!("setting") };
        let how = match spreads[0].is_apart_from(&spreads[next]) {
            true => message!("beyond"),
            false => message!("within"),
        };
        return Some(message!(
            "{}: no {} has a better mean than {}, {}; the next, {} with {}, is {} the spread of {} \
             seeds.",
            of,
            what,
            name(0),
            mean(0),
            name(next),
            mean(next),
            how,
            seeds
        ));
    }
    Some(match spreads[best].is_apart_from(&spreads[0]) {
        true => message!(
            "{}: {} with {} against {} with {}, a difference beyond the spread of {} seeds.",
            of,
            mean(best),
            name(best),
            mean(0),
            name(0),
            seeds
        ),
        false => message!(
            "{}: no difference beyond the spread of {} seeds ({} with {}, {} with {}).",
            of,
            seeds,
            mean(best),
            name(best),
            mean(0),
            name(0)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::counted;

    fn heads(n: usize) -> Message {
        counted!(n, "head")
    }

    fn row(n_heads: usize, loss: &[f64], spot: &[f64]) -> Compared {
        Compared {
            name: heads(n_heads),
            n_heads,
            loss: loss.to_vec(),
            facts_total: spot.to_vec(),
            facts: vec![(FactKind::Spot, spot.to_vec())],
            ..Compared::default()
        }
    }

    fn english(rows: Vec<Compared>, complete: bool) -> Vec<String> {
        let comparison = Comparison { complete, rows, by_heads: true, ..Comparison::default() };
        conclude(&comparison, 6, &[]).iter().map(|found| found.to_string()).collect()
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
        let said = |diverged: &[(Message, usize)]| -> Vec<String> {
            conclude(&comparison, 8, diverged).iter().map(|found| found.to_string()).collect()
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
        let rate = |name: &str, loss: &[f64]| Compared {
            name: name.to_string().into(),
            ..row(4, loss, &[])
        };
        let rows = vec![rate("lr 1e-3", &[0.5, 0.6]), rate("lr 3e-3", &[0.3, 0.4])];
        let comparison = Comparison { complete: true, rows, ..Comparison::default() };
        let said = conclude(&comparison, 4, &[]);
        let said: Vec<_> = said.iter().map(|found| found.to_string()).collect();
        assert!(said[0].contains("compared with the first one"), "{said:?}");
        assert_eq!(
            said[1],
            "Validation loss: 0.3500 nats with lr 3e-3 against 0.5500 nats with lr 1e-3, a \
             difference beyond the spread of 2 seeds."
        );
    }
}
