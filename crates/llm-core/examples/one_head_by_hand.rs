//! One head of attention twice: the library's op, and plain loops that read like the equations.
//!
//! `cargo run -p llm-core --example one_head_by_hand`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::{Result, Tensor, ops};

const T: usize = 3;
const C: usize = 4;

/// Queries, keys and values of the three positions.
const Q: [[f32; C]; T] = [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]];
const K: [[f32; C]; T] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]];
const V: [[f32; C]; T] = [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]];

/// Y and P, one number after the other.
fn by_hand() -> ([[f32; C]; T], [[f32; T]; T]) {
    let (mut y, mut p) = ([[0.0; C]; T], [[0.0; T]; T]);
    let scale = 1.0 / (C as f32).sqrt();
    for i in 0..T {
        // S[i,j] = q[i]·k[j] / √C for the positions that i may see
        for j in 0..=i {
            let dot: f32 = (0..C).map(|c| Q[i][c] * K[j][c]).sum();
            p[i][j] = dot * scale;
        }
        // P[i,:] = softmax(S[i,:]), the largest score subtracted first; j > i stays 0
        let max = p[i][..=i].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = p[i][..=i].iter().map(|s| (s - max).exp()).sum();
        p[i][..=i].iter_mut().for_each(|s| *s = (*s - max).exp() / sum);
        // Y[i] = Σⱼ P[i,j]·v[j]
        for c in 0..C {
            y[i][c] = (0..=i).map(|j| p[i][j] * V[j][c]).sum();
        }
    }
    (y, p)
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // x[t] is a single one at place t, so x·W_qkv picks row t of W_qkv: q[t], k[t], v[t] side by
    // side. The output projection is the identity, the biases are zero.
    let unit = |rows: usize| (0..rows * C).map(|n| if n / C == n % C { 1.0 } else { 0.0 });
    let mut rows: Vec<f32> = (0..T).flat_map(|t| [Q[t], K[t], V[t]].concat()).collect();
    rows.resize(C * 3 * C, 0.0);
    let x = Tensor::from_vec(&[1, T, C], unit(T).collect())?;
    let w_qkv = Tensor::from_vec(&[C, 3 * C], rows)?;
    let b_qkv = Tensor::from_vec(&[3 * C], vec![0.0; 3 * C])?;
    let w_proj = Tensor::from_vec(&[C, C], unit(C).collect())?;
    let b_proj = Tensor::from_vec(&[C], vec![0.0; C])?;

    let out = ops::self_attention_1h(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, &ops::Context::new(0))?; // [1, T, C]
    let (y, p) = by_hand();

    for i in 0..T {
        let op = &out.data()[i * C..(i + 1) * C];
        println!("P[{i}]   {}", show(&p[i]));
        println!("loops  {}", show(&y[i]));
        println!("op     {}", show(op));
        assert!(op.iter().zip(&y[i]).all(|(a, b)| (a - b).abs() < 1e-6));
        assert!((p[i].iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
    Ok(())
}

fn show(row: &[f32]) -> String {
    row.iter().map(|x| format!("{x:.4} ")).collect::<String>().trim_end().into()
}
