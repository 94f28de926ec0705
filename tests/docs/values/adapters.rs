//! Values of docs/concepts/adapters.md: a pair by hand, and a story model that learns another name.

use super::performance::{flatten, measured};
use super::{Values, list};
use crate::docs::concepts::adapters::{self, A, B, DY, RATE, READ, SCALE, UNSEEN};
use crate::docs::concepts::{rows as table, wide};
use llm_core::ops;

pub fn add(values: &mut Values) {
    products(values);
    learning(values);
    what_it_learned(values);
    what_it_lost(values);
    where_it_went(values);
    values.insert("adapters.years", list![2021, 2021, 2024]);
}

fn products(values: &mut Values) {
    let w = wide(&adapters::w());
    let [one, two] = adapters::products().unwrap().map(|of| of.map(|of| wide(&of)));
    let row = |m: &[f64], i: usize| m[3 * i..3 * i + 3].to_vec();
    let [a, b, ab] = &one;
    let beside = (0..3)
        .flat_map(|i| [row(&w, i), vec![a[i]], if i == 1 { b.clone() } else { vec![] }].concat());
    let below = (0..3).flat_map(|i| [vec![a[i]], b.clone(), row(ab, i)].concat());
    values.insert("adapters.product", beside.chain(below).collect());

    let model = adapters::model(B).unwrap();
    let merged = wide(&adapters::matrix(&model.merged()));
    let change: Vec<f64> = merged.iter().zip(&w).map(|(m, w)| m - w).collect();
    assert!(change.iter().zip(ab).all(|(c, ab)| *c == f64::from(SCALE) * ab));
    let sum = (0..3).flat_map(|i| [row(&change, i), row(&merged, i)].concat());
    values.insert("adapters.sum", sum.collect());

    let x = super::wide(&READ);
    let times =
        |m: &[f64]| (0..3).map(|j| (0..3).map(|i| x[i] * m[3 * i + j]).sum()).collect::<Vec<f64>>();
    let asked: f64 = x.iter().zip(a).map(|(x, a)| x * a).sum();
    let answered: Vec<f64> = b.iter().map(|b| f64::from(SCALE) * asked * b).collect();
    let y = super::wide(&adapters::learned(READ, B).unwrap()[0]);
    assert_eq!(y, times(&merged));
    let question = (0..3).flat_map(|i| [x[i], a[i]]).chain([asked]);
    let ways = [x.clone(), times(&w), question.collect(), vec![asked], answered, y.clone(), y];
    values.insert("adapters.ways", ways.concat());
    let unseen = adapters::learned(UNSEEN, B).unwrap();
    let of_w = ops::matmul2d(&table([UNSEEN]), &adapters::w()).unwrap();
    assert_eq!(unseen[0], of_w.data());

    let [a, b, ab] = &two;
    let second = (0..3).flat_map(|i| {
        let b = if i > 0 { row(b, i - 1) } else { vec![] };
        [a[2 * i..2 * i + 2].to_vec(), b, row(ab, i)].concat()
    });
    values.insert("adapters.two", second.collect());
    let (inputs, outputs) = (64, 192);
    let numbers = |rank: u32| list![rank, rank * (inputs + outputs)];
    values.insert("adapters.shape", list![1, inputs, outputs]);
    let as_many = inputs * outputs / (inputs + outputs);
    assert_eq!(as_many * (inputs + outputs), inputs * outputs);
    let all = [1, 2, 4, 8, as_many].map(numbers).concat();
    values.insert("adapters.counts", [all, list![inputs * outputs]].concat());
}

fn learning(values: &mut Values) {
    let s = f64::from(SCALE);
    let [x, dy] = [READ, DY].map(|of| super::wide(&of));
    let asked: f64 = x.iter().zip(A).map(|(x, a)| x * f64::from(a)).sum();
    let of = |b: [f32; 3]| adapters::learned(READ, b).unwrap().map(|of| super::wide(&of));
    let [_, da, db] = of([0.0; 3]);
    let moved = db.iter().map(|db| -f64::from(RATE) * db).collect::<Vec<_>>();
    let back: f64 = dy.iter().zip(&moved).map(|(dy, b)| dy * b).sum();
    let [_, da_then, _] = of(std::array::from_fn(|i| moved[i] as f32));
    let zero = vec![0.0; 3];
    let first = [
        list![1],
        zero.clone(),
        [vec![s, asked], dy.clone(), db.clone()].concat(),
        list![0],
        [vec![s, 0.0], x.clone(), da].concat(),
    ];
    let second = [
        list![2],
        [zero, vec![f64::from(RATE)], db, moved.clone()].concat(),
        vec![dy[0], moved[0], -dy[1], moved[1], back],
        [vec![s, back], x, da_then].concat(),
    ];
    values.insert("adapters.start", [first.concat(), second.concat()].concat());
    let ranks = [1.0, 2.0, 4.0, 8.0];
    let scales = ranks.map(|r| 8.0 / r).to_vec();
    values.insert("adapters.alpha", [ranks.to_vec(), list![8], scales, vec![s; 4]].concat());
}

/// Rows of numbers of the measurement; without those that are names.
fn rows(key: &str) -> Vec<Vec<f64>> {
    let numbers = |row: &serde_json::Value| {
        let mut numbers = Vec::new();
        flatten(row, &mut numbers);
        numbers
    };
    measured()["adapters"][key].as_array().unwrap().iter().map(numbers).collect()
}

fn before() -> [f64; 4] {
    rows("before").concat().try_into().unwrap()
}

fn what_it_learned(values: &mut Values) {
    let ([new, known, old, _], rows) = (before(), rows("rows"));
    values.insert("adapters.task", list![800]);
    values.insert("adapters.stories", list![800]);
    values.insert("adapters.steps", list![100, 8]);
    values.insert("adapters.rate", list![1, -1, 0, RATE]);
    values.insert(
        "adapters.ex_half",
        vec![1.0, 2.0, 1.0, 1.0, -1.0, 0.0, 2.0, 1.0, 2.0, -2.0, 0.0, 1.0, 0.5],
    );
    // All weights come last; they have no rank.
    let of = |row: &Vec<f64>| row[usize::from(row[0] == 0.0)..7].to_vec();
    let table = rows.iter().flat_map(of);
    values.insert("adapters.rows", [0.0, new, old].into_iter().chain(table).collect());
    let [one, all] = [&rows[0], &rows[4]];
    let share = (new - one[3]) / (new - all[3]);
    assert!((0.99..1.0).contains(&share));
    values.insert(
        "adapters.way",
        [vec![1.0, new, all[3], one[3]], vec![100.0 * share, 100.0 * one[1] / all[1], known]]
            .concat(),
    );
    let letter = rows
        .iter()
        .flat_map(|row| [&row[..usize::from(row[0] > 0.0)], &row[3..5], &row[11..]].concat());
    values.insert("adapters.letter", letter.collect());
    assert!(
        rows[..4].iter().all(|row| row[11] - row[3] > 0.04) && rows[4][11] - rows[4][3] < 0.003
    );
    assert!((rows[1][11] - rows[3][11]).abs() < rows[1][12] + rows[3][12]);
    // Rank 4 and rank 8 are alike, all others further apart than their spreads.
    let apart = |i: usize| (rows[i][3] - rows[i + 1][3]).abs() > rows[i][4] + rows[i + 1][4];
    assert_eq!([0, 1, 2, 3].map(apart), [true, true, false, true]);
    values.insert("adapters.alike", list![4, 8]);
    let held = self::rows("held");
    values.insert("adapters.held", [list![1, 2, 4, 8], with_names(&held)].concat());
    let first = held.iter().map(|row| row[0]);
    let eight = held.iter().map(|row| row[3]);
    let [least, most] = [f64::min, f64::max].map(|f| first.clone().reduce(f).unwrap());
    let [least_of_8, most_of_8] = [f64::min, f64::max].map(|f| eight.clone().reduce(f).unwrap());
    values.insert("adapters.directions", vec![least, most, 8.0, least_of_8, most_of_8]);
}

/// Rows whose names, `blocks.0.w_fc`, have a number in them.
fn with_names(rows: &[Vec<f64>]) -> Vec<f64> {
    let layer = |i: usize| if i < rows.len() / 2 { 0.0 } else { 1.0 };
    rows.iter().enumerate().flat_map(|(i, row)| [vec![layer(i)], row.clone()].concat()).collect()
}

fn what_it_lost(values: &mut Values) {
    let ([_, _, old, _], rates, rows) = (before(), rows("rates"), rows("rows"));
    let of = |rank: f64| rates.iter().filter(move |row| row[0] == rank);
    let ranks = [1.0, 2.0, 4.0, 8.0];
    let header = of(1.0).map(|row| row[1]).collect::<Vec<_>>();
    for rank in ranks {
        assert!(of(rank).map(|row| row[1]).eq(header.iter().copied()));
    }
    // The column of all weights is for a tenth of its rate.
    assert!(of(0.0).zip(&header).all(|(row, rate)| (10.0 * row[1] - rate).abs() < 1e-9));
    let line = |rank: f64| {
        let cells = of(rank).flat_map(|row| row[2..].to_vec());
        (rank > 0.0).then_some(rank).into_iter().chain(cells).collect::<Vec<_>>()
    };
    let table = ranks.iter().flat_map(|rank| line(*rank)).chain(line(0.0));
    values.insert("adapters.rates", header.iter().copied().chain(table).collect());
    let at = |rank: f64, rate: f64| of(rank).find(|row| row[1] == rate).unwrap()[2..].to_vec();
    values.insert(
        "adapters.slow",
        vec![0.002, 1.0, at(1.0, 0.002)[0], 8.0, at(8.0, 0.002)[0], SCALE.into()],
    );
    assert!(rows.windows(2).all(|two| two[1][2] <= two[0][2]));
    values
        .insert("adapters.best", rows[..4].iter().map(|row| row[2]).chain([rows[4][2]]).collect());
    assert!(at(8.0, 0.08)[0] > 2.0);
    values.insert("adapters.breaks", vec![8.0, 0.08, 0.91]);
    let mixed =
        rows.iter().flat_map(|row| [&row[..usize::from(row[0] > 0.0)], &row[7..11]].concat());
    values.insert("adapters.mixed", mixed.collect());
    let came_back = rows.iter().map(|row| (row[5] - row[9]) / (row[5] - old));
    let least = came_back.reduce(f64::min).unwrap();
    assert!(least >= 0.95, "{least}");
    values.insert("adapters.comes_back", list![95]);
    values.insert("adapters.lost", vec![old, rows[0][5], rows[4][5]]);
    let less = (rows[4][5] - rows[3][5]) / (rows[4][5] - old);
    assert!((0.15..0.25).contains(&less), "{less}");
    values.insert("adapters.fifth", vec![8.0, rows[3][5], rows[4][5]]);
    values.insert("adapters.earlier", [vec![1.0, 0.002], at(1.0, 0.002)].concat());
    assert!(rates.iter().all(|row| row[3] > old + 0.03));
    let carried = self::rows("carried");
    let scores = carried[1..].iter().map(|row| row[6]);
    let [least, most] = [f64::min, f64::max].map(|f| scores.clone().reduce(f).unwrap());
    values.insert("adapters.says", vec![-carried[0][5], least, most]);
}

fn where_it_went(values: &mut Values) {
    let moved = rows("moved");
    values.insert("adapters.moved", [list![1, 2, 4, 8], with_names(&moved)].concat());
    assert!(moved.iter().all(|row| row[..4].iter().all(|share| *share > row[4])));
    let looked = measured()["adapters"]["looked"].as_f64().unwrap();
    values.insert("adapters.looked", vec![looked]);
    let carried = rows("carried");
    let heads = vec![1.0, 1.1, 1.2, 1.3];
    let before = carried[0][..4].to_vec();
    let learned = carried[1..].iter().flat_map(|row| {
        let (mean, spread) = (&row[1..5], &row[7..11]);
        let rank = (row[0] > 0.0).then_some(row[0]);
        let both = mean.iter().zip(spread).flat_map(|(m, s)| [*m, *s]);
        rank.into_iter().chain(both).collect::<Vec<_>>()
    });
    values.insert("adapters.carried", heads.into_iter().chain(before).chain(learned).collect());
    values.insert("adapters.same_two", vec![1.1, 1.2, 1.2]);
}
