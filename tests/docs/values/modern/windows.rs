//! Values of docs/variants/modern/sliding_window.md.

use super::whole;
use crate::docs::values::{Values, list, wide};
use llm_core::kernels::attention::{Scoring, probs};
use llm_core::kernels::gemm::matrix;
use llm_core::model::Positions;
use llm_core::{Config, Result, Tensor, TinyGPT};
use llm_variant_modern::{HeadShape, Modern, causal_attention_grouped};
use std::sync::Arc;

pub const T: usize = 6;
pub const W: usize = 3;
const V: [f32; T] = [0.0, 3.0, 6.0, 3.0, 9.0, 0.0];

/// P `[T, T]` when all scores are the same.
pub fn shares(window: usize) -> Vec<f32> {
    let zeros = [0.0; T];
    probs(matrix(&zeros, T, 1), matrix(&zeros, T, 1), Scoring { window, ..Scoring::from(1.0) })
}

pub fn add(values: &mut Values) {
    let p = shares(W);
    let mut seen = Vec::new();
    for (i, row) in p.chunks(T).enumerate() {
        seen.extend(whole(&[i]));
        seen.extend((0..T).filter(|&j| row[j] > 0.0).map(|j| j as f64));
    }
    values.insert("win.seen", seen);
    values.insert("win.sizes", whole(&[T, W]));
    values.insert("win.mean", [wide(&V), means(usize::MAX), means(W)].concat());
    values.insert("win.row", list![4, 2, 3, 4, 6, 3, 9, 3, 6]);
    values.insert("win.reach", (1..=4).flat_map(|l| whole(&[l, reach(l)])).collect());
    values.insert("win.known", whole(&[4096, 32, 32, 4095, 1, 32 * 4095 + 1]));
    let (t, w) = (1024, 128);
    let pairs = |w: usize| (0..t).map(|i: usize| (i + 1).min(w)).sum::<usize>();
    values.insert("win.pairs_given", whole(&[t, w]));
    let [all, some] = [pairs(t), pairs(w)];
    assert_eq!(some, t * w - w * (w - 1) / 2);
    values.insert("win.pairs", [whole(&[all, some]), vec![all as f64 / some as f64]].concat());
    let (n, row) = (1000, 2 * 768);
    values.insert("win.read", whole(&[2, n, w, row, row * n, row * w]));
    exercises(values);
}

/// What attention gives when all scores are the same: means.
fn means(window: usize) -> Vec<f64> {
    let heads = HeadShape::of([1, 1, 1]).within(window);
    let rows: Vec<f32> = V.iter().flat_map(|&v| [0.0, 0.0, v]).collect();
    let qkv = Tensor::from_vec(&[1, T, 3], rows).unwrap();
    wide(causal_attention_grouped(&qkv, heads, &[], None).unwrap().data())
}

/// Tokens that the last position's scores depend on, in a model of `n_layers` blocks.
fn reach(n_layers: usize) -> usize {
    const N: usize = 12;
    let config = Config { positions: Positions::None, ..Config::new(7, N, 16, n_layers) };
    let attention = Modern::new(2).with_window(W);
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1).unwrap();
    let last =
        |tokens: &[u32]| model.logits(tokens, [1, N]).unwrap().data()[7 * (N - 1)..].to_vec();
    let tokens: Vec<u32> = (0..N as u32).map(|i| i * i % 7).collect();
    let before = last(&tokens);
    let matters = |&i: &usize| {
        let mut other = tokens.clone();
        other[i] = (other[i] + 1) % 7;
        last(&other) != before
    };
    (0..N).filter(matters).count()
}

fn exercises(values: &mut Values) {
    values.insert("win.ex_seen_given", list![10, 4]);
    values.insert("win.ex_seen", list![7, 8, 9, 10]);
    let one = shares(1);
    assert!((0..T).all(|i| one[i * T + i] == 1.0));
    let blocks = 100usize.div_ceil(15);
    values.insert("win.ex_blocks_given", list![100, 0, 16]);
    values.insert("win.ex_blocks", whole(&[15, 100, 15, blocks]));
}

#[test]
fn a_model_with_a_window() -> Result<()> {
    let config = Config::gpt2(256, 64, 64, 2);
    let attention = Modern::new(4).with_window(16); // its own position and 15 before it
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    let p = model.attention_weights(&[7; 64], [1, 64])?; // [L, B, H, T, T]
    assert!(p[[0, 0, 0, 40, 25]] > 0.0 && p[[0, 0, 0, 40, 24]] == 0.0);
    Ok(())
}
