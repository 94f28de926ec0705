//! The equations of one query of one head, in f64:
//!
//! ```text
//! S[j] = (Σ_d q[i,d]·k[j,d]) · 1/√D    for j ≤ i;  -1e9 for j > i, and outside a window
//! S[j] = c·tanh(S[j]/c)                with a soft cap c
//! P[j] = e^(S[j] − max S) / Σ_j e^(S[j] − max S)
//! Y[d] = Σ_j P[j]·v[j,d]
//! ```

use super::layout::stored;
use super::sizes::{Place, Sizes};
use llm_core::AttentionSpec;
use serde::Serialize;

/// Queries `[B, T, H·D]`, keys and values `[B, T, G·D]`, and what the attention has.
pub(super) struct Parts<'a> {
    pub spec: &'a AttentionSpec,
    pub q: &'a [f32],
    pub k: &'a [f32],
    pub v: &'a [f32],
}

/// One query's row of a head.
#[derive(Clone, Debug, Serialize)]
pub struct QueryRow {
    /// `[T]`: q\[i\]·k\[j\], of hidden positions too.
    pub dots: Vec<f64>,
    /// `[T]`: S.
    pub scores: Vec<f64>,
    /// The largest score.
    pub max: f64,
    /// `[T]`: e^(S − max).
    pub exps: Vec<f64>,
    /// Σ e^(S − max).
    pub sum: f64,
    /// `[T]`: P.
    pub probs: Vec<f64>,
    /// `[D]`: Y.
    pub att: Vec<f64>,
}

/// A product of two stored numbers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Term {
    /// Offset of the first number.
    pub a_offset: usize,
    /// Offset of the second number.
    pub b_offset: usize,
    /// The first number.
    pub a: f64,
    /// The second number.
    pub b: f64,
}

/// A stored number that is added.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bias {
    /// The bias's offset.
    pub offset: usize,
    /// The number.
    pub value: f64,
}

/// a₀·b₀ + a₁·b₁ + …, and a bias where there is one.
#[derive(Clone, Debug, Serialize)]
pub struct Sum {
    /// The products.
    pub terms: Vec<Term>,
    /// The bias, if there is one.
    pub bias: Option<Bias>,
    /// The sum.
    pub value: f64,
}

impl Sum {
    /// `n` products: a from `a_start` on, one by one; b from `b_start` on, `stride` apart.
    pub(super) fn new<A: Copy + Into<f64>>(
        n: usize,
        (a, a_start): (&[A], usize),
        (b, b_start, stride): (&[f32], usize, usize),
        bias: Option<(&[f32], usize)>,
    ) -> Sum {
        let term = |c: usize| {
            let (a_offset, b_offset) = (a_start + c, b_start + c * stride);
            Term { a_offset, b_offset, a: a[a_offset].into(), b: b[b_offset].into() }
        };
        let terms: Vec<Term> = (0..n).map(term).collect();
        let bias = bias.map(|(data, offset)| Bias { offset, value: data[offset].into() });
        let products: f64 = terms.iter().map(|t| t.a * t.b).sum();
        Sum { terms, bias, value: products + bias.map_or(0.0, |bias| bias.value) }
    }
}

/// 1/√D: scores are multiplied by it, not divided by √D.
pub(super) fn scale(sizes: &Sizes) -> f64 {
    1.0 / (sizes.head_dim as f64).sqrt()
}

/// The row of `place`'s query; its key does not matter.
pub(super) fn query_row(parts: &Parts<'_>, sizes: &Sizes, place: Place) -> QueryRow {
    let Place { batch_index: b, head: h, query: i, .. } = place;
    let dot = |j: usize| {
        let (q, k) = (sizes.row(b, i, h), sizes.key_row(b, j, h));
        let term = |d: usize| f64::from(parts.q[q + d]) * f64::from(parts.k[k + d]);
        (0..sizes.head_dim).map(term).sum()
    };
    let dots: Vec<f64> = (0..sizes.seq_len).map(dot).collect();
    let score = |j: usize| stored(parts.spec, i, j, dots[j] * scale(sizes));
    let scores: Vec<f64> = (0..sizes.seq_len).map(score).collect();
    let max = scores.iter().copied().fold(f64::MIN, f64::max);
    let exps: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    let probs: Vec<f64> = exps.iter().map(|e| e / sum).collect();
    let att = |d: usize| {
        let term = |j: usize| probs[j] * f64::from(parts.v[sizes.key_row(b, j, h) + d]);
        (0..sizes.seq_len).map(term).sum()
    };
    let att = (0..sizes.head_dim).map(att).collect();
    QueryRow { dots, scores, max, exps, sum, probs, att }
}
