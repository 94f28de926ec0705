//! Kernels that do little more than move numbers: embedding, AdamW, sums.

use super::{bench, numbers, traffic};
use criterion::Criterion;
use llm_core::TokenId;
use llm_core::kernels::adamw::{self, AdamWUpdate};
use llm_core::kernels::{elementwise, embedding};

/// `[vocabulary, width, tokens]`: a small model on bytes, a GPT-2.
const TABLES: [[usize; 3]; 2] = [[256, 128, 768], [50257, 768, 1024]];
/// Weights `[in, out]` of an MLP's first layer.
const WEIGHTS: [[usize; 2]; 2] = [[128, 512], [768, 3072]];
/// Rows and width of the residual stream.
const STREAMS: [[usize; 2]; 2] = [[768, 128], [1024, 768]];
/// The same inside the MLP.
const HIDDEN: [[usize; 2]; 2] = [[768, 512], [1024, 3072]];

pub(super) fn benches(c: &mut Criterion) {
    embeddings(c);
    optimizer(c);
    sums(c);
}

fn embeddings(c: &mut Criterion) {
    let mut group = c.benchmark_group("embedding");
    for [vocabulary, width, tokens] in TABLES {
        let (n, size) = (tokens * width, format!("{tokens}x{width} of {vocabulary}"));
        // Spread over the whole table, some tokens more than once.
        let ids = || (0..tokens).map(|i| (i * i * 31 % vocabulary) as TokenId).collect::<Vec<_>>();
        bench(
            &mut group,
            format!("forward/{size}"),
            traffic(2 * n),
            || (vec![0.0; n], numbers(vocabulary * width), ids()),
            |(y, w, ids)| {
                let w = &w[..];
                embedding::forward(y, |i| w[i * width..][..width].into(), ids, width);
            },
        );
        bench(
            &mut group,
            format!("backward/{size}"),
            traffic(3 * n),
            || (vec![0.0; vocabulary * width], numbers(n), ids()),
            |(dw, dy, ids)| embedding::backward(dw, dy, ids, width),
        );
    }
    group.finish();
}

fn optimizer(c: &mut Criterion) {
    let update = AdamWUpdate {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.01,
        t: 10,
        grad_scale: 0.5,
    };
    let mut group = c.benchmark_group("adamw update");
    for [cin, out] in WEIGHTS {
        let n = cin * out;
        bench(
            &mut group,
            format!("{cin}x{out}"),
            traffic(7 * n), // reads θ, m, v and g, writes θ, m and v
            || (numbers(n), vec![0.0; n], vec![0.0; n], numbers(n)),
            |(theta, m, v, g)| adamw::step(theta, m, v, g, update),
        );
    }
    group.finish();
}

fn sums(c: &mut Criterion) {
    let mut group = c.benchmark_group("add");
    for [rows, width] in STREAMS {
        let n = rows * width;
        bench(
            &mut group,
            format!("{rows}x{width}"),
            traffic(3 * n),
            || (vec![0.0; n], numbers(n), numbers(n)),
            |(y, a, b)| elementwise::add(y, a, b),
        );
    }
    group.finish();

    let mut group = c.benchmark_group("add_column_sums (bias gradient)");
    for [rows, width] in HIDDEN {
        let n = rows * width;
        bench(
            &mut group,
            format!("{rows}x{width}"),
            traffic(n),
            || (vec![0.0; width], numbers(n)),
            |(sums, x)| elementwise::add_column_sums(sums, x),
        );
    }
    group.finish();
}
