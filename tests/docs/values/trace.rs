//! Values of docs/attention_indexing_trace.md.

use super::head::run;
use super::{Values, list, offset, offsets, wide};
use crate::docs::examples::{TRACE, qkv};
use llm_core::kernels::attention::{MASKED, head_view, head_views};
use llm_core::ndarray::ArrayD;
use llm_core::{Tensor, ops};
use llm_variant_mha::causal_attention_heads;

pub fn add(values: &mut Values) {
    small_forward(values);
    small_backward(values);
    large(values);
}

/// dL/dqkv of L = Σ y ∘ dy.
fn gradient(qkv: Tensor, dy: Tensor, attend: impl Fn(&Tensor) -> Tensor) -> Vec<f32> {
    let qkv = Tensor::parameter(qkv.view().to_owned());
    let loss = ops::sum(&ops::mul(&attend(&qkv), &dy).unwrap()).unwrap();
    loss.backward().unwrap().get(&qkv).unwrap().to_vec()
}

fn small_forward(values: &mut Values) {
    let head = run(TRACE);
    values.insert("trace.sizes", list![1, 3, 2, 1, 2]);
    let row = |t: usize| TRACE.map(|part| part[t]).concat();
    let inputs = (0..3).flat_map(|t| [list![t as u32], wide(&row(t))].concat());
    values.insert("trace.inputs", inputs.collect());
    let flat = qkv(&[TRACE]);
    let lines = (0..3).flat_map(|t| {
        let ends = [0, 5].map(|c| offset(&[1, 3, 6], &[0, t, c]));
        [ends.to_vec(), wide(&flat[t * 6..(t + 1) * 6])].concat()
    });
    values.insert("trace.qkv", lines.collect());

    let own = |t| offset(&[1, 3, 2], &[0, t, 0]);
    let inside = |t, part| offset(&[1, 3, 3, 2], &[0, t, part, 0]);
    let (q, k) = (TRACE[0][1], TRACE[1]);
    let dot = head.scores[1][0] / head.scale;
    let mut allowed = list![0, 3, 1, 2, own(1), 0, 3, 1, 6, 0, 2, inside(1, 0)];
    allowed.extend(list![0, 3, 0, 2, own(0), 0, 3, 0, 6, 1, 2, inside(0, 1)]);
    allowed.extend(list![0, 3, 1, 3, 0, offset(&[1, 3, 3], &[0, 1, 0])]);
    allowed.extend(list![q[0], k[0][0], q[1], k[0][1], dot]);
    allowed.extend(list![dot, head.scale, head.scores[1][0]]);
    values.insert("trace.allowed", allowed);
    let mut hidden = list![0, 3, 1, 3, 2, offset(&[1, 3, 3], &[0, 1, 2])];
    hidden.extend(list![q[0], k[2][0], q[1], k[2][1], head.scale, head.scores[1][2], MASKED]);
    values.insert("trace.hidden", hidden);

    let rows = (0..3).flat_map(|i| {
        [list![i as u32], wide(&head.p[i]), list![head.lse[i]], wide(&head.y[i])].concat()
    });
    values.insert("trace.table", rows.collect());
}

fn small_backward(values: &mut Values) {
    let head = run(TRACE);
    let dy = [1.0, 0.0];
    values.insert("trace.dy", list![1, dy[0], dy[1]]);
    let qkv = Tensor::from_vec(&[1, 3, 6], qkv(&[TRACE])).unwrap();
    let rows = Tensor::from_vec(&[1, 3, 2], [[0.0; 2], dy, [0.0; 2]].concat()).unwrap();
    let dqkv = gradient(qkv, rows, |qkv| ops::causal_attention_1h(qkv, None).unwrap());

    // dS follows from the gradient of the softmax op, with dP as its cotangent.
    let dp = TRACE[2].map(|v| dy[0] * v[0] + dy[1] * v[1]);
    let masked = [head.scores[1][0], head.scores[1][1], MASKED];
    let scores = Tensor::parameter(ArrayD::from_shape_vec(vec![3], masked.to_vec()).unwrap());
    let p = ops::softmax_lastdim(&scores).unwrap();
    let cotangent = Tensor::from_vec(&[3], dp.to_vec()).unwrap();
    let loss = ops::sum(&ops::mul(&p, &cotangent).unwrap()).unwrap();
    let ds = loss.backward().unwrap().get(&scores).unwrap().to_vec();
    let dot = dy[0] * head.y[1][0] + dy[1] * head.y[1][1];
    values.insert("trace.ds", [list![dp[0], dp[1], dot], wide(&ds)].concat());

    let mut shown = Vec::new();
    let place = offsets(&[1, 3, 6]);
    let groups = head_views(&dqkv, [1, 3, 3, 2]);
    let places = head_views(place.data(), [1, 3, 3, 2]);
    for (part, t) in [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        shown.push(t as f64); // the row's name, dQ[t]
        shown.extend(wide(&head_view(&groups, 0, part).row(t).to_vec()));
        shown.extend(wide(&head_view(&places, 0, part).row(t).to_vec()));
    }
    let nonzero = |i: &usize| dqkv[*i] != 0.0;
    assert!(
        (0..18).filter(nonzero).all(|i| (2..12).contains(&i)),
        "position 0's query, position 2"
    );
    let third = [12, 17].map(|i| offset(&[1, 3, 6], &[0, 2, i - 12]));
    shown.extend(list![
        2,
        dqkv[12..].iter().fold(0.0f32, |m, g| m.max(g.abs())),
        third[0],
        third[1]
    ]);
    values.insert("trace.gradients", shown);
}

const B: usize = 2;
const T: usize = 3;
const C: usize = 4;
const H: usize = 2;
const D: usize = 2;

fn large(values: &mut Values) {
    values.insert("trace.big_sizes", list![2, 3, 4, 2, 2, 1, 1, 2, 1]);
    let own = |t| offset(&[B, T, H, D], &[1, t, 1, 0]);
    let inside = |t, part| offset(&[B, T, 3, H, D], &[1, t, part, 1, 0]);
    let mut all = Vec::new();
    for t in [2, 1, 1] {
        all.extend(list![1, 3, t as u32, 2, 1, 2, own(t)]);
    }
    for (t, part) in [(2, 0), (1, 1), (1, 2)] {
        all.extend(list![1, 3, t as u32, 12, part as u32, 4, 1, 2, inside(t, part)]);
    }
    all.extend(list![1, 2, 1, 3, 2, 3, 1, offset(&[B, H, T, T], &[1, 1, 2, 1])]);
    all.extend(list![1, 3, 2, 3, 1, offset(&[B, T, T], &[1, 2, 1])]);
    all.extend(list![1, 2, 1, 3, 2, offset(&[B, H, T], &[1, 1, 2])]);
    all.extend(list![1, 3, 2, 2, 1, 2, own(2)]);
    values.insert("trace.big", all);

    // The views' numbers: the one whose first element lies where the trace says.
    let places = offsets(&[B, T, 3 * C]);
    let views = head_views(places.data(), [B, T, 3 * H, D]);
    let view = |t: usize, part: usize| {
        let mut groups = (0..B * 3 * H).map(|n| head_view(&views, n / (3 * H), n % (3 * H)));
        let n = groups.position(|v| f64::from(v[[t, 0]]) == inside(t, part)).unwrap();
        n as u32
    };
    let mut numbers = list![1, 2, 1, offset(&[B, H], &[1, 1])];
    for (t, part) in [(2, 0), (1, 1), (1, 2)] {
        numbers.extend(list![1, 6, part as u32, 2, 1, view(t, part)]);
    }
    values.insert("trace.big_views", numbers);

    // A gradient into one row of one head: where is dqkv not zero?
    let salted = |i: usize| ((i * 37) % 61) as f32 / 40.0 - 0.75;
    let data = (0..B * T * 3 * C).map(salted).collect();
    let mut dy = vec![0.0; B * T * C];
    dy[own(2) as usize] = 1.0;
    dy[own(2) as usize + 1] = -0.5;
    let dqkv = gradient(
        Tensor::from_vec(&[B, T, 3 * C], data).unwrap(),
        Tensor::from_vec(&[B, T, C], dy).unwrap(),
        |qkv| causal_attention_heads(qkv, H, &[], None).unwrap(),
    );
    let touched: Vec<usize> = (0..dqkv.len()).filter(|&i| dqkv[i] != 0.0).collect();
    let mut shown = Vec::new();
    let mut want = Vec::new();
    for (part, positions) in [(0, vec![2]), (1, vec![0, 1, 2]), (2, vec![0, 1, 2])] {
        shown.extend(positions.iter().map(|&t| t as f64));
        for t in positions {
            let first = inside(t, part);
            shown.extend([first, first + 1.0]);
            want.extend([first as usize, first as usize + 1]);
        }
    }
    want.sort();
    assert_eq!(touched, want, "the elements of dqkv that are not zero");
    values.insert("trace.big_gradients", shown);
}
