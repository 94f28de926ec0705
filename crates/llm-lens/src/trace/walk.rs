//! The whole way of one score: offsets, factors, softmax row, weighted sum, output, and the
//! kernel's word on it.

use super::layout::{HeadLayout, Rotation, Turn, hides, prepared, turned};
use super::numbers::{Parts, QueryRow, Sum, query_row, scale};
use super::sizes::{Place, Sizes};
use super::watch::Seen;
use llm_core::kernels::attention::MASKED;
use llm_core::{Result, ops};
use serde::Serialize;

/// What rounding of f32 may make of numbers around 1.
const TOLERANCE: f64 = 1e-6;

/// A token and what it stands for.
#[derive(Clone, Debug, Serialize)]
pub struct Token {
    /// Its number.
    pub id: u32,
    /// As one sees it.
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
    /// Which score.
    pub place: Place,
    /// Of which block; none for the built-in example.
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
    /// What is stored: the scaled product, or the mask's value.
    pub score: f64,
    /// What the attention has beyond multi-head attention; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<HeadLayout>,
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
        let (c, d) = (sizes.d_model, sizes.head_dim);
        let Place { batch_index: b, head: h, query: i, key: j } = place;
        let qkv = ops::linear_lastdim(&seen.x, &seen.w_qkv, Some(&seen.b_qkv))?; // [B, T, (H+2G)·D]
        let (spec, t) = (&seen.spec, sizes.seq_len);
        let rotary = spec.rotary.as_ref();
        let (wide, g) = (sizes.n_heads * d, sizes.groups());
        let cut = |from: usize, width: usize| ops::slice_lastdim(&qkv, from, width);
        let (q, k, v) = (cut(0, wide)?, cut(wide, g * d)?, cut(wide + g * d, g * d)?);
        let [q_g, k_g] = [0, 1].map(|i| seen.gains.as_ref().map(|gains| &gains[i]));
        let [q_norm, k_norm] = [q_g, k_g].map(|gain| gain.map(|gain| (gain, seen.norm_eps)));
        let [q_before, q] = prepared(rotary, q.data(), [t, sizes.n_heads, d], q_norm);
        let [k_before, k] = prepared(rotary, k.data(), [t, g, d], k_norm);
        let parts = Parts { window: spec.window, q: &q, k: &k, v: v.data() };

        let offsets = Offsets {
            q: sizes.row(b, i, h),
            k: sizes.key_row(b, j, h),
            v: sizes.key_row(b, j, h),
            q_in_qkv: sizes.row_in_qkv(b, i, 0, h),
            k_in_qkv: sizes.row_in_qkv(b, j, 1, h),
            v_in_qkv: sizes.row_in_qkv(b, j, 2, h),
            score: sizes.score(place),
            att: sizes.row(b, i, h),
            out: (b * t + i) * c,
        };
        let column = h * d;
        let (x, w) = ((seen.x.data(), offsets.out), (seen.w_qkv.data(), column, sizes.qkv_width()));
        let [in_bias, out_bias] = seen.biased;
        let projection = Sum::new(c, x, w, in_bias.then_some((seen.b_qkv.data(), column)));

        let used = |head: usize| keep.get(head) != Some(&false);
        let rows =
            (0..sizes.n_heads).map(|head| query_row(&parts, &sizes, Place { head, ..place }));
        let mut rows: Vec<QueryRow> = rows.collect();
        for (_, row) in rows.iter_mut().enumerate().filter(|(head, _)| !used(*head)) {
            row.att.fill(0.0);
        }
        let att: Vec<f64> = rows.iter().flat_map(|row| row.att.iter().copied()).collect();
        let project = |column: usize| {
            let (w, bias) = ((seen.w_proj.data(), column, c), (seen.b_proj.data(), column));
            Sum::new(wide, (&att, 0), w, out_bias.then_some(bias))
        };
        let mut out_first = project(0);
        let att_row = sizes.row(b, i, 0);
        out_first.terms.iter_mut().for_each(|term| term.a_offset += att_row);
        let out = (0..c).map(|column| project(column).value).collect();

        let row = rows.swap_remove(h);
        let dot = Sum::new(d, (&q, offsets.q), (&k, offsets.k, 1), None);
        let (scale, masked) = (scale(&sizes), hides(spec.window, i, j));
        let scaled = dot.value * scale;
        let value_offsets: Vec<usize> =
            (0..sizes.seq_len).map(|j| sizes.key_row(b, j, h)).collect();
        let rotation = rotary.map(|rotary| {
            let (theta, frequencies) = (rotary.theta, rotary.frequencies(d));
            let (width, first) = (2 * frequencies.len(), frequencies.first().copied());
            let (scaled, first) =
                (first.filter(|_| rotary.scaling.is_some()), first.unwrap_or(1.0));
            let pair = [0, width / 2];
            let turn = |row: &[f32], at: usize, position: usize| {
                let before = pair.map(|i| f64::from(row[at + i]));
                let angle = position as f64 * first;
                Turn { position, angle, before, after: turned(before, angle) }
            };
            let (query, key) = (turn(&q_before, offsets.q, i), turn(&k_before, offsets.k, j));
            Rotation { theta, width, scaled, pair, query, key }
        });
        let values = value_offsets.iter().map(|&at| v.data()[at..at + d].to_vec()).collect();
        Ok(Walk {
            kernel: Kernel::compare(seen, &row.probs, &att, column..column + d),
            score: if masked { f64::from(MASKED) } else { scaled },
            head_used: used(h),
            layer: None,
            tokens: None,
            sizes,
            place,
            one_head: false,
            offsets,
            projection,
            dot,
            scale,
            scaled,
            masked,
            layout: Some(HeadLayout::from(spec)).filter(|of| *of != HeadLayout::default()),
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

/// The largest; infinite where one has numbers that the other has not.
fn difference(kernel: &[f32], own: &[f64]) -> f64 {
    if kernel.len() != own.len() {
        return f64::INFINITY;
    }
    let differences = kernel.iter().zip(own).map(|(k, own)| (f64::from(*k) - own).abs());
    // `f64::max` would pass over NaN.
    differences.fold(0.0, |most, next| if most.is_nan() || next <= most { most } else { next })
}
