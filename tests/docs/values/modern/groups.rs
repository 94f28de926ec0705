//! Values of docs/variants/modern/grouped_queries.md.

use super::family::{gpt2, llama, qwen, smol};
use super::whole;
use crate::docs::values::head::close;
use crate::docs::values::{Values, list, wide};
use llm_core::{Attention, Config, Result, Tensor, TinyGPT, ops};
use llm_variant_modern::{HeadShape, Modern, causal_attention_grouped};
use std::sync::Arc;

/// Two positions; four heads of queries over two of keys and of values, one channel each.
fn heads() -> HeadShape {
    HeadShape::of([4, 2, 1])
}
const Q: [f32; 4] = [1.0, -1.0, 2.0, 0.0];
/// By position, then group.
const K: [[f32; 2]; 2] = [[0.0, 1.0], [1.0, 0.0]];
const V: [[f32; 2]; 2] = [[1.0, 3.0], [2.0, 5.0]];

fn qkv() -> Tensor {
    let row = |q: [f32; 4], i: usize| [&q[..], &K[i], &V[i]].concat();
    Tensor::parameter_from_vec(&[1, 2, 8], [row([0.0; 4], 0), row(Q, 1)].concat()).unwrap()
}

/// Scores, weights and output of the last position when head h reads `group`.
fn head(h: usize, group: usize) -> [Vec<f32>; 3] {
    let scores = [0, 1].map(|j| Q[h] * K[j][group]);
    let p = ops::softmax_lastdim(&Tensor::from_vec(&[2], scores.to_vec()).unwrap()).unwrap();
    let y = p.data()[0] * V[0][group] + p.data()[1] * V[1][group];
    [scores.to_vec(), p.data().to_vec(), vec![y]]
}

pub fn add(values: &mut Values) {
    let given = [wide(&Q), wide(&K.concat()), wide(&V.concat())].concat();
    values.insert("gqa.given", given);
    let y = causal_attention_grouped(&qkv(), heads(), &[], None).unwrap();
    let (mut rows, mut wrong, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for h in 0..heads().n_heads {
        let group = h / heads().each();
        let [scores, p, own] = head(h, group);
        rows.extend([whole(&[h, group]), wide(&scores), wide(&p), wide(&own)].concat());
        let other = h % heads().kv_heads;
        wrong.extend([whole(&[h, other]), wide(&head(h, other)[2])].concat());
        all.extend(own);
    }
    close(&all, &y.data()[4..]);
    values.insert("gqa.heads", rows);
    values.insert("gqa.wrong", wrong);
    backward(values);

    let nine = HeadShape::of([9, 3, 64]);
    let reads: Vec<usize> = (0..9).map(|h| h / nine.each()).collect();
    let numbers: Vec<usize> = (0..9).collect();
    let modulo: Vec<usize> = (0..9).map(|h| h % 3).collect();
    values.insert("gqa.reads", whole(&[numbers, reads, vec![3], modulo].concat()));
    values.insert("gqa.reads_given", whole(&[9, 3]));
    models(values);
    weights(values);
    exercises(values);
}

/// The gradients of a group's values are sums over its heads.
fn backward(values: &mut Values) {
    let x = qkv();
    let y = causal_attention_grouped(&x, heads(), &[], None).unwrap();
    let last = ops::slice(&y, 1, 1, 1).unwrap();
    let d = ops::sum(&last).unwrap().backward().unwrap().get(&x).unwrap().to_vec();
    let [two, three] = [2, 3].map(|h| head(h, 1)[1].clone());
    let sums = [d[7], d[15]]; // of the second group's value, at both positions
    close(&sums, &[two[0] + three[0], two[1] + three[1]]);
    let line = |j: usize| list![j as u32, 1, two[j], three[j], sums[j]];
    values.insert("gqa.back", [line(0), line(1)].concat());
}

/// Numbers that a model keeps of a position, in all its blocks.
fn kept(config: &Config, attention: &Modern) -> usize {
    config.n_layers * attention.cache_row(config)
}

fn models(values: &mut Values) {
    const MIB: usize = 1 << 20;
    // What stands in the name of a model as a number, its heads, groups and width of a head.
    let all = [
        (&[2][..], gpt2(), [12, 12, 64]),
        (&[], smol(), [9, 3, 64]),
        (&[3], llama(), [32, 8, 128]),
        (&[], qwen(), [16, 8, 128]),
    ];
    let mut table = list![4, 8192, 2];
    for (name, (config, attention), [h, g, d]) in all {
        let numbers = kept(&config, &attention);
        assert_eq!(numbers, config.n_layers * 2 * g * d);
        let full = kept(&config, &Modern::new(h).with_head_dim(d));
        assert_eq!(full, numbers * h / g);
        let mib = numbers * 8192 * 2 / MIB;
        assert_eq!(mib * MIB, numbers * 8192 * 2);
        table.extend(whole(name));
        table.extend(whole(&[config.n_layers, h, g, d, numbers, 4 * numbers, mib, h / g * mib]));
    }
    values.insert("gqa.models", table);
}

fn weights(values: &mut Values) {
    let (config, grouped) = smol();
    let many = Modern::new(9).without_biases();
    let of = |attention: &Modern| -> [usize; 2] {
        let list = attention.parameters(&config);
        [list[0].1.numel() as usize, list[1].1.numel() as usize]
    };
    let [[a, proj], [b, same]] = [of(&many), of(&grouped)];
    assert_eq!(proj, same);
    let rows = [576, 27, 64, a, 576, 15, 64, b, proj, proj, a + proj, b + proj];
    values.insert("gqa.weights", whole(&rows));
    values.insert("gqa.weights_given", whole(&[576, 9, 3, 64]));
}

fn exercises(values: &mut Values) {
    let fits = |g: &usize| Modern::grouped(8, *g).check(&Config::gpt2(4, 4, 64, 1)).is_ok();
    values.insert("gqa.ex_groups_given", list![8]);
    values.insert("gqa.ex_groups", whole(&(1..=8).filter(fits).collect::<Vec<_>>()));
    let twelve = HeadShape::of([12, 4, 1]);
    values.insert("gqa.ex_head_given", list![7, 12, 4]);
    let group = 7 / twelve.each();
    values.insert("gqa.ex_head", whole(&[12, 4, twelve.each(), 7, 3, group, 6, 7, 8, 7, 4, 3]));
    let config = gpt2().0;
    let numbers = kept(&config, &Modern::grouped(12, 3));
    values.insert("gqa.ex_cache_given", list![2, 12, 768, 12, 3]);
    values.insert("gqa.ex_cache", whole(&[2, 12, 3, 64, numbers, 4 * numbers]));
    let small = Config::gpt2(4, 4, 64, 1);
    let list = Modern::grouped(4, 2).parameters(&small);
    values.insert("gqa.ex_shape_given", list![64, 4, 2]);
    values.insert("gqa.ex_shape", whole(&[&[4, 2, 2, 16], &list[0].1.shape[..]].concat()));
}

#[test]
fn four_heads_over_two() -> Result<()> {
    let heads = HeadShape::of([4, 2, 1]);
    let y = causal_attention_grouped(&qkv(), heads, &[], None)?; // [1, 2, 8] to [1, 2, 4]
    assert_eq!(y.data()[..4], [1.0, 1.0, 3.0, 3.0]); // position 0: two heads give the same value
    Ok(())
}

#[test]
fn a_model_with_groups() -> Result<()> {
    let config = Config::gpt2(256, 64, 64, 2);
    let attention = Modern::grouped(4, 2); // 1 group: Modern::multi_query(4)
    assert_eq!(attention.cache_row(&config), 2 * 2 * 16); // multi-head attention: 2 * 64
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    let w_qkv = model.blocks[0].attention.get("w_qkv").unwrap();
    assert_eq!(w_qkv.shape(), [64, (4 + 2 + 2) * 16]);
    Ok(())
}
