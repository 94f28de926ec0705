//! The whole way of one score: offsets, factors, softmax row, weighted sum, output, and the
//! kernel's word on it.

use super::layout::{Rotation, capped, hides, prepared, stored};
use super::numbers::{Parts, QueryRow, Sum, query_row, scale};
use super::sizes::{Place, Sizes};
use super::watch::Seen;
use llm_core::{AttentionSpec, Result, ops};
use serde::Serialize;

/// What rounding of f32 may make of numbers around 1.
const TOLERANCE: f64 = 1e-6;

/// A token and what it stands for.
#[derive(Clone, Debug, Serialize)]
pub struct Token {
    /// The token's number.
    pub id: u32,
    /// The token's text.
    pub text: String,
}

/// Where things lie.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Offsets {
    /// The query's row in q.
    pub q: usize,
    /// The key's row in k.
    pub k: usize,
    /// The key's row in v.
    pub v: usize,
    /// The query's row in `qkv [B, T, 3C]`.
    pub q_in_qkv: usize,
    /// The key's row there.
    pub k_in_qkv: usize,
    /// The value's row there.
    pub v_in_qkv: usize,
    /// The score in `[B, H, T, T]`.
    pub score: usize,
    /// The head's output in `[B, T, H, D]`.
    pub att: usize,
    /// The query's row in `[B, T, C]`.
    pub out: usize,
}

/// What the fast kernel has for the same query.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// `[T]`: P.
    pub probs: Vec<f32>,
    /// `[D]`: the head's output.
    pub att: Vec<f32>,
    /// Largest difference to P.
    pub probs_difference: f64,
    /// Largest difference to the outputs of all heads.
    pub att_difference: f64,
    /// Whether both are no more than rounding, 1e-6 of numbers around 1.
    pub agrees: bool,
}

/// One score's way through attention.
#[derive(Clone, Debug, Serialize)]
pub struct Walk {
    /// Lengths of the axes.
    pub sizes: Sizes,
    /// The place of the score.
    pub place: Place,
    /// Number of the block; none for the built-in example.
    pub layer: Option<usize>,
    /// `[T]`: the sequence's tokens; none for the built-in example.
    pub tokens: Option<Vec<Token>>,
    /// Whether the reader knows one head only: then a score has three indices.
    pub one_head: bool,
    /// Where things lie.
    pub offsets: Offsets,
    /// The first number of the query's row, from x and `w_qkv`.
    pub projection: Sum,
    /// q\[i\]·k\[j\].
    pub dot: Sum,
    /// 1/√D.
    pub scale: f64,
    /// The dot product times the scale.
    pub scaled: f64,
    /// Whether j > i, or outside the window.
    pub masked: bool,
    /// The scaled product behind the soft cap, if scores have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capped: Option<f64>,
    /// What is stored: the scaled or capped product, or the mask's value.
    pub score: f64,
    /// What the attention has; left out of JSON where it is multi-head attention.
    #[serde(skip_serializing_if = "AttentionSpec::is_plain")]
    pub attention: AttentionSpec,
    /// How the first pair of channels is turned, where positions are rotary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
    /// The query's row of this head.
    pub row: QueryRow,
    /// `[T]`: where each v row of this head begins.
    pub value_offsets: Vec<usize>,
    /// `[T, D]`: the v rows of this head.
    pub values: Vec<Vec<f32>>,
    /// Whether the head is in use. One that is switched off gives zeros.
    pub head_used: bool,
    /// `[C]`: the outputs of all heads side by side.
    pub att: Vec<f64>,
    /// The first number of the output projection.
    pub out_first: Sum,
    /// `[C]`: att·`w_proj` + `b_proj`.
    pub out: Vec<f64>,
    /// The fast kernel's numbers.
    pub kernel: Kernel,
}

impl Walk {
    /// Follows the score of `place`. `keep` says which heads are in use; empty: all. `layer`,
    /// `tokens` and `one_head` are for the caller to fill in.
    ///
    /// # Errors
    /// [`Error::Config`](llm_core::Error::Config) when there is no such place,
    /// [`Error::Shape`](llm_core::Error::Shape) when what was seen is no attention layer.
    pub fn new(seen: &Seen, sizes: Sizes, place: Place, keep: &[bool]) -> Result<Walk> {
        place.check(&sizes)?;
        let (layer, d) = (Layer::new(seen, &sizes)?, sizes.head_dim);
        let (spec, offsets) = (&seen.spec, Offsets::new(&sizes, place));
        let Place { head: h, query: i, key: j, .. } = place;
        let used = |head: usize| keep.get(head) != Some(&false);
        let mut rows = layer.rows(&sizes, place, used);
        let att: Vec<f64> = rows.iter().flat_map(|row| row.att.iter().copied()).collect();
        let row = rows.swap_remove(h);
        let (out_first, out) = projected(seen, &att, sizes.row(place.batch_index, i, 0));
        let dot = Sum::new(d, (&layer.q, offsets.q), (&layer.k, offsets.k, 1), None);
        let scale = scale(&sizes);
        let scaled = dot.value * scale;
        let value_offsets = layer.value_offsets(&sizes, place);
        let values = value_offsets.iter().map(|&at| layer.v[at..at + d].to_vec()).collect();
        let rotation = spec.rotary.as_ref().map(|rotary| {
            let (query, key) = (&layer.q_before[..], &layer.k_before[..]);
            Rotation::new(rotary, d, [(query, offsets.q, i), (key, offsets.k, j)])
        });
        Ok(Walk {
            kernel: Kernel::compare(seen, &row.probs, &att, h * d..(h + 1) * d),
            score: stored(spec, i, j, scaled),
            capped: spec.soft_cap.map(|_| capped(spec, scaled)),
            masked: hides(spec.window, i, j),
            head_used: used(h),
            layer: None,
            tokens: None,
            one_head: false,
            projection: projection(seen, &sizes, offsets.out, h * d),
            attention: spec.clone(),
            sizes,
            place,
            offsets,
            dot,
            scale,
            scaled,
            rotation,
            row,
            value_offsets,
            values,
            att,
            out_first,
            out,
        })
    }
}

impl Offsets {
    fn new(sizes: &Sizes, place: Place) -> Offsets {
        let Place { batch_index: b, head: h, query: i, key: j } = place;
        Offsets {
            q: sizes.row(b, i, h),
            k: sizes.key_row(b, j, h),
            v: sizes.key_row(b, j, h),
            q_in_qkv: sizes.row_in_qkv(b, i, 0, h),
            k_in_qkv: sizes.row_in_qkv(b, j, 1, h),
            v_in_qkv: sizes.row_in_qkv(b, j, 2, h),
            score: sizes.score(place),
            att: sizes.row(b, i, h),
            out: (b * sizes.seq_len + i) * sizes.d_model,
        }
    }
}

/// Queries, keys and values of a layer, normed and turned as its description says.
struct Layer<'a> {
    spec: &'a AttentionSpec,
    /// Queries before they are turned.
    q_before: Vec<f32>,
    q: Vec<f32>,
    /// Keys before they are turned.
    k_before: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl<'a> Layer<'a> {
    fn new(seen: &'a Seen, sizes: &Sizes) -> Result<Layer<'a>> {
        let qkv = ops::linear_lastdim(&seen.x, &seen.w_qkv, Some(&seen.b_qkv))?; // [B, T, (H+2G)·D]
        let (spec, t, d) = (&seen.spec, sizes.seq_len, sizes.head_dim);
        let (h, g) = (sizes.n_heads, sizes.groups());
        let cut = |from: usize, heads: usize| ops::slice_lastdim(&qkv, from * d, heads * d);
        let norm = |i: usize| seen.gains.as_ref().map(|gains| (&gains[i], seen.norm_eps));
        let turn = |x: &[f32], heads, i| prepared(spec.rotary.as_ref(), x, [t, heads, d], norm(i));
        let [q_before, q] = turn(cut(0, h)?.data(), h, 0);
        let [k_before, k] = turn(cut(h, g)?.data(), g, 1);
        let v = cut(h + g, g)?.data().to_vec();
        Ok(Layer { spec, q_before, q, k_before, k, v })
    }

    /// The query's row of every head; one that is not used gives zeros.
    fn rows(&self, sizes: &Sizes, place: Place, used: impl Fn(usize) -> bool) -> Vec<QueryRow> {
        let parts = Parts { spec: self.spec, q: &self.q, k: &self.k, v: &self.v };
        let row = |head: usize| {
            let mut row = query_row(&parts, sizes, Place { head, ..place });
            if !used(head) {
                row.att.fill(0.0);
            }
            row
        };
        (0..sizes.n_heads).map(row).collect()
    }

    /// Where the values of the head begin, `[T]`.
    fn value_offsets(&self, sizes: &Sizes, place: Place) -> Vec<usize> {
        (0..sizes.seq_len).map(|j| sizes.key_row(place.batch_index, j, place.head)).collect()
    }
}

/// The query's first number, from the row of x that begins at `x_row` and a column of `w_qkv`.
fn projection(seen: &Seen, sizes: &Sizes, x_row: usize, column: usize) -> Sum {
    let (x, w) = ((seen.x.data(), x_row), (seen.w_qkv.data(), column, sizes.qkv_width()));
    let bias = seen.biased[0].then_some((seen.b_qkv.data(), column));
    Sum::new(sizes.d_model, x, w, bias)
}

/// att·`w_proj` + `b_proj`, `[C]`, and how its first number comes about; `att_row`: where att begins.
fn projected(seen: &Seen, att: &[f64], att_row: usize) -> (Sum, Vec<f64>) {
    let c = seen.b_proj.numel();
    let project = |column: usize| {
        let (w, bias) = ((seen.w_proj.data(), column, c), (seen.b_proj.data(), column));
        Sum::new(att.len(), (att, 0), w, seen.biased[1].then_some(bias))
    };
    let mut first = project(0);
    first.terms.iter_mut().for_each(|term| term.a_offset += att_row);
    (first, (0..c).map(|column| project(column).value).collect())
}

impl Kernel {
    fn compare(seen: &Seen, probs: &[f64], att: &[f64], head: std::ops::Range<usize>) -> Kernel {
        let [probs_difference, att_difference] =
            [(&seen.probs, probs), (&seen.att, att)].map(|(kernel, own)| difference(kernel, own));
        let size = att.iter().fold(1.0, |size: f64, y| size.max(y.abs()));
        Kernel {
            probs: seen.probs.clone(),
            att: seen.att.get(head).unwrap_or_default().to_vec(),
            probs_difference,
            att_difference,
            agrees: probs_difference <= TOLERANCE && att_difference <= TOLERANCE * size,
        }
    }
}

/// The largest difference; infinite where one has numbers that the other has not.
fn difference(kernel: &[f32], own: &[f64]) -> f64 {
    if kernel.len() != own.len() {
        return f64::INFINITY;
    }
    let differences = kernel.iter().zip(own).map(|(k, own)| (f64::from(*k) - own).abs());
    // `f64::max` would pass over NaN.
    differences.fold(0.0, |most, next| if most.is_nan() || next <= most { most } else { next })
}
