//! Kernels that work row by row or number by number: layer norm, softmax, GELU, cross-entropy.

use super::{bench, numbers, traffic};
use criterion::Criterion;
use llm_core::TokenId;
use llm_core::kernels::{cross_entropy, gelu, layernorm, softmax};

/// Rows and width of the residual stream: a small model's, a GPT-2's.
const STREAMS: [[usize; 2]; 2] = [[768, 128], [1024, 768]];
/// The same inside the MLP.
const HIDDEN: [[usize; 2]; 2] = [[768, 512], [1024, 3072]];
/// Scores: of one short sequence, of one long one.
const SCORES: [[usize; 2]; 2] = [[64, 64], [1024, 1024]];
/// Logits: bytes, a GPT-2's vocabulary.
const LOGITS: [[usize; 2]; 2] = [[768, 256], [256, 50257]];

const EPS: f32 = 1e-5;

pub(super) fn benches(c: &mut Criterion) {
    layer_norm(c);
    soft_max(c);
    activation(c);
    loss(c);
}

fn layer_norm(c: &mut Criterion) {
    let mut group = c.benchmark_group("layernorm");
    for [rows, width] in STREAMS {
        let (n, size) = (rows * width, format!("{rows}x{width}"));
        let stats = || vec![0.0; rows * layernorm::STATS];
        bench(
            &mut group,
            format!("forward/{size}"),
            traffic(2 * n),
            || (vec![0.0; n], stats(), numbers(n), numbers(width), numbers(width)),
            |(y, stats, x, g, b)| layernorm::forward(y, stats, x, Some((g, b)), width, EPS),
        );
        // The statistics that backward needs.
        let seen = || {
            let (x, mut stats) = (numbers(n), stats());
            layernorm::forward(&mut vec![0.0; n], &mut stats, &x, None, width, EPS);
            (x, stats)
        };
        bench(
            &mut group,
            format!("backward/{size}"),
            traffic(3 * n),
            || (vec![0.0; n], numbers(n), seen(), numbers(width)),
            |(dx, dy, (x, stats), g)| layernorm::backward(dx, dy, x, stats, Some(g), width),
        );
        bench(
            &mut group,
            format!("backward_affine/{size}"),
            traffic(2 * n),
            || (vec![0.0; width], vec![0.0; width], numbers(n), seen()),
            |(dg, db, dy, (x, stats))| layernorm::backward_affine(dg, db, dy, x, stats, width),
        );
    }
    group.finish();
}

fn soft_max(c: &mut Criterion) {
    let mut group = c.benchmark_group("softmax");
    for [rows, width] in SCORES {
        let (n, size) = (rows * width, format!("{rows}x{width}"));
        bench(
            &mut group,
            format!("forward/{size}"),
            traffic(2 * n),
            || (vec![0.0; n], numbers(n)),
            |(y, x)| softmax::forward(y, x, width),
        );
        bench(
            &mut group,
            format!("backward/{size}"),
            traffic(3 * n),
            || (vec![0.0; n], numbers(n), numbers(n)),
            |(dx, dy, p)| softmax::backward(dx, dy, p, width),
        );
    }
    group.finish();
}

fn activation(c: &mut Criterion) {
    let mut group = c.benchmark_group("gelu");
    for [rows, width] in HIDDEN {
        let (n, size) = (rows * width, format!("{rows}x{width}"));
        bench(
            &mut group,
            format!("forward/{size}"),
            traffic(2 * n),
            || (vec![0.0; n], numbers(n)),
            |(y, x)| gelu::forward(y, x),
        );
        bench(
            &mut group,
            format!("backward/{size}"),
            traffic(3 * n),
            || (vec![0.0; n], numbers(n), numbers(n)),
            |(dx, dy, x)| gelu::backward(dx, dy, x),
        );
    }
    group.finish();
}

fn loss(c: &mut Criterion) {
    let mut group = c.benchmark_group("cross entropy");
    for [rows, width] in LOGITS {
        let (n, size) = (rows * width, format!("{rows}x{width}"));
        // Forward is the sum over the vocabulary; the losses after it touch one number a row.
        bench(
            &mut group,
            format!("forward/{size}"),
            traffic(n),
            || (vec![0.0; rows], numbers(n)),
            |(lse, logits)| cross_entropy::log_sum_exp(lse, logits, width),
        );
        // In place: from the second round on the gradient of the round before takes the place of
        // the logits. It is as good, for the time does not depend on the values.
        bench(
            &mut group,
            format!("backward/{size}"),
            traffic(2 * n),
            || {
                let logits = numbers(n);
                let mut lse = vec![0.0; rows];
                cross_entropy::log_sum_exp(&mut lse, &logits, width);
                let targets: Vec<_> = (0..rows).map(|i| (i * 7 % width) as TokenId).collect();
                (logits, lse, targets)
            },
            |(logits, lse, targets)| {
                cross_entropy::backward_in_place(logits, lse, targets, width, 1.0 / rows as f32);
            },
        );
    }
    group.finish();
}
