//! Causal attention of one head on one thread, the head cut out of a whole `qkv` as in a model.

use super::{bench, flops, numbers};
use criterion::Criterion;
use llm_core::kernels::attention::{
    Accumulate, Head, HeadGradients, HeadOutput, backward, forward,
};
use llm_core::kernels::gemm::{matrix, matrix_mut};
use llm_core::ndarray::{ArrayView2, s};

/// T positions, D channels a head, heads side by side in `qkv`: how far apart rows lie.
const HEADS: [[usize; 3]; 3] = [[64, 32, 4], [256, 64, 12], [1024, 64, 12]];

/// `qkv [T, 3·H·D]`, `y [T, H·D]`, ln Σ eˢ of the first head's rows, and the gradients.
struct Operands {
    qkv: Vec<f32>,
    y: Vec<f32>,
    lse: Vec<f32>,
    dy: Vec<f32>,
    dqkv: Vec<f32>,
}

pub(super) fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("attention of one head");
    for [t, d, h] in HEADS {
        let setup = || {
            let (qkv, out) = (t * 3 * h * d, t * h * d);
            let mut operands = Operands {
                qkv: numbers(qkv),
                y: vec![0.0; out],
                lse: vec![0.0; t],
                dy: numbers(out),
                dqkv: vec![0.0; qkv],
            };
            run_forward(&mut operands, [t, d, h]); // for the backward bench
            operands
        };
        // A product costs 2·D operations for each pair (query, key it may see). What is done for
        // hidden pairs does not count, nor do the exponentials: so this stays below the ceiling
        // even where the products reach it.
        let product = 2 * d * (t * (t + 1) / 2);
        let forward = format!("forward/T={t} D={d}"); // q·kᵀ, p·v
        bench(&mut group, forward, flops(2 * product), setup, |o| run_forward(o, [t, d, h]));
        let backward = format!("backward/T={t} D={d}"); // q·kᵀ again, dy·vᵀ, pᵀ·dy, ds·k, dsᵀ·q
        bench(&mut group, backward, flops(5 * product), setup, |o| run_backward(o, [t, d, h]));
    }
    group.finish();
}

fn run_forward(o: &mut Operands, [t, d, h]: [usize; 3]) {
    let qkv = [0, h, 2 * h].map(|n| head(&o.qkv, t, d, n));
    let y = matrix_mut(&mut o.y, t, h * d).slice_move(s![.., ..d]);
    forward(Head::new(qkv, scale(d)), y, matrix_mut(&mut o.lse, t, 1));
}

fn run_backward(o: &mut Operands, [t, d, h]: [usize; 3]) {
    let qkv = [0, h, 2 * h].map(|n| head(&o.qkv, t, d, n));
    let [y, dy] = [&o.y, &o.dy].map(|x| head(x, t, d, 0));
    let output = HeadOutput { y, lse: &o.lse, dy };
    let (c, grads) = (h * d, matrix_mut(&mut o.dqkv, t, 3 * h * d));
    let firsts = (s![.., ..d], s![.., c..c + d], s![.., 2 * c..2 * c + d]);
    let (dq, dk, dv) = grads.multi_slice_move(firsts);
    let gradients = HeadGradients { dq, dk, dv };
    backward(Head::new(qkv, scale(d)), output, gradients, Accumulate::First);
}

/// Channels `n·D..(n + 1)·D` of `data [T, ..]`.
fn head(data: &[f32], t: usize, d: usize, n: usize) -> ArrayView2<'_, f32> {
    matrix(data, t, data.len() / t).slice_move(s![.., n * d..(n + 1) * d])
}

fn scale(d: usize) -> f32 {
    1.0 / (d as f32).sqrt()
}
