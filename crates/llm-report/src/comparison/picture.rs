//! The comparison as a picture.

use crate::data::Comparison;
use crate::groups::{Groups, Panel, Series};

/// Loss by what differs, each seed a point; below it the facts by kind, where there are facts.
pub(super) fn svg(comparison: &Comparison) -> Result<String, String> {
    let names = comparison.rows.iter().map(|row| row.values.clone()).collect();
    let has_facts = comparison.rows.iter().any(|row| !row.facts.is_empty());
    let facts = has_facts.then(|| facts(comparison));
    Groups { differ_in: &comparison.differ_in, names }.svg(&losses(comparison), facts.as_ref())
}

fn losses(comparison: &Comparison) -> Panel {
    let values: Vec<_> = comparison.rows.iter().map(|row| row.loss.clone()).collect();
    let all = || values.iter().flatten().copied();
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    // A floor far below would make one point of all seeds.
    let floor = comparison.floor.filter(|floor| low - floor <= 3.0 * (high - low));
    let low = floor.map_or(low, |floor| low.min(floor));
    let margin = (0.1 * (high - low)).max(1e-4);
    Panel {
        y: "validation loss (nats per token)".into(),
        range: low - margin..high + margin,
        decimals: 4,
        series: vec![Series { label: "each seed, and the mean".into(), values }],
        floor: floor.map(|floor| (floor, format!("the stories' own entropy, {floor:.4}"))),
    }
}

fn facts(comparison: &Comparison) -> Panel {
    let kinds = comparison.rows.first().map_or(&[][..], |row| &row.facts);
    let percent = |shares: &[f64]| shares.iter().map(|x| 100.0 * x).collect();
    let series = kinds.iter().map(|(kind, _)| Series {
        label: kind.name().into(),
        values: comparison.rows.iter().map(|row| percent(row.facts_of(*kind))).collect(),
    });
    let series: Vec<_> = series.collect();
    let lowest = series.iter().flat_map(|s| s.values.iter().flatten().copied());
    let lowest = (lowest.fold(100.0, f64::min) / 10.0).floor() * 10.0;
    let y = "facts right, by kind (%)".into();
    Panel { y, range: lowest..102.0, decimals: 0, series, floor: None }
}
