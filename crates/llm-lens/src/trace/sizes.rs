//! Lengths of the axes, and where an element lies: row-major, the last index moves fastest.

use llm_core::{AttentionSpec, Error, Result, message};
use serde::Serialize;

/// Lengths of the axes; C = H·D unless the attention has other heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// B: sequences.
    pub batch_size: usize,
    /// T: positions.
    pub seq_len: usize,
    /// C: width.
    pub d_model: usize,
    /// H: heads of queries.
    pub n_heads: usize,
    /// G: heads of keys and values, where there are fewer than of queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<usize>,
    /// D: channels of a head.
    pub head_dim: usize,
}

/// The place of the score that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// b: the sequence.
    pub batch_index: usize,
    /// h: the head.
    pub head: usize,
    /// i, the position that asks.
    pub query: usize,
    /// j, the position that answers.
    pub key: usize,
}

impl Place {
    /// `Err` unless there is such a place.
    ///
    /// # Errors
    /// [`Error::Config`] naming the index that is too large.
    pub fn check(&self, sizes: &Sizes) -> Result<()> {
        let Sizes { batch_size, seq_len, n_heads, .. } = *sizes;
        for (name, index, n) in [
            ("batch_index", self.batch_index, batch_size),
            ("head", self.head, n_heads),
            ("query", self.query, seq_len),
            ("key", self.key, seq_len),
        ] {
            if index >= n {
                return Err(Error::config(name, message!("{} of {}, counted from 0", index, n)));
            }
        }
        Ok(())
    }
}

impl Sizes {
    /// The sizes of `x [B, T, C]` read by such an attention.
    pub fn new([batch_size, seq_len, d_model]: [usize; 3], attention: &AttentionSpec) -> Sizes {
        let (n_heads, head_dim) = (attention.n_heads, attention.head_dim(d_model));
        let kv_heads = attention.kv_heads.filter(|g| *g != n_heads);
        Sizes { batch_size, seq_len, d_model, n_heads, kv_heads, head_dim }
    }

    /// G: heads of keys and values.
    pub fn groups(&self) -> usize {
        self.kv_heads.unwrap_or(self.n_heads)
    }

    /// The head of keys and values that a head of queries reads: h / (H/G).
    pub fn group(&self, h: usize) -> usize {
        h * self.groups() / self.n_heads.max(1)
    }

    /// (H + 2G)·D: numbers of a position in qkv; 3·C in multi-head attention.
    pub fn qkv_width(&self) -> usize {
        (self.n_heads + 2 * self.groups()) * self.head_dim
    }

    /// First element of a key's or value's row in `[B, T, G, D]`: ((b·T + t)·G + g)·D.
    pub fn key_row(&self, b: usize, t: usize, h: usize) -> usize {
        ((b * self.seq_len + t) * self.groups() + self.group(h)) * self.head_dim
    }

    /// First element of a head's row in `[B, T, H, D]`: ((b·T + t)·H + h)·D.
    pub fn row(&self, b: usize, t: usize, h: usize) -> usize {
        ((b * self.seq_len + t) * self.n_heads + h) * self.head_dim
    }

    /// A head's row in `qkv [B, T, (H+2G)·D]`; `part` is 0 for q, 1 for k, 2 for v. With as many heads
    /// of each: (b·T + t)·3C + part·C + h·D.
    pub fn row_in_qkv(&self, b: usize, t: usize, part: usize, h: usize) -> usize {
        let (all, g) = (self.n_heads, self.groups());
        let head = [h, all + self.group(h), all + g + self.group(h)][part.min(2)];
        (b * self.seq_len + t) * self.qkv_width() + head * self.head_dim
    }

    /// A score in `[B, H, T, T]`, which is `[B, T, T]` for H = 1: ((b·H + h)·T + i)·T + j.
    pub fn score(&self, Place { batch_index: b, head: h, query: i, key: j }: Place) -> usize {
        ((b * self.n_heads + h) * self.seq_len + i) * self.seq_len + j
    }
}
