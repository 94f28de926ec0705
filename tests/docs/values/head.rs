//! One head run through the crates: scores, weights, what is kept, the output.

use crate::docs::examples::Rows;
use llm_core::kernels::attention::{Head as Operands, MASKED, forward, probs};
use llm_core::kernels::gemm::{Threads, gemm, matrix, matrix_mut};
use llm_core::{Tensor, ops};

pub struct Head {
    pub scale: f32,
    /// `[T, T]`, before the mask.
    pub scores: [[f32; 3]; 3],
    pub p: [[f32; 3]; 3],
    /// ln Σ e^S of the visible scores.
    pub lse: [f32; 3],
    /// `[T, D]`.
    pub y: Vec<Vec<f32>>,
}

fn table(flat: &[f32]) -> [[f32; 3]; 3] {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| flat[i * 3 + j]))
}

/// Runs the fast kernel and the written-out way, and demands that they agree.
pub fn run<const D: usize>([q, k, v]: [Rows<D>; 3]) -> Head {
    let flat = [q, k, v].map(|rows| rows.concat());
    let [q, k, v] = [0, 1, 2].map(|n| matrix(&flat[n], 3, D));
    let scale = 1.0 / (D as f32).sqrt();

    let mut scores = vec![f32::NAN; 9];
    gemm(scale, q, k.t(), 0.0, matrix_mut(&mut scores, 3, 3), Threads::One);
    let mut masked = table(&scores);
    (0..3).for_each(|i| masked[i][i + 1..].fill(MASKED));
    let masked = Tensor::from_vec(&[1, 3, 3], masked.concat()).unwrap();
    let p = ops::softmax_lastdim(&masked).unwrap();
    close(&probs(q, k, scale), p.data());

    let (mut y, mut lse) = (vec![f32::NAN; 3 * D], [f32::NAN; 3]);
    let head = Operands::new([q, k, v], scale);
    forward(head, matrix_mut(&mut y, 3, D), matrix_mut(&mut lse, 3, 1));
    let p = table(p.data());
    for (i, row) in y.chunks_exact(D).enumerate() {
        let sum = |d: usize| (0..3).map(|j| p[i][j] * v[[j, d]]).sum();
        close(row, &(0..D).map(sum).collect::<Vec<_>>());
        let visible: f32 = table(&scores)[i][..=i].iter().map(|s| s.exp()).sum();
        close(&[lse[i]], &[visible.ln()]);
    }
    let y = y.chunks_exact(D).map(<[f32]>::to_vec).collect();
    Head { scale, scores: table(&scores), p, lse, y }
}

pub fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    let near = |(x, y): (&f32, &f32)| (x - y).abs() < 1e-6 * x.abs().max(1.0);
    assert!(a.iter().zip(b).all(near), "{a:?} and {b:?}");
}
