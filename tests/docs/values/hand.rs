//! Values of docs/learn_by_hand.md: a pass through the library's own ops.

use super::head::close;
use super::{Values, list, offset, wide};
use crate::docs::examples::{BASE, HEADS, TRACE};
use crate::docs::modules::layer;
use llm_core::kernels::adamw::{AdamWUpdate, step};
use llm_core::ndarray::ArrayD;
use llm_core::{Tensor, ops};

const WTE: [f32; 4] = [1.0, 2.0, 3.0, 0.0];
const WPE: [f32; 4] = [0.0, 1.0, 0.0, 1.0];

pub fn add(values: &mut Values) {
    forward(values);
    loss(values);
    backward(values);
    update(values);
    places(values);
    sizes(values);
}

/// B, T, C and heads of the small examples, as docs/pages.md tells them apart.
fn sizes(values: &mut Values) {
    let here = states().0.shape().to_vec();
    let two_heads = layer()[0].shape().to_vec();
    let walk = [1, BASE[0].len(), BASE[0][0].len()].to_vec();
    assert_eq!(walk[2], HEADS.len() * HEADS[0][0][0].len());
    let trace = [1, TRACE[0].len(), TRACE[0][0].len()].to_vec();
    let rows = [(here, &[1][..]), (two_heads, &[2]), (walk, &[1, 2]), (trace, &[1])];
    let rows = rows.iter().flat_map(|(sizes, heads)| [&sizes[..], heads].concat());
    let last = values["trace.big_sizes"][..4].to_vec();
    let all = rows.map(|n| n as f64).chain(last);
    values.insert("docs.examples", all.collect());
}

fn tensor(shape: &[usize], data: &[f32]) -> Tensor {
    Tensor::from_vec(shape, data.to_vec()).unwrap()
}

fn parameter(shape: &[usize], data: &[f32]) -> Tensor {
    Tensor::parameter(ArrayD::from_shape_vec(shape, data.to_vec()).unwrap())
}

/// x, the norm, and both as the page's one sequence of two tokens.
fn states() -> (Tensor, Tensor) {
    let rows = |w: &[f32]| ops::embedding(&tensor(&[2, 2], w), &[0, 1], &[1, 2]).unwrap();
    let x = ops::add(&rows(&WTE), &rows(&WPE)).unwrap();
    let n = ops::layernorm_lastdim(&x, 0.0).unwrap();
    (x, n)
}

/// `qkv` for identity matrices: the norm three times side by side.
fn qkv(n: &[f32]) -> Vec<f32> {
    n.chunks(2).flat_map(|row| [row, row, row].concat()).collect()
}

/// P of position 1, Y, and the scale.
struct Attended {
    scale: f32,
    p: [f32; 2],
    y: Vec<f32>,
}

fn attended(n: &[f32]) -> Attended {
    let y = ops::causal_attention_1h(&tensor(&[1, 2, 6], &qkv(n)), None).unwrap().data().to_vec();
    let scale = 1.0 / 2f32.sqrt();
    let scores = [0, 1].map(|j| scale * (n[2] * n[2 * j] + n[3] * n[2 * j + 1]));
    let p = ops::softmax_lastdim(&tensor(&[2], &scores)).unwrap();
    let p = [p.data()[0], p.data()[1]];
    let by_hand = [0, 1].map(|c| p[0] * n[c] + p[1] * n[2 + c]);
    close(&y, &[n[0], n[1], by_hand[0], by_hand[1]]);
    Attended { scale, p, y }
}

fn forward(values: &mut Values) {
    let (x, n) = states();
    let (x, n) = (x.data(), n.data());
    values.insert("hand.tables", [list![0, 1], wide(&WTE), wide(&WPE)].concat());
    let sum =
        |t: usize| [wide(&WTE[2 * t..][..2]), wide(&WPE[2 * t..][..2]), wide(&x[2 * t..][..2])];
    values.insert("hand.x", [sum(0), sum(1)].concat().concat());
    values.insert("hand.norm", wide(n));

    let Attended { scale, p, y } = attended(n);
    values.insert("hand.scale", list![1, 2, scale]);
    let score = |i: usize, j: usize| {
        let products = [0, 1].map(|c| n[2 * i + c] * n[2 * j + c]);
        // The page writes the second product with its sign outside.
        let sign = products[0].signum();
        list![products[0], sign * products[1], scale, scale * (products[0] + products[1])]
    };
    let scores = [score(0, 0), list![0, 1], score(1, 0), score(1, 1)].concat();
    let [low, high] = [scores[9], scores[13]];
    values.insert("hand.scores", scores);
    let [a, b] = [low.exp(), high.exp()];
    values.insert("hand.softmax", [list![low, a, high, b, a + b], wide(&p)].concat());
    let first = [list![1], wide(&n[..2]), wide(&y[..2])].concat();
    let second = [wide(&p[..1]), wide(&n[..2]), wide(&p[1..]), wide(&n[2..]), wide(&y[2..])];
    values.insert("hand.y", [first, second.concat()].concat());

    let h = ops::add(&tensor(&[4], x), &tensor(&[4], &y)).unwrap();
    let row = |t: usize| [&x[2 * t..][..2], &y[2 * t..][..2], &h.data()[2 * t..][..2]].concat();
    values.insert("hand.residual", wide(&[row(0), row(1)].concat()));
    let g = ops::gelu(&tensor(&[2], &[1.0, -1.0])).unwrap();
    values.insert("hand.gelu", list![g.data()[0], 1, g.data()[1], -1]);
}

fn loss(values: &mut Values) {
    let z = [2.0f32, 1.0, 0.0, -1.0];
    let logits = parameter(&[1, 4], &z);
    let loss = ops::cross_entropy(&logits, &[1]).unwrap();
    let gradient = loss.backward().unwrap().get(&logits).unwrap().to_vec();
    let p = ops::softmax_lastdim(&tensor(&[4], &z)).unwrap();
    values.insert("hand.z", [wide(&z), list![1]].concat());
    let rows = (0..4).flat_map(|i| list![i as u32, z[i], z[i].exp(), p.data()[i], gradient[i]]);
    values.insert("hand.loss", list![1].into_iter().chain(rows).collect());
    let sum: f32 = z.iter().map(|z| z.exp()).sum();
    values.insert("hand.lse", list![sum, p.data()[1], loss.item()]);
}

fn backward(values: &mut Values) {
    let (_, n) = states();
    let n = n.data();
    let Attended { scale, p, y } = attended(n);
    let dy = [1.0f32, 0.0];
    values.insert("hand.dy", [wide(&dy), wide(n)].concat());

    let input = parameter(&[1, 2, 6], &qkv(n));
    let cotangent = tensor(&[1, 2, 2], &[0.0, 0.0, dy[0], dy[1]]);
    let out = ops::causal_attention_1h(&input, None).unwrap();
    let loss = ops::sum(&ops::mul(&out, &cotangent).unwrap()).unwrap();
    let gradients = loss.backward().unwrap();
    let d = gradients.get(&input).unwrap();
    let (dq1, dv0, dv1) = (&d[6..8], &d[4..6], &d[10..12]);

    let dp = [n[0], n[2]];
    let dot = y[2];
    let ds = [0, 1].map(|j| p[j] * (dp[j] - dot));
    close(dq1, &[0, 1].map(|c| scale * (ds[0] * n[c] + ds[1] * n[2 + c])));
    let mut shown = list![dp[0], dp[1], dot];
    for j in 0..2 {
        shown.extend(list![p[j], dp[j], dot, ds[j]]);
    }
    shown.extend([wide(dv0), wide(dv1), wide(dq1), list![scale]].concat());
    values.insert("hand.back", shown);
}

fn update(values: &mut Values) {
    let (mut w, mut m, mut v) = ([0.5f32], [0.0f32], [0.0f32]);
    let (g, lr, beta1, beta2, weight_decay) = (0.2, 0.1, 0.9, 0.999, 0.01);
    let settings = AdamWUpdate { lr, beta1, beta2, eps: 1e-8, weight_decay, t: 1, grad_scale: 1.0 };
    values.insert("hand.adam_given", list![w[0], g, lr, beta1, beta2, weight_decay]);
    let old = w[0];
    step(&mut w, &mut m, &mut v, &[g], settings);
    let [c1, c2] = [1.0 - beta1, 1.0 - beta2];
    let (mean, square) = (m[0] / c1, v[0] / c2);
    let mut shown = list![c1, g, m[0], c2, g, g, v[0], c1, mean, c2, square, square.sqrt()];
    shown.extend(list![old, 1, lr, weight_decay, lr, mean, square.sqrt(), w[0]]);
    values.insert("hand.adam", shown);
    values.insert("hand.adam_note", list![c1, c2, 0]);
}

fn places(values: &mut Values) {
    let row = |t| offset(&[1, 3, 2], &[0, t, 0]);
    let score = |j| offset(&[1, 3, 3], &[0, 1, j]);
    let mut shown = list![0, 1, 0, 0, 3, 1, 2, row(1), 0, 3, 0, 2, row(0)];
    shown.extend(list![0, 3, 1, 3, 0, score(0)]);
    shown.extend(list![0, 1, 2, 0, 3, 1, 3, 2, score(2)]);
    values.insert("hand.places", shown);
}
