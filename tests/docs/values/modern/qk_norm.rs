//! Values of docs/variants/modern/qk_norm.md.

use super::family::qwen;
use super::whole;
use crate::docs::values::{Values, list, wide};
use llm_core::kernels::rotary::{Angles, Turned, turn};
use llm_core::model::NORM_EPS;
use llm_core::{Attention, Config, Result, Tensor, TinyGPT, ops};
use llm_variant_modern::Modern;
use std::sync::Arc;

const Q: [f32; 2] = [3.0, 4.0];
const K: [f32; 2] = [8.0, 6.0];
const GAIN: [f32; 2] = [1.0, 2.0];

fn normed(x: &[f32], gain: Option<&[f32]>) -> Vec<f32> {
    let row = |x: &[f32]| Tensor::from_vec(&[x.len()], x.to_vec()).unwrap();
    ops::rmsnorm_lastdim(&row(x), gain.map(row).as_ref(), NORM_EPS).unwrap().data().to_vec()
}

fn score(q: &[f32], k: &[f32]) -> f32 {
    q.iter().zip(k).map(|(a, b)| a * b).sum::<f32>() / (q.len() as f32).sqrt()
}

fn at_one(x: &[f32]) -> Vec<f32> {
    let (angles, mut x) = (&Angles::new(10_000.0, 2, 2), x.to_vec());
    turn(&mut x, &Turned { angles, width: 2, n_heads: 1, head_dim: 2, seq_len: 1, start: 1 });
    x
}

pub fn add(values: &mut Values) {
    let line = |x: [f32; 2]| {
        let square = (x[0] * x[0] + x[1] * x[1]) / 2.0;
        [wide(&x), list![square, square.sqrt()], wide(&normed(&x, None))].concat()
    };
    values.insert("qk.hand", [line(Q), line(K)].concat());
    let ten = Q.map(|q| 10.0 * q);
    let both = |q: &[f32]| list![score(q, &K), score(&normed(q, None), &normed(&K, None))];
    values.insert("qk.long", [both(&Q), list![10], both(&ten)].concat());
    bound(values);
    let first = at_one(&normed(&Q, Some(&GAIN)));
    let after = normed(&at_one(&Q), Some(&GAIN));
    values.insert("qk.order", [wide(&first), wide(&after)].concat());
    let plain = at_one(&normed(&Q, None));
    let other = normed(&at_one(&Q), None);
    assert!(plain.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-6));
    costs(values);
    let ones = [1.0; 4];
    let minus = [-1.0; 4];
    values.insert("qk.ex_given", wide(&[ones, minus].concat()));
    values.insert("qk.ex", list![score(&normed(&ones, None), &normed(&minus, None))]);
    values.insert("qk.ex_share_given", list![16, 10]);
    let share = |s: f64| s.exp() / (s.exp() + 9.0 * (-s).exp());
    values.insert("qk.ex_share", vec![4.0, 4.0, 9.0, -4.0, share(4.0)]);
}

/// The largest score, and the largest share that one of 1024 positions can get.
fn bound(values: &mut Values) {
    const T: f64 = 1024.0;
    let rows = [4, 16, 64, 128].map(|d: usize| {
        let x: Vec<f32> = (0..d).map(|c| c as f32 + 1.0).collect();
        let x = normed(&x, None);
        let most = f64::from(score(&x, &x));
        assert!((most - (d as f64).sqrt()).abs() < 1e-4);
        let most = (d as f64).sqrt();
        let share = most.exp() / (most.exp() + (T - 1.0) * (-most).exp());
        vec![d as f64, most, share]
    });
    values.insert("qk.bound", [vec![T], rows.concat()].concat());
}

fn costs(values: &mut Values) {
    let (config, attention) = qwen();
    let list = attention.parameters(&config);
    let of = |names: [&str; 2]| -> usize {
        let named = list.iter().filter(|(name, _)| names.contains(&name.as_str()));
        named.map(|(_, p)| p.numel() as usize).sum()
    };
    let (gains, weights) = (of(["q_g", "k_g"]), of(["w_qkv", "w_proj"]));
    let (h, g, d) = (16, 8, 128);
    values.insert("qk.gains", whole(&[2, d, 2 * d, 28, 28 * gains]));
    let norm = 4 * (h + g) * d;
    let shown = [4, h, g, d, norm, 2, weights, 2 * weights, 2 * weights / norm];
    values.insert("qk.cost", whole(&shown));
}

#[test]
fn a_model_with_normed_queries_and_keys() -> Result<()> {
    let config = Config::gpt2(256, 64, 64, 2);
    let attention = Modern::new(4).with_qk_norm();
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    let [q_g, k_g] = model.blocks[0].attention.named(["q_g", "k_g"])?;
    assert_eq!((q_g.shape(), k_g.shape()), (&[16][..], &[16][..])); // [D], for all heads
    Ok(())
}
