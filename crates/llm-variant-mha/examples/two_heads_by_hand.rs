//! Two heads of attention twice: the variant's function, and plain loops that read like the
//! equations.
//!
//! `cargo run -p llm-variant-mha --example two_heads_by_hand`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::ops::Context;
use llm_core::{Result, Tensor};
use llm_variant_mha::self_attention_mha;

const T: usize = 3;
const H: usize = 2;
const D: usize = 2;
const C: usize = H * D;

/// Queries, keys and values of the three positions: head 0 has channels 0 and 1, head 1 has 2 and 3.
const Q: [[f32; C]; T] = [[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0], [2.0, 0.0, 1.0, -1.0]];
const K: [[f32; C]; T] = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]];
const V: [[f32; C]; T] = [[1.0, 0.0, 10.0, 0.0], [0.0, 1.0, 0.0, 10.0], [1.0, 1.0, 5.0, 5.0]];

/// Y and P of head h, one number after the other.
fn by_hand(h: usize) -> ([[f32; D]; T], [[f32; T]; T]) {
    let (mut y, mut p) = ([[0.0; D]; T], [[0.0; T]; T]);
    let scale = 1.0 / (D as f32).sqrt(); // 1/√D: the width of a head, not of the model
    for i in 0..T {
        // S_h[i,j] = q_h[i]·k_h[j] / √D for the positions that i may see
        for j in 0..=i {
            let dot: f32 = (0..D).map(|d| Q[i][h * D + d] * K[j][h * D + d]).sum();
            p[i][j] = dot * scale;
        }
        // P_h[i,:] = softmax(S_h[i,:]), the largest score subtracted first; j > i stays 0
        let max = p[i][..=i].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = p[i][..=i].iter().map(|s| (s - max).exp()).sum();
        p[i][..=i].iter_mut().for_each(|s| *s = (*s - max).exp() / sum);
        // Y_h[i] = Σⱼ P_h[i,j]·v_h[j]
        for d in 0..D {
            y[i][d] = (0..=i).map(|j| p[i][j] * V[j][h * D + d]).sum();
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

    let out = self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, H, &Context::new(0))?; // [1, T, C]
    let heads = [0, 1].map(by_hand);

    // The last position: each head has its own weights, and its own columns of the output.
    for (h, (_, p)) in heads.iter().enumerate() {
        println!("P_{h}[2]  {}", show(&p[2]));
    }
    for i in 0..T {
        let side_by_side: Vec<f32> = heads.iter().flat_map(|(y, _)| y[i]).collect();
        let op = &out.data()[i * C..(i + 1) * C];
        println!("loops   {}", show(&side_by_side));
        println!("op      {}", show(op));
        assert!(op.iter().zip(&side_by_side).all(|(a, b)| (a - b).abs() < 1e-6));
    }
    let last = [0.891617, 0.554192, 7.179731, 2.820269];
    assert!(out.data()[2 * C..].iter().zip(last).all(|(y, want)| (y - want).abs() < 1e-5));
    Ok(())
}

fn show(row: &[f32]) -> String {
    row.iter().map(|x| format!("{x:.4} ")).collect::<String>().trim_end().into()
}
