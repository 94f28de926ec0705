//! The three products of a linear layer `y = x·w`, each named by its own `MxKxN`.

use super::{Group, bench, flops, numbers};
use criterion::Criterion;
use llm_core::kernels::gemm::{Threads, gemm, gemm_bias, matrix, matrix_mut};
use llm_core::ndarray::ArrayView2;
use std::time::Duration;

/// `[rows, in, out]`: the two layers of a small model's MLP, the first of a GPT-2's.
const LAYERS: [[usize; 3]; 3] = [[768, 128, 512], [768, 512, 128], [1024, 768, 3072]];
/// A GPT-2's output head.
const HEAD: [usize; 3] = [256, 768, 50257];

/// How A and B lie in memory: N as the product reads them, T transposed.
#[derive(Clone, Copy)]
enum Layout {
    Nn,
    Nt,
    Tn,
}

/// The `MxKxN` of one of the products of a layer.
type Shape = fn([usize; 3]) -> [usize; 3];

pub(super) fn benches(c: &mut Criterion) {
    // y [rows, out] = x·w, dx [rows, in] = dy·wᵀ, dw [in, out] = xᵀ·dy. A head that is tied to the
    // embedding has w [out, in]: there dx = dy·w is the NN, y = x·wᵀ the NT, dw = dyᵀ·x the TN.
    let products: [(&str, Layout, Shape, Shape); 3] = [
        ("gemm NN (forward)", Layout::Nn, |[r, i, o]| [r, i, o], |[r, i, o]| [r, o, i]),
        ("gemm NT (input gradient)", Layout::Nt, |[r, i, o]| [r, o, i], |[r, i, o]| [r, i, o]),
        ("gemm TN (weight gradient)", Layout::Tn, |[r, i, o]| [i, r, o], |[r, i, o]| [o, r, i]),
    ];
    for (name, layout, shape, tied) in products {
        let mut group = c.benchmark_group(name);
        for layer in LAYERS {
            product(&mut group, layout, shape(layer));
        }
        // These take so long that fewer samples must do, and a longer time for them.
        group.sample_size(10).measurement_time(Duration::from_secs(2));
        product(&mut group, layout, shape(HEAD));
        product(&mut group, layout, tied(HEAD));
        group.finish();
    }

    let mut group = c.benchmark_group("gemm_bias NN (forward)");
    for [m, k, n] in LAYERS {
        bench(
            &mut group,
            format!("{m}x{k}x{n}"),
            flops(2 * m * k * n),
            || (numbers(m * k), numbers(k * n), numbers(n), vec![0.0; m * n]),
            |(a, b, bias, c)| {
                let (a, b, c) = (matrix(a, m, k), matrix(b, k, n), matrix_mut(c, m, n));
                gemm_bias(a, b, bias, c, Threads::Pool);
            },
        );
    }
    group.finish();
}

fn product(group: &mut Group<'_>, layout: Layout, [m, k, n]: [usize; 3]) {
    bench(
        group,
        format!("{m}x{k}x{n}"),
        flops(2 * m * k * n),
        || (numbers(m * k), numbers(k * n), vec![0.0; m * n]),
        |(a, b, c)| {
            let (a, b): (ArrayView2<'_, f32>, ArrayView2<'_, f32>) = match layout {
                Layout::Nn => (matrix(a, m, k), matrix(b, k, n)),
                Layout::Nt => (matrix(a, m, k), matrix(b, n, k).reversed_axes()),
                Layout::Tn => (matrix(a, k, m).reversed_axes(), matrix(b, k, n)),
            };
            gemm(1.0, a, b, 0.0, matrix_mut(c, m, n), Threads::Pool);
        },
    );
}
