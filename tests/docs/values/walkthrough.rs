//! Values of docs/variants/mha/sample_processing_walkthrough.md.

use super::head::{Head, close, run};
use super::{Values, list, offset, offsets, wide};
use crate::docs::examples::{BASE, HEADS, Rows, qkv, two_heads};
use llm_core::kernels::attention::{MASKED, head_view, head_views};
use llm_core::{Tensor, ops};
use llm_lens::trace::scores_mha;
use llm_variant_mha::causal_attention_heads;

const B: usize = 1;
const T: usize = 3;
const C: usize = 4;
const H: usize = 2;
const D: usize = 2;

pub fn add(values: &mut Values) {
    sizes(values);
    places(values);
    baseline(values);
    heads(values);
    exercises(values);
}

fn shape(x: &Tensor) -> Vec<f64> {
    x.shape().iter().map(|&n| n as f64).collect()
}

fn sizes(values: &mut Values) {
    values.insert("walk.sizes", [B, T, C, H, D].map(|n| n as f64).to_vec());
    let [x, w, b] = [vec![B, T, C], vec![C, 3 * C], vec![3 * C]].map(|s| offsets(&s));
    let qkv = ops::linear_lastdim(&x, &w, Some(&b)).unwrap();
    values.insert("walk.projection", [&x, &w, &b, &qkv].into_iter().flat_map(shape).collect());

    // The cut: starts, lengths and shapes, and that the parts are those of the fast path's views.
    let fast = head_views(qkv.data(), [B, T, 3, C]);
    let mut slices = Vec::new();
    let mut views = Vec::new();
    for part in 0..3 {
        let view = head_view(&fast, 0, part);
        let cut = ops::slice_lastdim(&qkv, part * C, C).unwrap();
        assert!(view.iter().eq(cut.data()));
        slices.extend([(part * C) as f64, C as f64]);
        slices.extend(shape(&cut));
        let heads = ops::reshape(&cut, &[B, T, H, D]).unwrap();
        assert_eq!(heads.data().as_ptr(), cut.data().as_ptr());
        views.extend(shape(&heads));
    }
    values.insert("walk.slices", slices);
    values.insert("walk.views", views);

    let y1 = ops::causal_attention_1h(&qkv, None).unwrap();
    let y2 = causal_attention_heads(&qkv, H, &[], None).unwrap();
    let (s, sh) = ([B, T, T].map(|n| n as f64), [B, H, T, T].map(|n| n as f64));
    let heads = shape(&ops::reshape(&y2, &[B, T, H, D]).unwrap());
    values.insert("walk.shapes_after", [&s[..], &sh, &shape(&y1), &heads, &shape(&y2)].concat());
}

fn places(values: &mut Values) {
    // Numbers that are their own places in qkv, seen through the fast path's views.
    let qkv = offsets(&[B, T, 3 * C]);
    let ends = |row: &[f32]| [row[0], row[row.len() - 1]].map(f64::from);
    let one = head_views(qkv.data(), [B, T, 3, C]);
    let two = head_views(qkv.data(), [B, T, 3 * H, D]);
    let own = offsets(&[B, T, C]);
    let row = |t: usize| ends(&own.data()[t * C..(t + 1) * C]);
    let mut addresses = Vec::new();
    for (part, t) in [(0, 2), (1, 1), (2, 1)] {
        addresses.extend(list![0, t as u32]); // the row's name, q[0, t, :]
        addresses.extend(row(t));
        addresses.extend(ends(&head_view(&one, 0, part).row(t).to_vec()));
    }
    values.insert("walk.two_addresses", addresses);

    let q: Vec<f64> = (0..C).map(|c| offset(&[B, T, C], &[0, 2, c])).collect();
    let k: Vec<f64> = (0..C).map(|c| offset(&[B, T, C], &[0, 1, c])).collect();
    let off = offset(&[B, T, T], &[0, 2, 1]);
    let mut trace =
        [list![0, 3, 2, 4, q[0]], q.clone(), list![0, 3, 1, 4, k[0]], k.clone()].concat();
    trace.extend(list![0, 3, 2, 3, 1, off]);
    values.insert("walk.base_trace", trace);
    let products = |q: &[f64], k: &[f64]| q.iter().zip(k).flat_map(|(q, k)| [*q, *k]).collect();
    values.insert("walk.base_products", products(&q, &k));
    values.insert("walk.base_off", list![off]);

    let place = |t, h, d| offset(&[B, T, H, D], &[0, t, h, d]);
    let (q, k) = ([place(2, 1, 0), place(2, 1, 1)], [place(1, 1, 0), place(1, 1, 1)]);
    let off_h = offset(&[B, H, T, T], &[0, 1, 2, 1]);
    let trace = list![
        0, 3, 2, 2, 1, 2, q[0], q[0], q[1], 0, 3, 1, 2, 1, 2, k[0], k[0], k[1], 0, 2, 1, 3, 2, 3,
        1, off_h
    ];
    values.insert("walk.mha_trace", trace);
    values.insert("walk.mha_products", products(&q, &k));
    values.insert("walk.mha_off", list![off_h, off]);

    // What the debugger shows: the query's base, the key's, and the score.
    let part = |n: usize| ops::slice_lastdim(&two_heads(), n * C, C).unwrap();
    let scores = scores_mha(&part(0), &part(1), H).unwrap();
    let stopped =
        list![off_h, 1, place(2, 1, 0), 2, place(1, 1, 0), 3, scores.data()[off_h as usize]];
    values.insert("walk.stop", stopped);
    values.insert("walk.stop_lldb", list![off_h]);
    let [qi, kj] = [2, 1].map(|t| offset(&[B, T, C], &[0, t, 0]));
    values.insert("walk.stop_base", list![off, qi, kj, 2]);

    let mut inside = Vec::new();
    for (part, t) in [(0, 2), (1, 1), (2, 1)] {
        let [first, last] = ends(&head_view(&two, 0, part * H + 1).row(t).to_vec());
        inside.extend(list![0, 3, t as u32, 12, part as u32, 4, 1, 2, first, first, last]);
    }
    values.insert("walk.mha_in_qkv", inside);

    let mut groups = Vec::new();
    groups.extend((0..3 * H).map(|n| n as f64));
    groups.extend((0..3 * H).map(|n| (n % H) as f64));
    groups.extend((0..3 * H).flat_map(|n| ends(&head_view(&two, 0, n).row(0).to_vec())));
    values.insert("walk.groups", groups);
    values.insert("walk.masked", list![MASKED]);
}

/// Rows as a table prints them: the position, then its vectors.
fn inputs<const N: usize>(parts: [Rows<N>; 3]) -> Vec<f64> {
    (0..3)
        .flat_map(|t| [vec![t as f64], wide(&parts.map(|rows| rows[t]).concat())].concat())
        .collect()
}

fn sum(values: &[f32]) -> f32 {
    values.iter().sum()
}

fn baseline(values: &mut Values) {
    let head = run(BASE);
    let qkv = Tensor::from_vec(&[B, T, 3 * C], qkv(&[BASE])).unwrap();
    let y = ops::causal_attention_1h(&qkv, None).unwrap();
    close(y.data(), &head.y.concat());

    let Head { scale, scores, p, lse, y } = head;
    let exps = scores[2].map(f32::exp);
    values.insert("walk.base_scale", list![1, 4, scale]);
    values.insert("walk.base_inputs", inputs(BASE));
    let dots = scores[2].map(|s| f64::from(s / scale));
    values.insert("walk.base_dots", [&dots[..], &[scale.into()]].concat());
    values.insert("walk.base_scores", wide(&scores[2]));
    let [a, b, c] = exps;
    let exponentials = list![scores[2][0], a, scores[2][1], b, a, b, c, sum(&exps)];
    values.insert("walk.base_exp", exponentials);
    values.insert("walk.base_probs", wide(&p[2]));
    values.insert("walk.base_att", [wide(&p[2]), wide(&y[2])].concat());
    values.insert("walk.base_lse", list![sum(&exps), lse[2], scores[2][0], lse[2], p[2][0]]);
}

fn heads(values: &mut Values) {
    let [zero, one] = HEADS.map(run);
    let all = causal_attention_heads(&two_heads(), H, &[], None).unwrap();
    let joined: Vec<f32> = (0..T).flat_map(|t| [&zero.y[t][..], &one.y[t][..]].concat()).collect();
    close(all.data(), &joined);

    values.insert("walk.mha_scale", list![1, 2, one.scale]);
    values.insert("walk.head1_inputs", head_inputs(1));
    values.insert("walk.head1_scores", wide(&one.scores[2]));
    let (s, exps) = (one.scores[2], one.scores[2].map(f32::exp));
    let exponentials = list![s[0], exps[0], s[1], exps[1], s[2], exps[2], sum(&exps)];
    values.insert("walk.head1_exp", exponentials);
    values.insert("walk.head1_probs", wide(&one.p[2]));
    let terms = (0..3).flat_map(|j| [&one.p[2][j..=j], &HEADS[1][2][j][..]].concat());
    let terms: Vec<f32> = terms.chain(one.y[2].iter().copied()).collect();
    values.insert("walk.head1_att", wide(&terms));
    values.insert("walk.head0_inputs", head_inputs(0));
    values.insert("walk.head0_results", wide(&[zero.scores[2], zero.p[2]].concat()));
    values.insert("walk.head0_att", wide(&zero.y[2]));
    values.insert("walk.concat", wide(&all.data()[2 * C..]));
}

/// The table's header names the head three times, then come the rows.
fn head_inputs(head: usize) -> Vec<f64> {
    [vec![head as f64; 3], inputs(HEADS[head])].concat()
}

fn exercises(values: &mut Values) {
    let [zero, one] = HEADS.map(run);
    let base = run(BASE);
    let place = offset(&[B, T, H, D], &[0, 2, 0, 0]);
    let off = offset(&[B, H, T, T], &[0, 0, 2, 2]);
    let [q, k] = [HEADS[0][0][2], HEADS[0][1][2]];
    let score = list![q[0], k[0], q[1], k[1], zero.scale, zero.scores[2][2]];
    let row = list![0, 3, 2, 2, 0, 2, place];
    let written = list![0, 2, 0, 3, 2, 3, 2, off];
    let all = [list![0, 2, 2], row.clone(), row, written, score].concat();
    values.insert("walk.exercise_head0", all);

    let off = offset(&[B, T, T], &[0, 1, 2]);
    let hidden = list![1, 2, 0, 3, 1, 3, 2, off, base.scores[1][2], MASKED];
    let rows = [wide(&base.p[1]), wide(&base.y[1])].concat();
    values.insert("walk.exercise_masked_base", [hidden, rows].concat());

    let off = offset(&[B, H, T, T], &[0, 1, 1, 2]);
    let hidden = list![1, 1, 2, 0, 2, 1, 3, 1, 3, 2, off, one.scores[1][2], MASKED];
    let rows = [wide(&one.p[1]), wide(&one.y[1])].concat();
    values.insert("walk.exercise_masked_head1", [hidden, rows].concat());
}
