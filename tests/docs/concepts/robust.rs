//! docs/concepts/why_several_heads_are_robust.md: what the table of pruned heads says.

use super::scaling::sums_of_four_signs;
use serde_json::Value;

/// A row of the table in docs/looking_inside.md.
#[derive(Clone, Debug)]
pub struct Pruned {
    pub head: String,
    /// Nats that the loss gains when it is switched off alone, and the facts then right, in percent.
    pub alone: f64,
    pub facts: f64,
    /// When it is switched off as the n-th: the loss gained by then, and the facts right.
    pub turn: usize,
    pub then: f64,
    pub facts_then: f64,
}

/// The table, and loss and facts of the whole model.
pub fn table() -> (Vec<Pruned>, [f64; 2]) {
    let measured: Value =
        serde_json::from_str(include_str!("../../../benches/measured.json")).unwrap();
    let inside = &measured["inside"];
    let rows = inside["prune"].as_array().unwrap().iter().map(|row| {
        let number = |i: usize| row[i].as_f64().unwrap();
        Pruned {
            head: row[0].as_str().map_or_else(|| format!("{:.1}", number(0)), String::from),
            alone: number(1),
            facts: number(2),
            turn: number(3) as usize,
            then: number(4),
            facts_then: number(5),
        }
    });
    let whole = &inside["whole"];
    (rows.collect(), [0, 1].map(|i| whole[i].as_f64().unwrap()))
}

/// Mean square error of the mean of n votes that are each off by +1 or -1.
pub fn error_of_votes() -> [f64; 2] {
    let all: u32 = sums_of_four_signs().iter().map(|(_, times)| times).sum();
    let four: f64 = sums_of_four_signs()
        .iter()
        .map(|&(sum, times)| (f64::from(sum) / 4.0).powi(2) * f64::from(times))
        .sum();
    [1.0, four / f64::from(all)]
}

/// A step, and the share of facts right then with each of five seeds, in percent.
pub type Measured = (f64, Vec<f64>);

/// What one head and four have learned by each step.
pub fn race() -> [Vec<Measured>; 2] {
    let measured: Value =
        serde_json::from_str(include_str!("../../../benches/measured.json")).unwrap();
    ["one", "four"].map(|which| {
        let rows = measured["race"][which].as_array().unwrap().iter();
        let row = |row: &Value| -> Measured {
            let numbers: Vec<f64> =
                row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            (numbers[0], numbers[1..].to_vec())
        };
        rows.map(row).collect()
    })
}
