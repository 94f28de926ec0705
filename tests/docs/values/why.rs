//! Values of docs/variants/mha/why_multi_head_attention.md.

use super::{Values, list};
use llm_core::{Config, Tensor, ndarray::ArrayD, ops};
use llm_courses::{KeepMask, MultiHeadAttention, permute, softmax};
use rand::{Rng, SeedableRng};

const B: usize = 4;
const T: usize = 16;
const C: usize = 512;
const H: usize = 4;
const D: usize = C / H;
const SEED: u64 = 7;

pub fn add(values: &mut Values) {
    values.insert("why.sizes", wide(&[B, T, C, H, C, H, D]));
    values.insert("why.seed", vec![SEED as f64, -1.0, 1.0]);
    let (module, x) = example();
    shapes(values, &module, &x);
    outputs(values, &module, &x);
    let [p, v, a, out] = corner();
    let row = |i: usize| [&p, &v, &a, &out].map(|m| super::wide(&m.data()[3 * i..][..3])).concat();
    values.insert("why.corner", [row(0), row(1), row(2)].concat());
    let [p, v] = [p.data(), v.data()];
    let sum = p[3] * v[0] + p[4] * v[3];
    super::head::close(&[sum], &[a.data()[3]]);
    values.insert("why.corner_sum", super::wide(&[p[3], v[0], p[4], v[3], sum]));
    costs(values);
    // The titles of the trace's steps that show A and the output.
    values.insert("why.steps", list![8, 9]);
}

/// The page's module, and its input.
fn example() -> (MultiHeadAttention, Tensor) {
    let module = MultiHeadAttention::new(C, H, SEED).unwrap();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(SEED);
    let x = ArrayD::from_shape_fn(vec![B, T, C], |_| rng.random_range(-1.0f32..1.0));
    (module, Tensor::new(x))
}

/// The first three positions and columns of the first head of the first sequence: P, V, A, and A times the output
/// matrix.
pub fn corner() -> [Tensor; 4] {
    let (module, x) = example();
    let all = module.attend(&x, Some(&KeepMask::causal(T, T).unwrap())).unwrap();
    let v = module.wv.forward(&x).unwrap();
    [(&all.weights, T), (&v, C), (&all.concat, C), (&all.output, C)].map(|(of, width)| {
        let rows = of.data().chunks(width).take(3).flat_map(|row| row[..3].to_vec());
        Tensor::from_vec(&[3, 3], rows.collect()).unwrap()
    })
}

fn wide(numbers: &[usize]) -> Vec<f64> {
    numbers.iter().map(|&n| n as f64).collect()
}

fn all_shapes(tensors: &[&Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(|x| wide(x.shape())).collect()
}

fn shapes(values: &mut Values, module: &MultiHeadAttention, x: &Tensor) {
    let cut = |y: &Tensor| ops::reshape(y, &[B, T, H, D]).unwrap();
    let in_front = |y: &Tensor| permute(y, &[0, 2, 1, 3]).unwrap();
    let projected = [&module.wq, &module.wk, &module.wv].map(|w| w.forward(x).unwrap());
    let [q, k, v] = projected.each_ref().map(|y| in_front(&cut(y)));
    let split = projected.each_ref().map(|y| all_shapes(&[y, &cut(y), &in_front(&cut(y))]));
    assert!(split.iter().all(|s| *s == split[0]));
    values.insert("why.split", split[0].clone());

    // Every (sequence, head) is one matrix of a batch.
    let stack = |y: &Tensor| ops::reshape(y, &[&[B * H], &y.shape()[2..]].concat()).unwrap();
    let k_t = permute(&k, &[0, 1, 3, 2]).unwrap();
    let back = |y: &Tensor| ops::reshape(y, &[&[B, H], &y.shape()[1..]].concat()).unwrap();
    let scores = back(&ops::bmm(&stack(&q), &stack(&k_t)).unwrap());
    let p = softmax(&ops::mul_scalar(&scores, 1.0 / (D as f32).sqrt()).unwrap(), -1).unwrap();
    let y = back(&ops::bmm(&stack(&p), &stack(&v)).unwrap());
    values.insert("why.trace", all_shapes(&[&q, &k_t, &scores, &p, &y]));
    let of_one = |x: &Tensor| wide(&x.shape()[2..]);
    let first = [of_one(&p), of_one(&v), of_one(&y)].concat();
    values.insert("why.first_head", [wide(&[B * H]), first].concat());

    let all = module.attend(x, None).unwrap();
    let side_by_side = ops::reshape(&in_front(&y), &[B, T, C]).unwrap();
    super::head::close(side_by_side.data(), all.concat.data());
    values.insert("why.concat", all_shapes(&[&y, &in_front(&y), &all.concat, &all.output]));
}

fn outputs(values: &mut Values, module: &MultiHeadAttention, x: &Tensor) {
    let all = module.attend(x, Some(&KeepMask::causal(T, T).unwrap())).unwrap();
    let numbers = |y: &Tensor| -> [f64; 3] {
        let y: Vec<f64> = y.data().iter().map(|&y| y.into()).collect();
        let n = y.len() as f64;
        let mean = y.iter().sum::<f64>() / n;
        let variance = y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
        [mean, variance.sqrt(), y.iter().fold(f64::MIN, |most, &y| most.max(y))]
    };
    let (a, out) = (numbers(&all.concat), numbers(&all.output));
    let shape = |y: &Tensor| wide(&y.shape()[1..]);
    let rows = a.iter().zip(out).flat_map(|(a, out)| [*a, out]);
    let shapes = [shape(&all.concat), shape(&all.output)].concat();
    values.insert("why.a_and_out", shapes.into_iter().chain(rows).collect());
}

fn costs(values: &mut Values) {
    // Number in the name, width, heads.
    let models: [(&[usize], usize, usize); 5] =
        [(&[2], 768, 12), (&[2], 1024, 16), (&[2], 1280, 20), (&[3], 12288, 96), (&[], 4096, 32)];
    let mut table = vec![4.0];
    for (name, c, h) in models {
        assert_eq!(c % h, 0);
        let (weights, biases) = attention_size(c);
        table.extend(wide(name));
        table.extend(wide(&[c, h, c / h, weights, weights + biases]));
    }
    values.insert("why.params", table);
    let mut head_dims = models.map(|(_, c, h)| c / h).to_vec();
    head_dims.sort();
    head_dims.dedup();
    values.insert("why.head_dims", wide(&head_dims));

    let (heads, d) = (8, C / 8);
    values.insert("why.flops_sizes", wide(&[T, C, heads, d]));
    let products = |h: usize, d: usize| (0..h * T * T).map(|_| d).sum::<usize>();
    let mut rows = wide(&[heads, T, T, C, products(1, C), heads, T, T, d, products(heads, d)]);
    rows.extend(wide(&[T, T, T * T, heads, T, T, heads * T * T]));
    values.insert("why.flops", rows);
}

/// Weights and biases of one attention: counted in a model if it is small, from there by C².
fn attention_size(c: usize) -> (usize, usize) {
    let small = 16;
    let model = llm_core::TinyGPT::new(Config::new(2, 2, small, 1), 1).unwrap();
    let count = |names: [&str; 2]| -> usize {
        let of = |name: &str| names.iter().any(|n| *name == format!("blocks.0.{n}"));
        model.parameters().filter(|(name, _)| of(name)).map(|(_, p)| p.numel()).sum()
    };
    let (weights, biases) = (count(["w_qkv", "w_proj"]), count(["b_qkv", "b_proj"]));
    (weights * (c / small) * (c / small), biases * (c / small))
}
