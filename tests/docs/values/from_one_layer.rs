//! Values of the pages on the residual stream and on overfitting: examples that are computed, and what training decided.

use super::performance::{flatten, measured};
use super::{Values, list};
use crate::docs::concepts::{overfitting, residual};
use llm_core::Config;
use llm_stories::{FactKind, Predictors, StoryCorpus};
use workspace_tests::baseline;

pub fn add(values: &mut Values) {
    stream(values);
    layers(values);
    by_heart(values);
    windows(values);
    race(values);
}

fn numbers(section: &str, key: &str) -> Vec<f64> {
    let mut numbers = Vec::new();
    flatten(&measured()[section][key], &mut numbers);
    assert!(!numbers.is_empty(), "{section}.{key}");
    numbers
}

fn stream(values: &mut Values) {
    let rounded = |x: f32| f64::from((1e3 * x).round() / 1e3 + 0.0);
    let found = residual::read(residual::TEXTS[0]).unwrap();
    let row = |i: usize| -> Vec<f64> {
        found.x[2].data()[6 * i..6 * i + 6].iter().map(|&x| rounded(x)).collect()
    };
    values.insert("stream.sizes", list![1, 0, 0, 1]);
    let rows = (0..6).flat_map(|i| row(i)[..if i == 5 { 6 } else { 4 }].to_vec());
    values.insert("stream.rows", [0.0, 1.0].into_iter().chain(rows).collect());
    values.insert("stream.asks", [vec![1.0], row(5)[..2].to_vec()].concat());
    let scores = |text| -> Vec<f64> {
        let found = residual::read(text).unwrap();
        found.scores.data()[30..].iter().map(|&x| rounded(x)).collect()
    };
    values.insert("stream.scores", scores(residual::TEXTS[0]));
    values.insert(
        "stream.share",
        [vec![found.p[1].data()[32].into()], row(2)[..2].to_vec()].concat(),
    );
    values.insert("stream.texts", list![1, 2, 3, 4]);
    values.insert("stream.same", list![1, 4, 2, 3]);
    assert_eq!(residual::answer("·abcdc"), 'd');
    let [c, zero] = residual::code('c').map(f64::from);
    values.insert("stream.ex", [vec![c, zero], scores("·abcdc")].concat());
}

/// What training decides.
fn layers(values: &mut Values) {
    let rows = numbers("layers", "off");
    let head = [1.0, 1.1, 1.2, 1.3];
    let of = |i: usize, heads_off: &[f64]| [heads_off, &rows[7 * i + 1..7 * i + 7]].concat();
    let layer = [0.0, 0.1, 0.2, 0.3];
    let one = (0..4).flat_map(|i| of(i + 1, &layer[i..=i]));
    let table = of(0, &[]).into_iter().chain(one).chain(of(5, &[]));
    values.insert("stream.off", [0.0].into_iter().chain(head).chain(table).collect());
    let even = *numbers("inside", "even").last().unwrap();
    values.insert("stream.blind", vec![1.0, 1.2, rows[7 * 5 + 3], rows[3], even, 0.0]);
    values.insert("stream.shared", vec![0.0, 0.2, 0.3, 1.2]);
    let parameters =
        |layers, width| baseline(&Config::new(256, 256, width, layers)).parameter_count() as f64;
    values.insert("stream.wide", vec![800.0, parameters(1, 92), parameters(2, 64)]);
    let measured = measured();
    let kinds = ["thing", "other-item", "other-person", "all"];
    let row = |kind: &str| -> Vec<f64> {
        let of = |model: &str| {
            let rows = measured["layers"][model].as_array().unwrap();
            let row = rows.iter().find(|row| row[0] == kind).unwrap();
            row.as_array().unwrap()[1..].iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>()
        };
        ["one", "one_wide", "two"].map(of).concat()
    };
    values.insert("stream.kinds", [vec![92.0], kinds.map(row).concat()].concat());
    let long = measured["layers"]["one_long"].as_array().unwrap();
    let long = |kind: &str| long.iter().find(|row| row[0] == kind).unwrap()[1].as_f64().unwrap();
    values.insert("stream.long", vec![long("other-person"), long("thing")]);
}

fn by_heart(values: &mut Values) {
    let curve = overfitting::curve();
    let best = overfitting::best();
    let at = [0, 1, best, 5, 20, overfitting::PASSES];
    let of = |which: usize| at.map(|pass| curve[pass][which]).to_vec();
    values.insert("over.curve", [at.map(|n| n as f64).to_vec(), of(0), of(1)].concat());
    let best = [vec![best as f64], curve[best].to_vec()].concat();
    let last = curve[overfitting::PASSES];
    values.insert("over.best", best);
    assert!(last[1] > curve[0][1]);
    let [exact, some] = [0.0, 1.0].map(overfitting::counted);
    values.insert("over.exact", vec![exact[0], 0.0]);
    values.insert("over.some", vec![1.0, some[0], some[1]]);
    values.insert("over.ex_given", vec![]);
    values.insert("over.ex", list![1, 9, 4, 5, 1]);
}

fn windows(values: &mut Values) {
    let [whole, first, later] = numbers("windows", "learned")[..] else { panic!("three losses") };
    let [alone, unseen] = numbers("windows", "alone")[..] else { panic!("two losses") };
    let reported = numbers("windows", "reported");
    let [open_first, open_later, open_all, share] = overfitting::left_open();
    let (first_share, later_share) = (100.0 * (1.0 - share), 100.0 * share);
    values.insert("over.picture", vec![numbers("readme", "loss")[0], reported[0], reported[1]]);
    let (learned, steps, batch) = (18_000.0, 800.0, 8.0);
    assert!(steps * batch < learned / 2.0);
    values.insert("over.alone_all", vec![alone, unseen, learned, steps, batch]);
    values.insert("over.window", list![256]);
    values.insert("over.perfect", vec![open_all, open_first]);
    values.insert("over.way", vec![reported[1], unseen]);
    values.insert(
        "over.windows",
        vec![
            first_share,
            first,
            open_first,
            later_share,
            later,
            open_later,
            100.0,
            whole,
            open_all,
        ],
    );
    values.insert("over.causes", vec![whole - alone, reported[1] - whole, 0.0, alone - unseen]);
    values.insert("over.ex_window_given", vec![later_share, later, first]);
    values.insert(
        "over.ex_window",
        vec![later_share / 100.0, later - first, share * (later - first)],
    );
}
fn race(values: &mut Values) {
    let [one, four] = ["one", "four"].map(|which| numbers("race", which));
    let row = |of: &[f64], step: f64| -> Vec<f64> {
        let row = of.chunks_exact(6).find(|row| row[0] == step).unwrap();
        row[1..].to_vec()
    };
    let summary = |shares: Vec<f64>| {
        let (least, most) = (shares.iter().copied(), shares.iter().copied());
        let mean = shares.iter().sum::<f64>() / 5.0;
        vec![mean, least.fold(f64::MAX, f64::min), most.fold(0.0, f64::max)]
    };
    let leads = |step: f64| {
        let pairs = row(&one, step).into_iter().zip(row(&four, step));
        pairs.filter(|(one, four)| one > four).count() as f64
    };
    let table = [50.0, 100.0, 150.0, 200.0, 250.0, 400.0, 500.0, 600.0, 800.0];
    let line = |step: f64| {
        [vec![step], summary(row(&one, step)), summary(row(&four, step)), vec![leads(step)]]
            .concat()
    };
    values.insert("race.table", table.map(line).concat());
    let unseen = StoryCorpus::new(1, 18_000..20_000);
    let guessed = Predictors::learn(&StoryCorpus::new(1, 0..18_000).stories).score(&unseen.stories);
    let percent = |of: u64, all: u64| 100.0 * of as f64 / all as f64;
    let row = |kind: &FactKind| {
        let tally = guessed[kind];
        [tally.most_frequent, tally.last_mentioned].map(|of| percent(of, tally.facts))
    };
    values.insert("race.guessed", FactKind::ALL.iter().flat_map(row).collect());
    let always = FactKind::ALL.iter().filter(|kind| kind.is_last_mentioned());
    let always = always.map(|kind| row(kind)[1]).collect::<Vec<_>>();
    assert_eq!(always, [100.0, 100.0]);
    values.insert("race.always", vec![100.0]);
    values.insert("race.early", list![150, 64, 16, 250]);
    values.insert("race.coin", list![70, 50]);
    let holder = row(&FactKind::Holder)[1];
    let who = |key| numbers("who_has", key);
    let near = who("near");
    values.insert("race.who_now", vec![near[0], holder, near[1]]);
    values.insert("race.who_forms", who("forms"));
    values.insert(
        "race.who_mends",
        [
            [who("two"), who("three"), vec![1600.0], who("twice")].concat(),
            [vec![2400.0], who("long"), vec![2400.0], who("three_long")].concat(),
        ]
        .concat(),
    );
    values.insert("race.who_tokens", who("tokens"));
}
