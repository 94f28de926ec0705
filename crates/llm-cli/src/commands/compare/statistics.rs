//! Mean and spread over seeds, and what may be said about a difference.

use crate::lang::Bilingual;
use crate::report::{Compared, Comparison};

/// One quantity of one number of heads, over all seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub mean: f64,
    /// Sample standard deviation (n − 1); none of one seed.
    pub deviation: Option<f64>,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// `None` without values.
    pub(super) fn of(values: &[f64]) -> Option<Spread> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        Some(Spread {
            mean,
            deviation: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            low: values.iter().copied().reduce(f64::min)?,
            high: values.iter().copied().reduce(f64::max)?,
        })
    }

    /// The rule: two ranges over the seeds have nothing in common.
    fn is_apart_from(&self, other: &Spread) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// A quantity that is compared.
struct Quantity {
    name: Bilingual,
    unit: &'static str,
    scale: f64,
    decimals: usize,
    lower_is_better: bool,
    /// One for each number of heads.
    spreads: Vec<Spread>,
}

impl Quantity {
    /// `None` when some number of heads has no values of it.
    fn of(
        name: Bilingual,
        rows: &[Compared],
        values: impl Fn(&Compared) -> &[f64],
    ) -> Option<Quantity> {
        let spreads = rows.iter().map(|row| Spread::of(values(row))).collect::<Option<_>>()?;
        let (unit, scale, decimals, lower_is_better) = (" %", 100.0, 1, false);
        Some(Quantity { name, unit, scale, decimals, lower_is_better, spreads })
    }

    /// The place of the best mean, the first of equals, from `first` on.
    fn best(&self, first: usize) -> usize {
        let better = |a: f64, b: f64| if self.lower_is_better { a < b } else { a > b };
        let mut best = first;
        for (i, spread) in self.spreads.iter().enumerate().skip(first) {
            best = if better(spread.mean, self.spreads[best].mean) { i } else { best };
        }
        best
    }

    fn shown(&self, x: f64) -> String {
        format!("{:.*}{}", self.decimals, self.scale * x, self.unit)
    }

    /// Whether the best number of heads differs from the fewest, which is the first row.
    fn conclusion(&self, rows: &[Compared], seeds: usize) -> Bilingual {
        let best = self.best(0);
        let (fewest, top) = (&self.spreads[0], &self.spreads[best]);
        let (few, many) = (rows[0].n_heads, rows[best].n_heads);
        let (low, high) = (self.shown(fewest.mean), self.shown(top.mean));
        let Bilingual { en: name, zh } = &self.name;
        if self.spreads.iter().all(|s| s.low == fewest.high && s.high == fewest.low) {
            return Bilingual::new(
                format!("{name}: {low} with every number of heads and every seed."),
                format!("{zh}：不论几个头、哪个种子，都是 {low}。"),
            );
        }
        if best == 0 {
            let next = self.best(1.min(self.spreads.len() - 1));
            let (others, shown) = (rows[next].n_heads, self.shown(self.spreads[next].mean));
            let [en, zh_how] = match fewest.is_apart_from(&self.spreads[next]) {
                true => ["beyond", "超出"],
                false => ["within", "没有超出"],
            };
            return Bilingual::new(
                format!(
                    "{name}: no number of heads has a better mean than {}, {low}; the next, {} \
                     with {shown}, is {en} the spread of {seeds} seeds.",
                    heads(few),
                    heads(others)
                ),
                format!(
                    "{zh}：没有别的头数的均值好过 {few} 个头的 {low}；其次是 {others} 个头的 {shown}，差异\
                     {zh_how} {seeds} 个种子的波动范围。"
                ),
            );
        }
        if top.is_apart_from(fewest) {
            return Bilingual::new(
                format!(
                    "{name}: {high} with {} against {low} with {}, a difference beyond the spread \
                     of {seeds} seeds.",
                    heads(many),
                    heads(few)
                ),
                format!(
                    "{zh}：{many} 个头 {high}，{few} 个头 {low}，差异超出 {seeds} 个种子的波动范围。"
                ),
            );
        }
        Bilingual::new(
            format!(
                "{name}: no difference beyond the spread of {seeds} seeds ({high} with {}, {low} \
                 with {}).",
                heads(many),
                heads(few)
            ),
            format!(
                "{zh}：没有超出 {seeds} 个种子波动范围的差异（{many} 个头 {high}，{few} 个头 {low}）。"
            ),
        )
    }
}

/// What was measured, in words, and nothing beyond it. `planned` is the number of runs.
pub(super) fn conclude(comparison: &Comparison, planned: usize) -> Vec<Bilingual> {
    // The fewest heads first, in whatever order they were given.
    let mut rows = comparison.rows.clone();
    rows.sort_by_key(|row| row.n_heads);
    let done: usize = rows.iter().map(|row| row.loss.len()).sum();
    if !comparison.complete {
        return vec![Bilingual::new(
            format!("Incomplete: {done} of {planned} runs are done. Nothing is concluded."),
            format!("未完成：{planned} 次训练中完成了 {done} 次。不下结论。"),
        )];
    }
    let seeds = rows.first().map_or(0, |row| row.loss.len());
    if seeds < 2 {
        return vec![Bilingual::new(
            "One seed: nothing is known about the spread, so nothing is concluded.",
            "只有一个种子：不知道波动有多大，所以不下结论。",
        )];
    }
    let mut conclusion = vec![Bilingual::new(
        format!(
            "Rule: for each quantity, the number of heads with the best mean is compared with the \
             fewest heads (or, where these are the best, with the next); a difference counts when the two ranges over {seeds} seeds do not \
             overlap. The best is chosen after measuring, so chance has several tries."
        ),
        format!(
            "规则：对每个量，把均值最好的头数与最少的头数相比（如果最少的就是最好的，则与其次的相比）；只有当两者在 {seeds} 个种子上的取值范围\
             不重叠时，才算有差异。最好的头数是测量之后挑出来的，所以偶然性有不止一次机会。"
        ),
    )];
    let loss =
        Quantity::of(Bilingual::new("Validation loss", "验证损失"), &rows, |row| &row.loss);
    let loss = loss.map(|q| Quantity {
        unit: " nats",
        scale: 1.0,
        decimals: 4,
        lower_is_better: true,
        ..q
    });
    let all = Bilingual::new("All facts", "全部事实");
    let all = Quantity::of(all, &rows, |row| &row.facts_total);
    let kinds = rows.first().map_or(&[][..], |row| &row.facts);
    let kinds = kinds.iter().filter_map(|(kind, _)| {
        let name = Bilingual::new(format!("Facts of kind {kind}"), format!("“{kind}”类事实"));
        Quantity::of(name, &rows, |row| values_of(row, kind))
    });
    let all = loss.into_iter().chain(all).chain(kinds);
    conclusion.extend(all.map(|quantity| quantity.conclusion(&rows, seeds)));
    conclusion.push(Bilingual::new(
        "This was measured with these settings, this data and these seeds, and says nothing about \
         others.",
        "以上只是在这些设置、这些数据和这些种子下测得的，不说明其他情况。",
    ));
    conclusion
}

/// The shares right of a kind; empty when it did not occur.
pub(super) fn values_of<'a>(row: &'a Compared, kind: &str) -> &'a [f64] {
    row.facts.iter().find(|(name, _)| name == kind).map_or(&[], |(_, values)| values)
}

fn heads(n: usize) -> String {
    format!("{n} head{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n_heads: usize, loss: &[f64], spot: &[f64]) -> Compared {
        Compared {
            n_heads,
            loss: loss.to_vec(),
            facts_total: spot.to_vec(),
            facts: vec![("spot".into(), spot.to_vec())],
            ..Compared::default()
        }
    }

    fn english(rows: Vec<Compared>, complete: bool) -> Vec<String> {
        let comparison = Comparison { complete, rows, ..Comparison::default() };
        conclude(&comparison, 6).into_iter().map(|text| text.en).collect()
    }

    #[test]
    fn mean_and_spread_of_numbers_known_by_hand() {
        let spread = Spread::of(&[2.0, 4.0, 9.0]).unwrap();
        assert_eq!((spread.mean, spread.low, spread.high), (5.0, 2.0, 9.0));
        assert!((spread.deviation.unwrap() - 13f64.sqrt()).abs() < 1e-12); // (9 + 1 + 16) / 2
        assert_eq!(Spread::of(&[7.0]).unwrap().deviation, None);
        assert_eq!(Spread::of(&[]), None);
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
}
