//! Values of docs/concepts/rewards.md: a world of two tokens by hand.

use super::performance::{flatten, measured};
use super::{Values, list};
use crate::docs::concepts::rewards::{self, GROUP, HIGHER, chances, direction, group, groups};
use llm_run::rewards::advantages;

pub fn add(values: &mut Values) {
    let p = rewards::shares(&[0.0, 3f64.ln()]);
    let [a, b] = [0, 1].map(|answer| direction(&[answer], &[1.0]).unwrap());
    let exact = vec![p[0] * p[1], -p[0] * p[1]];
    values.insert("rewards.world", [p.clone(), list![1, 0], exact.clone()].concat());
    values.insert("rewards.share", vec![0.0, 3.0, p[0], 1.0]);
    values.insert("rewards.year", list![1992]);
    let ask = [a.clone(), b.clone(), vec![p[0], 1.0], a.clone(), vec![p[1], 0.0], b, exact];
    values.insert("rewards.sampled", ask.concat());

    let (answers, given) = group(1, 0.0);
    let mean = given.iter().sum::<f64>() / GROUP as f64;
    let above = advantages(&given, GROUP, false);
    let there = direction(&answers, &above).unwrap();
    let moved = rewards::shares(&[there[0], 3f64.ln() + there[1]])[0];
    let by_hand = [given.clone(), vec![mean], above, there, vec![1.0, p[0], moved]];
    values.insert("rewards.group", by_hand.concat());

    let table = groups().into_iter().zip(chances()).enumerate();
    let row = |(k, (of, chance)): (usize, ([f64; 3], f64))| {
        [vec![k as f64, 100.0 * chance], of.to_vec()].concat()
    };
    let heads = vec![1.0, 0.0, 1.0 + HIGHER, HIGHER];
    values.insert("rewards.groups", heads.into_iter().chain(table.flat_map(row)).collect());
    let moment = |which: usize| {
        let mean: f64 = groups().iter().zip(chances()).map(|(of, c)| of[which] * c).sum();
        let squares: f64 =
            groups().iter().zip(chances()).map(|(of, c)| (of[which] - mean).powi(2) * c).sum();
        [mean, squares.sqrt()]
    };
    let all = [0, 1, 2].map(moment);
    let kinds = [list![1, 0], vec![1.0 + HIGHER, HIGHER], vec![]];
    let rows = kinds.into_iter().zip(all).flat_map(|(kind, of)| [kind, of.to_vec()].concat());
    values.insert("rewards.moments", rows.collect());
    values.insert("rewards.higher", vec![1.0, 0.0, HIGHER]);
    let scaled = |right: usize, n: usize| {
        let rewards: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < right))).collect();
        [advantages(&rewards, n, false)[0], advantages(&rewards, n, true)[0]]
    };
    let rows = [1, 4, 7]
        .into_iter()
        .flat_map(|k| [vec![f64::from(k)], scaled(k as usize, 8).to_vec()].concat());
    values.insert("rewards.scaled", rows.collect());
    values.insert("rewards.eight", list![8]);
    scene(values);
}

/// A base that has begun to add, and what rewards make of it.
fn scene(values: &mut Values) {
    values.insert("rewards.scene", list![10_000, 100, 9_000, 160, 32, 1_000]);
    let mut all = Vec::new();
    flatten(&measured()["rewards"]["right"], &mut all);
    let mut hack = Vec::new();
    flatten(&measured()["rewards"]["hack"], &mut hack);
    let [low, high, right, wrong, exact] = hack[..] else { panic!() };
    assert!(high > low && wrong < right && right < exact);
    let rows = vec![600.0, low, high, 1_000.0, right, wrong, right, exact];
    values.insert("rewards.hack", rows);
    let [before, after @ .., text] = &all[..] else { panic!() };
    let of = [list![160], vec![*before], list![1, 5], after.to_vec(), list![300], vec![*text]];
    values.insert("rewards.seeds", [list![1_000], of.concat()].concat());
}
