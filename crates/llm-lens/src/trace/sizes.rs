//! Lengths of the axes, and where an element lies: row-major, the last index moves fastest.

use llm_core::{Error, Result};
use serde::Serialize;

/// Lengths of the axes, C = H·D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// B.
    pub batch_size: usize,
    /// T.
    pub seq_len: usize,
    /// C.
    pub d_model: usize,
    /// H.
    pub n_heads: usize,
    /// D.
    pub head_dim: usize,
}

/// Which score is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// b.
    pub batch_index: usize,
    /// h.
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
                return Err(Error::config(name, format!("{index} of {n}, counted from 0")));
            }
        }
        Ok(())
    }
}

impl Sizes {
    /// Of `x [B, T, C]` read by H heads; H divides C.
    pub fn new([batch_size, seq_len, d_model]: [usize; 3], n_heads: usize) -> Sizes {
        Sizes { batch_size, seq_len, d_model, n_heads, head_dim: d_model / n_heads.max(1) }
    }

    /// First element of a head's row in `[B, T, H, D]`, which is `[B, T, C]`: ((b·T + t)·H + h)·D.
    pub fn row(&self, b: usize, t: usize, h: usize) -> usize {
        ((b * self.seq_len + t) * self.n_heads + h) * self.head_dim
    }

    /// The same row in `qkv [B, T, 3C]`; `part` is 0 for q, 1 for k, 2 for v:
    /// (b·T + t)·3C + part·C + h·D.
    pub fn row_in_qkv(&self, b: usize, t: usize, part: usize, h: usize) -> usize {
        let c = self.d_model;
        (b * self.seq_len + t) * 3 * c + part * c + h * self.head_dim
    }

    /// A score in `[B, H, T, T]`, which is `[B, T, T]` for H = 1: ((b·H + h)·T + i)·T + j.
    pub fn score(&self, Place { batch_index: b, head: h, query: i, key: j }: Place) -> usize {
        ((b * self.n_heads + h) * self.seq_len + i) * self.seq_len + j
    }
}
