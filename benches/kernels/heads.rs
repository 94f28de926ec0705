//! One product for the queries of all heads, beside a small product for each head: the two ways to
//! split a model's width that give the same numbers.

use super::{bench, flops, numbers};
use criterion::Criterion;
use llm_core::kernels::gemm::{Threads, gemm, matrix, matrix_mut};

/// `[rows, C, H]`: the W1 model, a width of 512 in 8 heads, GPT-2's.
const MODELS: [[usize; 3]; 3] = [[768, 128, 4], [64, 512, 8], [1024, 768, 12]];

pub(super) fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("queries of all heads");
    for [rows, width, heads] in MODELS {
        for products in [1, heads] {
            let part = width / products;
            bench(
                &mut group,
                format!("{rows}x{width} by {products} products of {width}x{part}"),
                flops(2 * rows * width * width),
                || (numbers(rows * width), numbers(width * width), vec![0.0; rows * width]),
                |(x, w, q)| {
                    let parts = w.chunks(width * part).zip(q.chunks_mut(rows * part));
                    for (w, q) in parts {
                        let (x, w) = (matrix(x, rows, width), matrix(w, width, part));
                        gemm(1.0, x, w, 0.0, matrix_mut(q, rows, part), Threads::Pool);
                    }
                },
            );
        }
    }
    group.finish();
}
