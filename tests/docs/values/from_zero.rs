//! Values of the pages before attention: what the examples beside them compute.

use super::performance::measured;
use super::{Values, list, wide};
use crate::docs::concepts::{embedding, mlp, next, softmax};
use llm_core::model::parameter_shapes;
use llm_core::{Config, Tensor};

pub fn add(values: &mut Values) {
    next_letter(values);
    shares(values);
    rows(values);
    mlp_and_norm(values);
}

fn next_letter(values: &mut Values) {
    let (once, scores, losses) = next::learned().unwrap();
    let share = |scores: &Tensor| next::shares(scores).unwrap();
    let start = share(&next::nothing_known().unwrap());
    values.insert("next.even", list![1, 5, start.data()[0]]);
    let shares = [1.0, 0.5, 0.2, 0.1, 0.01f64];
    let of = |share: f64| if share == 1.0 { 0.0 } else { -share.ln() };
    values.insert("next.losses", shares.into_iter().chain(shares.map(of)).collect());
    values.insert("next.five", list![5, losses[0]]);
    values.insert("next.rate", vec![1.0]);
    let (new, new_share) = (&once.data()[..5], share(&once));
    let row = |i: usize| {
        let should = if i == 1 { 1.0 } else { 0.0 };
        list![start.data()[i], should, new[i], new_share.data()[i]]
    };
    let rows = (0..5).flat_map(row);
    values.insert("next.update", [0.0, 1.0].into_iter().chain(rows).collect());
    let again = -f64::from(new_share.data()[1]).ln();
    values.insert("next.once", vec![again, f64::from(losses[0])]);
    values.insert("next.passes", vec![next::PASSES as f64]);
    let at = [0, 1, 5, 20, next::PASSES];
    let curve = at.map(|pass| f64::from(losses[pass]));
    values.insert("next.curve", at.map(|pass| pass as f64).into_iter().chain(curve).collect());
    values.insert("next.counted", wide(&share(&scores).data()[1..4]));
    let of_a = next::pairs().iter().filter(|(letter, _)| *letter == 0).count() as f64;
    let all = next::pairs().len() as f64;
    values.insert("next.floor", vec![0.0, of_a / all * (0.5 * 2f64.ln() + 0.5 * 4f64.ln())]);
    values.insert("next.ex_given", vec![]);
    values.insert("next.ex", vec![f64::from(losses[0]), again]);
    let trained = measured()["readme"]["loss"].as_f64().unwrap();
    values.insert("next.ex_bytes_given", vec![256.0, 256f64.ln(), trained]);
    values.insert("next.ex_bytes", vec![256.0, 256f64.ln(), -trained, (-trained).exp()]);
}

fn shares(values: &mut Values) {
    const SCORES: [f32; 4] = softmax::SCORES;
    let of = |times| wide(softmax::shares(SCORES, times).unwrap().data());
    values.insert("soft.e", vec![1f64.exp()]);
    values.insert("soft.scores", wide(&SCORES));
    let as_they_are = of(1.0);
    let row = |i: usize| list![SCORES[i], SCORES[i].exp()].into_iter().chain([as_they_are[i]]);
    values.insert("soft.shares", (0..4).flat_map(row).collect());
    let sum: f32 = SCORES.iter().sum();
    values.insert("soft.sum", list![sum, -1, -1.0 / sum, 1, -1, 0]);
    let two = |scores| wide(softmax::shares(scores, 1.0).unwrap().data());
    let lead = two([0.0, 1.0]);
    values.insert("soft.lead", vec![1.0, lead[1] / lead[0]]);
    let moved = [[0.0, 1.0], [10.0, 11.0], [-3.0, -2.0]];
    let row = |scores: [f32; 2]| [wide(&scores), two(scores)].concat();
    values.insert("soft.moved", moved.into_iter().flat_map(row).collect());
    values.insert("soft.two", vec![2.0, 10.0, 2.0, 2f64.ln()]);
    let sharp = [0.25, 1.0, 4.0].into_iter().flat_map(of);
    values.insert("soft.sharp", wide(&SCORES).into_iter().chain(sharp).collect());
    values.insert("soft.ex_given", vec![2.0]);
    values.insert("soft.ex", vec![2f64.exp()]);
    values.insert("soft.ex_equal_given", vec![100.0]);
}

fn rows(values: &mut Values) {
    values.insert("embed.letters", list![0, 4]);
    let start = embedding::START;
    let row = |(i, row): (usize, [f32; 2])| [vec![i as f64], wide(&row)].concat();
    values.insert("embed.start", start.into_iter().enumerate().flat_map(row).collect());
    values.insert("embed.bad", list![1, 0, 3, 1, 0, 3, 1, 3, 3]);
    let table = |config: Config| parameter_shapes(&config)[0].1.iter().product::<usize>() as f64;
    let (v, c) = (50_257.0, 768.0);
    values.insert("embed.widths", vec![64.0, 2.0, c]);
    values.insert("embed.gpt2", vec![2.0, v, v * v, c]);
    let both = 2.0 * table(Config::gpt2(50_257, 1024, 768, 12));
    assert!(both < v * v / 30.0);
    values.insert("embed.factored", vec![both]);
    values.insert("embed.shape", list![2, 5]);
    let after = embedding::learned(embedding::PASSES).unwrap();
    let row = |i: usize| [wide(&start[i]), wide(&after.data()[2 * i..2 * i + 2])].concat();
    let passes = [embedding::PASSES as f64];
    values.insert("embed.learned", passes.into_iter().chain((0..5).flat_map(row)).collect());
    values.insert("embed.cosines", list![0, -1]);
    let before = embedding::learned(0).unwrap();
    let pairs = [[2, 3], [2, 4], [2, 1], [2, 0]];
    let both = |pair| [&before, &after].map(|wte| embedding::alike(wte, pair));
    values.insert("embed.alike", pairs.into_iter().flat_map(both).collect());
    values.insert("embed.ex_given", list![256, 64]);
    values.insert("embed.ex", vec![256.0, 64.0, table(Config::new(256, 8, 64, 1))]);
}

fn mlp_and_norm(values: &mut Values) {
    values.insert("mlp.cases", list![0, 1, 0, 1, 1, 0]);
    values.insert("mlp.never", list![0, 0, 1, 1]);
    values.insert("mlp.gelu", list![0]);
    let [hidden, act, y] = mlp::exactly_one().unwrap();
    // Those of the equation that stand by themselves.
    values.insert("mlp.weights", list![10, 0.1, 0.2]);
    let rounded = |x: &[f32]| wide(x).into_iter().map(|x| (1e5 * x).round() / 1e5 + 0.0).collect();
    let row = |i: usize| -> Vec<f64> {
        let two = |of: &Tensor| -> Vec<f64> { rounded(&of.data()[2 * i..2 * i + 2]) };
        let y: Vec<f64> = rounded(&y.data()[i..=i]);
        [wide(&mlp::CASES[i]), two(&hidden), two(&act), y].concat()
    };
    values.insert("mlp.table", (0..4).flat_map(row).collect());
    let sizes = Config::new(256, 8, 16, 1);
    let matrices = parameter_shapes(&sizes)
        .into_iter()
        .filter(|(name, shape)| name.starts_with("blocks.") && shape.len() == 2);
    let count = |mlp: bool| -> usize {
        let of_mlp = |name: &str| name.ends_with("w_fc") || name.ends_with("w_out");
        let some = matrices.clone().filter(|(name, _)| !mlp || of_mlp(name));
        some.map(|(_, shape)| shape.iter().product::<usize>()).sum::<usize>() / (16 * 16)
    };
    values.insert("mlp.share", vec![count(true) as f64, count(false) as f64]);
    values.insert("mlp.ex_given", vec![]);
    values.insert("mlp.ex", list![0.1, -0.1, 20, 10, 2, 1, 1]);
    values.insert("norm.growth", vec![4.0, 4f64.sqrt(), 100.0, 100f64.sqrt()]);
    let row = mlp::ROW;
    values.insert("norm.row", wide(&row));
    let mean = row.iter().sum::<f32>() / 4.0;
    let off = row.map(|x| x - mean);
    let squares = off.map(|x| x * x);
    let mean_square = squares.iter().sum::<f32>() / 4.0;
    let normed = wide(mlp::normed(1.0).unwrap().data());
    let steps = [wide(&row), list![4, mean], wide(&off), wide(&squares), list![4, mean_square]];
    values.insert("norm.steps", [steps.concat(), normed.clone()].concat());
    for (a, b) in wide(mlp::normed(10.0).unwrap().data()).iter().zip(&normed) {
        assert!((a - b).abs() < 1e-4);
    }
    values.insert("norm.same", wide(&row.map(|x| 10.0 * x)));
    values.insert("norm.ex_given", list![5, 5, 5, 5]);
    values.insert("norm.ex", list![0, 0, 0, 0, 0, 0]);
}
