//! Values of docs/concepts/cause.md: a patch by hand, and what heads of the default run carry.

use super::performance::{flatten, measured};
use super::{Values, list, wide};
use crate::docs::concepts::cause;
use crate::docs::examples::two_heads;
use llm_core::kernels::attention::probs;
use llm_core::kernels::gemm::matrix;
use serde_json::Value;

pub fn add(values: &mut Values) {
    by_hand(values);
    shares(values);
    along_the_run(values);
    who_has(values);
    let verdict = include_str!("../../../crates/llm-lens/src/verdict.rs");
    assert!(verdict.contains("named[1] <= 65") && llm_lens::statistics::RISK == 0.05);
    assert_eq!(llm_lens::FEWEST_PAIRS, 8);
    values.insert("cause.alarms", list![65]);
    values.insert("cause.risk", list![5]);
    values.insert("cause.below", list![0, 1]);
    values.insert("cause.years", list![2019, 2019, 2022, 2022, 2024, 2020]);
}

/// What stands under a key of the measurement.
fn of(key: &str) -> Value {
    measured()["causes"][key].clone()
}

fn rows(key: &str) -> Vec<Vec<f64>> {
    let numbers = |row: &Value| {
        let mut numbers = Vec::new();
        flatten(row, &mut numbers);
        numbers
    };
    of(key).as_array().unwrap().iter().map(numbers).collect()
}

fn by_hand(values: &mut Values) {
    let [story, twin] = cause::texts().map(|text| cause::heads(&text).unwrap());
    values.insert("cause.values", list![0, 1, 1, 0, 0, 0, 10, 10, 0, 1]);
    let qkv = two_heads();
    let weight = |h: usize| {
        let part = |from: usize| -> Vec<f32> {
            (0..3).flat_map(|t| &qkv.data()[12 * t + from + 2 * h..][..2]).copied().collect()
        };
        let (q, k) = (part(0), part(4));
        probs(matrix(&q, 3, 2), matrix(&k, 3, 2), 0.5f32.sqrt())[6]
    };
    let given = [wide(&[weight(0), weight(1)]), wide(&story), wide(&twin)];
    values.insert("cause.given", [list![0, 1], given.concat()].concat());
    let line = |heads: &cause::Given| {
        let [a, b, c, d] = *heads;
        list![a, c, b, d, cause::d(heads)]
    };
    values.insert("cause.ends", [line(&story), line(&twin)].concat());
    let patched = |h: usize| cause::patched(&story, &twin, h);
    let put_in = [1, 0].map(|h: usize| [vec![h as f64], line(&patched(h))].concat()).concat();
    values.insert("cause.put_in", put_in);
    let [whole, other] = [&story, &twin].map(cause::d);
    let share = |h: usize| {
        let d = cause::d(&patched(h));
        let [put_in, taken_out] = cause::shares(&story, &twin, h);
        assert!((put_in - taken_out).abs() < 1e-6);
        list![h as u32, whole, d.abs(), whole, other.abs(), put_in]
    };
    values.insert("cause.shares", [share(1), share(0)].concat());
    let percent = [1, 0].map(|h| f64::from(100.0 * cause::shares(&story, &twin, h)[0]).round());
    values.insert("cause.looks", percent.to_vec());
    values.insert("cause.off", list![1, cause::d(&cause::patched(&story, &[0.0; 4], 1))]);

    // Head 0's values ten times as long.
    let longer = |heads: &cause::Given| [10.0 * heads[0], 10.0 * heads[1], heads[2], heads[3]];
    let [long, long_twin] = [&story, &twin].map(longer);
    let way = |h: usize| cause::d(&long) - cause::d(&cause::patched(&long, &long_twin, h));
    let before = whole - cause::d(&patched(0));
    values.insert("cause.ex_given", list![3, 0, 10, 0, 0, 10]);
    values.insert("cause.ex", list![0, way(0), before, 1, way(1)]);
    let line =
        |h: usize| list![h as u32, way(h), way(0), way(1), cause::shares(&long, &long_twin, h)[0]];
    values.insert("cause.ex_shares", [line(0), line(1)].concat());
}

fn shares(values: &mut Values) {
    let heads = |layer: f64| [0.0, 0.1, 0.2, 0.3].map(|head| layer + head).to_vec();
    let pairs = rows("pairs");
    // Of other-person, the seventh kind, all pairs are right in every seed.
    assert!(pairs.iter().all(|row| row[6] == pairs[0][6]));
    values.insert("cause.pairs", vec![pairs[0][6]]);
    let end = rows("end");
    assert!(
        end.iter().all(|row| row[1..5].iter().any(|share| share.abs() < 0.05) && row[5] == 1.0)
    );
    values.insert("cause.end", [heads(1.0), list![1, 1], end.concat()].concat());
    values.insert("cause.agree", vec![of("agree").as_f64().unwrap(), 1.0]);
    let everywhere = rows("everywhere").into_iter().flat_map(|row| {
        assert!(row[1..5].iter().sum::<f64>() < row[5], "{row:?}");
        let (table, carry) = row.split_at(7);
        let first = carry.iter().copied().filter(|head| *head < 1.0);
        table.iter().copied().chain(first).collect::<Vec<_>>()
    });
    let header = [heads(0.0), list![0, 0, 0]].concat();
    values.insert("cause.everywhere", header.into_iter().chain(everywhere).collect());
    values.insert("cause.paths", [rows("receivers").concat(), rows("paths").concat()].concat());
    let kinds = rows("kinds");
    values.insert("cause.kinds", [heads(1.0), kinds.concat()].concat());
    values.insert("cause.jobs", vec![1.0, 1.1, 1.2, 1.0]);
    values.insert("cause.prune", rows("off").concat());

    // The table of docs/looking_inside.md, seed 1: heads, all heads and the MLP of a layer.
    let (last, all) = (&end[0], &rows("everywhere")[0]);
    let line = |name: f64, at_the_end: f64, everywhere: f64| vec![name, at_the_end, everywhere];
    let first =
        (0..6).flat_map(|i| line(if i < 4 { i as f64 / 10.0 } else { 0.0 }, 0.0, all[1 + i]));
    let second = (0..6).flat_map(|i| {
        line(if i < 4 { 1.0 + i as f64 / 10.0 } else { 1.0 }, last[1 + i], last[1 + i])
    });
    values.insert("inside.patch", first.chain(second).collect());
    values.insert("inside.section", list![4]);
}

fn along_the_run(values: &mut Values) {
    let moments = cause::moments();
    let shown = [67.0, 134.0, 268.0, 402.0, 800.0];
    let rows = moments.iter().filter(|row| shown.contains(&row[0]));
    let three = |row: &[f64; 9]| [vec![row[0]], row[1..4].to_vec(), row[5..8].to_vec()].concat();
    let header = vec![1.0, 1.1, 1.2, 1.0, 1.1, 1.2];
    values.insert("cause.moments", header.into_iter().chain(rows.flat_map(three)).collect());
    let most = moments.iter().map(|row| row[5]).fold(0.0, f64::max);
    values.insert("cause.early", vec![268.0, 1.0, most]);
}

fn who_has(values: &mut Values) {
    let said = of("who_said");
    let said = said.as_array().unwrap();
    let find = |name: &str| -> [f64; 2] {
        let row = said.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name}"));
        [1, 2].map(|i| row[i].as_f64().unwrap())
    };
    let whole = find("right, all")[0];
    assert!((65.0..75.0).contains(&whole));
    values.insert("cause.seventy", list![70]);
    // The heads of who-has are those of other-person, with shares that are alike.
    for (who, other) in rows("who").iter().zip(rows("end")) {
        assert!(who[2..6].iter().zip(&other[1..5]).all(|(a, b)| (a - b).abs() < 0.15));
    }
    let follows = rows("follows");
    values.insert("cause.asked", vec![follows[0][1]]);
    let row = |row: &Vec<f64>| {
        assert!(row[1] == follows[0][1] && row[2] + row[3] + row[4] == row[1]);
        [&row[..1], &row[2..5]].concat()
    };
    values.insert("cause.follows", follows.iter().flat_map(row).collect());
    let states = ["one person has both", "one of two is hidden", "each has one"];
    let of_state = |state: &&str| {
        [vec![find(&format!("are, {state}"))[0]], find(&format!("right, {state}")).to_vec()]
            .concat()
    };
    values.insert("cause.states", states.iter().flat_map(of_state).collect());
    let [both, hidden, each] = states.map(|state| find(&format!("are, {state}"))[0]);
    let (last, not_last) =
        (find("right, the answer is named last"), find("right, the answer is not named last"));
    let border = both + hidden + each / 2.0;
    let ways = vec![both, hidden, each, 2.0, border];
    values.insert("cause.border", [last.to_vec(), not_last.to_vec(), ways].concat());
    let who = |key: &str| {
        let mut numbers = Vec::new();
        flatten(&measured()["who_has"][key], &mut numbers);
        numbers
    };
    let (least, most) = who("long")
        .into_iter()
        .fold((f64::MAX, 0.0), |(least, most), x| (x.min(least), x.max(most)));
    let line = vec![1.0, who("three")[0], 1600.0, who("twice")[0], 2400.0, least, most];
    values.insert("cause.mends", line);
}
