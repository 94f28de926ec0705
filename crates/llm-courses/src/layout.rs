//! The lengths of one attention, and its arrays as stacks of heads.

use llm_core::ndarray::ArrayViewMut4;
use llm_core::{Error, Result, Tensor};

/// What all arrays of one attention agree on: `q [batch.., L, H·D]`, `k [batch.., S, H·D]`,
/// `v [batch.., S, H·Dv]`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The axes before the last two.
    batch: Vec<usize>,
    /// Whether the scores have an axis for the heads.
    head_axis: bool,
    pub sizes: Sizes,
}

/// A [`Layout`] as plain numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Product of the batch axes.
    pub b: usize,
    pub h: usize,
    /// Queries.
    pub l: usize,
    /// Keys.
    pub s: usize,
    /// Channels of a head's queries and keys.
    pub d: usize,
    /// Channels of a head's values.
    pub dv: usize,
}

impl Layout {
    /// Checks query, key and value against each other. Without `n_heads` there is one head and no
    /// axis for it.
    pub(crate) fn new(
        op: &'static str,
        [q, k, v]: [&Tensor; 3],
        n_heads: Option<usize>,
    ) -> Result<Layout> {
        let [batch @ .., l, c] = q.shape() else {
            return Err(Error::shape(op, "query of shape [.., L, D]", q.shape()));
        };
        let s = match k.shape() {
            [of_k @ .., s, c_of_k] if of_k == batch && c_of_k == c => *s,
            other => return Err(misfit(op, "key", batch, ["S".into(), c.to_string()], other)),
        };
        let cv = match v.shape() {
            [of_v @ .., s_of_v, cv] if of_v == batch && *s_of_v == s => *cv,
            other => return Err(misfit(op, "value", batch, [s.to_string(), "Dv".into()], other)),
        };
        for (name, x) in [("query", q), ("key", k), ("value", v)] {
            let expected = format_args!("{name} without an empty axis");
            Error::unless_shaped(x.numel() > 0, op, expected, x.shape())?;
        }
        let h = n_heads.unwrap_or(1);
        let (d, dv) = (head_dim(*c, h)?, head_dim(cv, h)?);
        let sizes = Sizes { b: batch.iter().product(), h, l: *l, s, d, dv };
        Ok(Layout { batch: batch.to_vec(), head_axis: n_heads.is_some(), sizes })
    }

    /// `[batch.., H, L, S]`; without a head axis `[batch.., L, S]`.
    pub(crate) fn scores(&self) -> Vec<usize> {
        let Sizes { h, l, s, .. } = self.sizes;
        let heads = if self.head_axis { &[h][..] } else { &[] };
        [&self.batch, heads, &[l, s]].concat()
    }

    /// `[batch.., L, H·Dv]`.
    pub(crate) fn result(&self) -> Vec<usize> {
        let Sizes { h, l, dv, .. } = self.sizes;
        [&self.batch[..], &[l, h * dv]].concat()
    }
}

impl Sizes {
    /// Scores in all.
    pub(crate) fn scores(&self) -> usize {
        self.b * self.h * self.l * self.s
    }

    /// Where the scores of a head lie in `[B, H, L, S]`.
    pub(crate) fn range(&self, sequence: usize, head: usize) -> std::ops::Range<usize> {
        let first = (sequence * self.h + head) * self.l * self.s;
        first..first + self.l * self.s
    }

    /// One number for every score as `[B, H, L, S]`.
    pub(crate) fn score_views_mut<'a>(&self, data: &'a mut [f32]) -> ArrayViewMut4<'a, f32> {
        let Sizes { b, h, l, s, .. } = *self;
        ArrayViewMut4::from_shape((b, h, l, s), data).expect("made to measure")
    }
}

/// D = C/H.
///
/// # Errors
/// [`Error::Config`] listing the numbers of heads that divide C.
pub(crate) fn head_dim(c: usize, n_heads: usize) -> Result<usize> {
    if n_heads > 0 && c.is_multiple_of(n_heads) {
        return Ok(c / n_heads);
    }
    let divisors: Vec<String> =
        (1..=c).filter(|h| c.is_multiple_of(*h)).map(|h| h.to_string()).collect();
    let reason = format!(
        "{n_heads} heads do not divide a width (d_model) of {c}; valid values: {}",
        divisors.join(", ")
    );
    Err(Error::config("heads", reason))
}

fn misfit(op: &'static str, name: &str, batch: &[usize], last: [String; 2], x: &[usize]) -> Error {
    let axes: Vec<String> = batch.iter().map(usize::to_string).chain(last).collect();
    Error::shape(op, format!("{name} of shape [{}]", axes.join(", ")), x)
}
