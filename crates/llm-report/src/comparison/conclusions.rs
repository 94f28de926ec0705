//! What may be said about a difference, from mean and spread over the seeds.

use crate::data::{Compared, Comparison, Judged};
use crate::labels::fact_label;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_lens::statistics::{FEWEST, Mean, RISK, holm};
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

    /// The name in files.
    fn key(self) -> &'static str {
        match self {
            Quantity::Loss => "val_loss",
            Quantity::AllFacts => "facts_accuracy",
            Quantity::FactsOf(kind) => kind.name(),
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

    /// A difference of two means.
    fn apart(self, difference: f64) -> Message {
        match self {
            Quantity::Loss => message!("{:+.4} nats", difference),
            Quantity::AllFacts | Quantity::FactsOf(_) => {
                message!("{:+.1} points", 100.0 * difference)
            }
        }
    }

    /// Half the width of an interval, in the same unit.
    fn give_or_take(self, half_width: f64) -> String {
        match self {
            Quantity::Loss => format!("{half_width:.4}"),
            Quantity::AllFacts | Quantity::FactsOf(_) => format!("{:.1}", 100.0 * half_width),
        }
    }
}

/// By how much a setting differs from the first one in a quantity.
struct Difference {
    of: Quantity,
    /// Number of the setting.
    row: usize,
    /// Over the seeds: the setting's value less the first one's with the same seed.
    pairs: Mean,
    /// The chance of it, among all of the page.
    chance: f64,
}

/// What follows from the measurements, and nothing beyond it: the differences, and what is said about them.
/// `planned` is the number of runs; of those kinds of which some `diverged`, nothing else is said.
pub(super) fn conclude(
    comparison: &Comparison,
    planned: usize,
    diverged: &[(Message, usize)],
) -> (Vec<Judged>, Vec<Message>) {
    let mut rows: Vec<&Compared> = comparison.rows.iter().collect();
    if comparison.by_heads {
        // The fewest first, in whatever order they were given.
        rows.sort_by_key(|row| row.n_heads);
    }
    if !comparison.complete {
        let done = rows.iter().map(|row| row.loss.len()).chain(diverged.iter().map(|(_, n)| *n));
        let said = message!(
            "Incomplete: {} of {} runs are done. Nothing is concluded.",
            done.sum::<usize>(),
            planned
        );
        return (Vec::new(), vec![said]);
    }
    let ran_away = diverged.iter().map(|(name, n)| {
        let some = rows.iter().find(|row| row.name == *name).map_or(0, |row| row.loss.len());
        message!("With {} {} of {} runs diverged: it is not compared.", name, *n, n + some)
    });
    let mut said: Vec<_> = ran_away.collect();
    rows.retain(|row| diverged.iter().all(|(name, _)| *name != row.name));
    if !said.is_empty() && rows.len() < 2 {
        return (Vec::new(), said);
    }
    let counts = || rows.iter().map(|row| row.learned);
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
        return (Vec::new(), said);
    }
    let found = differences(&rows);
    said.push(rule(comparison.by_heads, found.len(), seeds));
    said.extend(found.iter().map(|difference| sentence(difference, &rows, found.len())));
    said.push(message!(
        "This was measured with these settings, this data and these seeds, and says nothing about \
         others."
    ));
    (found.iter().map(|difference| difference.judged(&rows)).collect(), said)
}

impl Difference {
    fn counts(&self) -> bool {
        self.pairs.n >= FEWEST && self.chance <= RISK
    }

    fn judged(&self, rows: &[&Compared]) -> Judged {
        let Mean { n, mean, sd } = self.pairs;
        Judged {
            quantity: self.of.key(),
            setting: rows[self.row].values.clone(),
            seeds: n,
            mean,
            sd,
            half_width: self.pairs.half_width(RISK),
            p: self.chance,
            counts: self.counts(),
        }
    }
}

/// Every setting against the first one, seed by seed, in every quantity that all of them have. How many
/// settings and quantities there are is a part of every chance.
fn differences(rows: &[&Compared]) -> Vec<Difference> {
    let kinds = FactKind::ALL.iter().map(|kind| Quantity::FactsOf(*kind));
    let all = [Quantity::Loss, Quantity::AllFacts].into_iter().chain(kinds);
    let seeds = rows.first().map_or(0, |row| row.loss.len());
    let there = all.filter(|of| rows.iter().all(|row| of.values(row).len() == seeds));
    let mut found: Vec<Difference> = there
        .flat_map(|of| {
            (1..rows.len()).map(move |row| {
                let both = of.values(rows[row]).iter().zip(of.values(rows[0]));
                let each: Vec<f64> = both.map(|(a, b)| a - b).collect();
                let pairs = Mean::of(&each);
                Difference { of, row, pairs, chance: pairs.chance_apart() }
            })
        })
        .collect();
    let chances: Vec<f64> = found.iter().map(|difference| difference.chance).collect();
    found.iter_mut().zip(holm(&chances)).for_each(|(of, chance)| of.chance = chance);
    found
}

/// When a difference counts.
fn rule(by_heads: bool, differences: usize, seeds: usize) -> Message {
    let first = match by_heads {
        true => message!("each number of heads is compared with the fewest"),
        false => message!("each setting is compared with the first"),
    };
    if seeds < FEWEST {
        return message!(
            "Rule: {}, seed by seed. With fewer than {} seeds nothing is concluded.",
            first,
            FEWEST
        );
    }
    message!(
        "Rule: {}, seed by seed, by a paired t test; p is the chance of such a difference where there is \
         none, among all {} on this page (Holm's method), and one counts where p is at most {} %: so \
         large is the chance of any false conclusion. It takes the differences of seeds to be normally \
         distributed.",
        first,
        differences,
        100.0 * RISK
    )
}

fn sentence(difference: &Difference, rows: &[&Compared], all: usize) -> Message {
    let &Difference { of, row, pairs, chance } = difference;
    let (a, b) = (rows[row], rows[0]);
    let mean = |row: &Compared| of.shown(Mean::of(of.values(row)).mean);
    if pairs.mean == 0.0 && pairs.sd == 0.0 {
        return message!(
            "{}: {} with {} as with {}, with every seed.",
            of.name(),
            mean(a),
            a.name,
            b.name
        );
    }
    let what = message!(
        "{}: {} with {}, {} with {}: {}",
        of.name(),
        mean(a),
        a.name,
        mean(b),
        b.name,
        of.apart(pairs.mean)
    );
    if pairs.n < FEWEST {
        return message!("{}.", what);
    }
    let what =
        message!("{} ± {}, p = {}", what, of.give_or_take(pairs.half_width(RISK)), p(chance));
    if difference.counts() {
        return message!("{}: beyond chance.", what);
    }
    // The strictest of Holm's steps: what would do among all the others.
    match pairs.enough(RISK / all as f64) {
        Some(n) => {
            message!("{}: not beyond chance; with this spread {} seeds would tell.", what, n)
        }
        None => {
            message!("{}: not beyond chance; with this spread no thousand seeds would tell.", what)
        }
    }
}

/// A chance with two digits that count.
fn p(chance: f64) -> String {
    match chance {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::counted;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

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
        conclude(&comparison, 6, &[]).1.iter().map(|found| found.to_string()).collect()
    }

    #[test]
    fn a_difference_that_every_seed_shows_counts() {
        // The seeds differ more than the settings do; only the pairs show it.
        let rows = vec![
            row(4, &[0.10, 0.21, 0.32, 0.43], &[0.93, 0.95, 0.94, 0.96]),
            row(1, &[0.12, 0.23, 0.34, 0.45], &[0.60, 0.62, 0.92, 0.70]),
        ];
        let said = english(rows, true);
        assert_eq!(
            said[1],
            "Validation loss: 0.2650 nats with 4 heads, 0.2850 nats with 1 head: -0.0200 nats ± 0.0000, \
             p = <0.0001: beyond chance."
        );
        assert_eq!(
            said[3],
            "Facts of kind spot: 94.5 % with 4 heads, 71.0 % with 1 head: +23.5 points ± 23.4, p = 0.10: not \
             beyond chance; with this spread 6 seeds would tell."
        );
    }

    #[test]
    fn two_seeds_conclude_nothing() {
        let rows = vec![row(1, &[0.1, 0.2], &[0.9, 0.8]), row(2, &[0.3, 0.3], &[0.1, 0.1])];
        let said = english(rows, true);
        assert!(said[0].ends_with("With fewer than 3 seeds nothing is concluded."), "{}", said[0]);
        assert_eq!(
            said[1],
            "Validation loss: 0.3000 nats with 2 heads, 0.1500 nats with 1 head: +0.1500 nats."
        );
    }

    #[test]
    fn what_never_differs_is_said_once() {
        let values = [0.1, 0.2, 0.3];
        let said = english(vec![row(1, &values, &[0.0; 3]), row(2, &values, &[0.0; 3])], true);
        assert_eq!(said[2], "All facts: 0.0 % with 2 heads as with 1 head, with every seed.");
    }

    /// A number around 0: normal, or with heavy tails, the ratio of a normal number and a root of three squares.
    fn drawn(rng: &mut ChaCha8Rng, is_heavy: bool) -> f64 {
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let x = normal();
        if !is_heavy {
            return x;
        }
        let squares: f64 = (0..3).map(|_| normal().powi(2)).sum();
        x / (squares / 3.0).sqrt()
    }

    /// Comparisons of equals, and of settings of which one differs: the share in which anything is concluded,
    /// and that in which the difference is found.
    fn concluded(shift: f64, seeds: usize) -> (f64, f64) {
        const MANY: usize = 2000;
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (mut any, mut found) = (0, 0);
        for case in 0..MANY {
            let (settings, kinds) = (2 + case % 7, case % 9);
            let (correlation, is_heavy) = ([0.0, 0.4, 0.8f64][case % 3], case % 2 == 1);
            let mut quantity = |shifted: bool| -> Vec<Vec<f64>> {
                let of_seed: Vec<f64> = (0..seeds).map(|_| drawn(&mut rng, is_heavy)).collect();
                let mut value = |setting: usize, seed: usize| {
                    let own = (1.0 - correlation).sqrt() * drawn(&mut rng, is_heavy);
                    let moved = if shifted && setting == 1 { shift } else { 0.0 };
                    correlation.sqrt() * of_seed[seed] + own + moved
                };
                (0..settings).map(|i| (0..seeds).map(|s| value(i, s)).collect()).collect()
            };
            let loss = quantity(true);
            let facts: Vec<_> =
                FactKind::ALL[..kinds.min(8)].iter().map(|kind| (*kind, quantity(false))).collect();
            let rows: Vec<Compared> = (0..settings)
                .map(|i| Compared {
                    loss: loss[i].clone(),
                    facts: facts.iter().map(|(kind, all)| (*kind, all[i].clone())).collect(),
                    ..Compared::default()
                })
                .collect();
            let rows: Vec<&Compared> = rows.iter().collect();
            let all = differences(&rows);
            any += usize::from(all.iter().any(Difference::counts));
            let is_it = |of: &&Difference| matches!(of.of, Quantity::Loss) && of.row == 1;
            found += usize::from(all.iter().find(is_it).is_some_and(Difference::counts));
        }
        (any as f64 / MANY as f64, found as f64 / MANY as f64)
    }

    /// Normal and heavy-tailed numbers, seeds correlated or not, two to eight settings, one to nine quantities.
    #[test]
    fn equals_are_told_apart_in_one_of_twenty_comparisons_at_most() {
        for seeds in [3, 5, 10] {
            let (any, _) = concluded(0.0, seeds);
            assert!(any <= 0.05, "{any} with {seeds} seeds");
        }
        let (_, found) = concluded(4.0, 10);
        assert!(found > 0.9, "{found}");
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
            conclude(&comparison, 8, diverged).1.iter().map(|found| found.to_string()).collect()
        };
        let lines = said(&[(heads(2), 1), (heads(8), 2)]);
        assert_eq!(lines[0], "With 2 heads 1 of 2 runs diverged: it is not compared.");
        assert_eq!(lines[1], "With 8 heads 2 of 2 runs diverged: it is not compared.");
        assert!(
            lines[3].contains("0.1500 nats with 4 heads, 0.4500 nats with 1 head"),
            "{lines:?}"
        );
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
        let (judged, said) = conclude(&comparison, 4, &[]);
        assert!(judged.len() == 1 && !judged[0].counts && judged[0].setting.is_empty());
        let said: Vec<_> = said.iter().map(|found| found.to_string()).collect();
        assert!(
            said[0].contains("each setting is compared with the first, seed by seed"),
            "{said:?}"
        );
        assert_eq!(
            said[1],
            "Validation loss: 0.3500 nats with lr 3e-3, 0.5500 nats with lr 1e-3: -0.2000 nats."
        );
    }
}
