//! Values of docs/variants/modern/rotary_positions.md.

use super::whole;
use crate::docs::values::head::close;
use crate::docs::values::{Values, list, wide};
use llm_core::kernels::rotary::{Angles, Turned, turn};
use llm_core::model::{Positions, SingleHead, parameter_list};
use llm_core::{Attention, Config, Result, TinyGPT};
use llm_variant_modern::Modern;
use std::f64::consts::TAU;
use std::sync::Arc;

/// The θ of the small example of four channels.
const THETA: f64 = 100.0;
const Q: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const K: [f32; 4] = [1.0, 0.0, 1.0, 2.0];

/// One head at a position, its first R = `width` channels turned.
pub fn turned(x: &[f32], theta: f64, width: usize, position: usize) -> Vec<f32> {
    let angles = &Angles::new(theta, width, position + 1);
    let (d, mut x) = (x.len(), x.to_vec());
    turn(
        &mut x,
        &Turned { angles, width: d, n_heads: 1, head_dim: d, seq_len: 1, start: position },
    );
    x
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// q·k of a query at i and a key at j.
fn score(q: &[f32], k: &[f32], theta: f64, [i, j]: [usize; 2]) -> f32 {
    let d = q.len();
    dot(&turned(q, theta, d, i), &turned(k, theta, d, j))
}

/// Channels of an interleaved head in the order of a split one: 0, 2, 4, .. and 1, 3, 5, ..
fn in_halves<T: Copy>(x: &[T]) -> Vec<T> {
    x.iter().step_by(2).chain(x.iter().skip(1).step_by(2)).copied().collect()
}

pub fn add(values: &mut Values) {
    angles(values);
    one_pair(values);
    by_hand(values);
    pairs(values);
    theta(values);
    costs(values);
    exercises(values);
}

fn angles(values: &mut Values) {
    const D: usize = 8;
    let f = |i: usize| 10_000f64.powf(-2.0 * i as f64 / D as f64);
    let unit: Vec<f32> = [[1.0; D / 2], [0.0; D / 2]].concat();
    let mut table = list![0, 1, 2, 3];
    for t in [0, 1, 2, 10, 100] {
        let turned = turned(&unit, 10_000.0, D, t);
        for i in 0..D / 2 {
            let angle = t as f64 * f(i);
            close(&[turned[i], turned[i + D / 2]], &[angle.cos() as f32, angle.sin() as f32]);
        }
        table.push(t as f64);
        table.extend((0..D / 2).map(|i| t as f64 * f(i)));
    }
    values.insert("rot.angles", table);
    let speeds = (0..D / 2).map(f);
    values.insert("rot.speeds", list![D as u32, 10_000].into_iter().chain(speeds).collect());
}

fn one_pair(values: &mut Values) {
    let x = [1.0, 0.0];
    let rows = [[0, 0], [1, 0], [2, 1], [7, 6], [2, 0], [9, 7]].map(|at| {
        let score = score(&x, &x, 10_000.0, at);
        [whole(&[at[0], at[1], at[0] - at[1]]), list![score]].concat()
    });
    values.insert("rot.pair", rows.concat());
}

fn by_hand(values: &mut Values) {
    values.insert("rot.given", [list![100], wide(&Q), list![1, 0, 1, 1, 0.1, 0, 2, 1, 3]].concat());
    let y = turned(&Q, THETA, 4, 1);
    let mut lines = Vec::new();
    for (pair, angle) in [1.0f32, 0.1].into_iter().enumerate() {
        let (a, b, cos, sin) = (Q[pair], Q[pair + 2], angle.cos(), angle.sin());
        lines.extend(whole(&[pair, pair, pair + 2]));
        lines.extend(list![a, cos, b, sin, y[pair], a, sin, b, cos, y[pair + 2]]);
    }
    values.insert("rot.hand", [lines, wide(&y)].concat());

    let mut rows = Vec::new();
    for at in [[3, 1], [10, 8], [102, 100], [3, 2], [10, 9]] {
        rows.extend(whole(&[at[0], at[1], at[0] - at[1]]));
        rows.push(score(&Q, &K, THETA, at).into());
    }
    values.insert("rot.relative_given", wide(&[Q, K].concat()));
    values.insert("rot.relative", rows);
}

fn pairs(values: &mut Values) {
    let half = (0..4).flat_map(|i| [i, i + 4]);
    let beside = (0..4).flat_map(|i| [2 * i, 2 * i + 1]);
    let split = (0..4).chain([2]).chain(half);
    let table: Vec<usize> = split.chain([1]).chain(beside).collect();
    values.insert("rot.pairs", whole(&table));
    values.insert("rot.order", whole(&in_halves(&[0, 1, 2, 3, 4, 5, 6, 7])));
    let mut rows = Vec::new();
    for distance in 0..4 {
        let split = score(&Q, &K, THETA, [distance, 0]);
        let beside = score(&in_halves(&Q), &in_halves(&K), THETA, [distance, 0]);
        rows.extend([whole(&[distance]), list![split, beside]].concat());
    }
    values.insert("rot.mixed", rows);
    let part = turned(&[1.0; 8], 10_000.0, 2, 1);
    values.insert("rot.part", [list![8, 2, 1], wide(&part)].concat());
}

/// Positions until the slowest pair has gone round once.
fn longest(theta: f64, d: usize) -> f64 {
    let slow = theta.powf(-((d - 2) as f64) / d as f64);
    let mut unit = vec![0.0; d];
    unit[d / 2 - 1] = 1.0;
    let sin = f64::from(turned(&unit, theta, d, 1)[d - 1]);
    assert!((sin / slow - 1.0).abs() < 1e-6, "{sin} {slow}");
    TAU / slow
}

fn theta(values: &mut Values) {
    let models = [(10_000.0, 64), (100_000.0, 64), (500_000.0, 128), (1_000_000.0, 128)];
    // Names of models have numbers: Llama 3.
    let rows = models.map(|(theta, d)| {
        let name = if theta == 500_000.0 { list![3] } else { list![] };
        [name, vec![theta, d as f64, longest(theta, d).round()]].concat()
    });
    values.insert("rot.theta", rows.concat());
    let (t, slow) = (1024.0, 0.001f64);
    values.insert("rot.long", vec![t, t / TAU, slow, t * slow, t * slow / TAU]);
}

fn costs(values: &mut Values) {
    let learned = Config::gpt2(50257, 1024, 768, 12);
    let none = Config { positions: Positions::None, ..learned.clone() };
    let count = |config: &Config| -> usize {
        let list = parameter_list(config, &SingleHead.parameters(config));
        list.iter().map(|(_, p)| p.numel() as usize).sum()
    };
    values.insert("rot.wpe", whole(&[2, 1024, 768, count(&learned) - count(&none)]));
    let (config, attention) = super::family::smol();
    let list = attention.parameters(&config);
    let weights: usize = list.iter().map(|(_, p)| p.numel() as usize).sum();
    let (h, g, d) = (9, 3, 64);
    let turned = (h + g) * d;
    let shown = [h, g, d, 3, 3 * turned, 2, weights, 2 * weights, 2 * weights / (3 * turned)];
    values.insert("rot.cost", whole(&shown));
}

fn exercises(values: &mut Values) {
    values.insert("rot.ex_turn", wide(&turned(&[0.0, 1.0], 10_000.0, 2, 1)));
    values.insert("rot.ex_round_given", vec![8.0, 10_000.0, 0.001]);
    values.insert("rot.ex_round", vec![TAU, 0.001, TAU / 0.001, 2.0]);
    let y = turned(&Q, THETA, 4, 1);
    let sums = [&Q[..], &y].map(|x| dot(x, x));
    values.insert("rot.ex_length", list![1, 4, 9, 16, sums[0], sums[1]]);
    let [ahead, behind] = [[1, 0], [0, 1]].map(|at| score(&Q, &K, THETA, at));
    values.insert("rot.ex_signed", list![ahead, behind]);
}

#[test]
fn a_score_depends_on_the_distance() {
    let at = |x: &[f32], position| turned(x, THETA, 4, position);
    let near = dot(&at(&Q, 3), &at(&K, 1));
    let far = dot(&at(&Q, 102), &at(&K, 100));
    assert!((near - far).abs() < 1e-4);
}

#[test]
fn a_model_with_rotary_positions() -> Result<()> {
    let config = Config { positions: Positions::Rotary, ..Config::gpt2(256, 64, 64, 2) };
    let attention = Modern::new(4).with_rotary(10_000.0);
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    assert!(model.wpe.is_none()); // order is told once
    Ok(())
}

#[test]
fn order_is_not_told_twice() {
    let twice = Modern::new(4).with_rotary(10_000.0);
    let refused = TinyGPT::with_attention(Config::gpt2(256, 64, 64, 2), Arc::new(twice), 1);
    assert!(refused.unwrap_err().to_string().contains("positions have to be rotary"));
}

/// Positions of a text twice as long, pressed into the angles of one that was trained.
#[test]
fn stretched_angles() {
    let (theta, d) = (10_000f64, 8);
    let halved = |i: usize| theta.powf(-2.0 * i as f64 / d as f64) / 2.0;
    let stretched = Angles::of_frequencies(&(0..d / 2).map(halved).collect::<Vec<_>>(), 2048);
    assert_eq!(stretched.positions(), 2048);
    let mut x = [1.0f32; 8];
    let turned =
        Turned { angles: &stretched, width: d, n_heads: 1, head_dim: d, seq_len: 1, start: 2000 };
    turn(&mut x, &turned);
    close(&x, &super::rotary::turned(&[1.0; 8], theta, d, 1000));
}
