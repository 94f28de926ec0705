//! What the exercises have in common. Nothing to write here.

use llm_core::ndarray;

/// A list of numbers: `a[c]`.
pub type Array1 = ndarray::Array1<f64>;
/// A table: `a[[t, c]]`, row t, column c.
pub type Array2 = ndarray::Array2<f64>;
/// A stack of tables: `a[[b, t, c]]`.
pub type Array3 = ndarray::Array3<f64>;
/// A stack of stacks: `a[[b, h, t, d]]`.
pub type Array4 = ndarray::Array4<f64>;

/// The four tensors of attention, laid out as in the library.
#[derive(Clone, Debug)]
pub struct Weights {
    /// `[C, 3C]`: columns 0..C make the queries, C..2C the keys, 2C..3C the values.
    pub w_qkv: Array2,
    /// `[3C]`, in the same order.
    pub b_qkv: Array1,
    /// `[C, C]`: mixes the heads.
    pub w_proj: Array2,
    /// `[C]`.
    pub b_proj: Array1,
}

/// What is kept of the tokens that have been: one entry for each, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// `[C]` each: the keys of all heads side by side.
    pub keys: Vec<Array1>,
    /// `[C]` each: the values of all heads side by side.
    pub values: Vec<Array1>,
}

/// Two thin matrices beside a W of `[in, out]`, which stays as it is.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// `[in, r]`.
    pub a: Array2,
    /// `[r, out]`: 0 at first.
    pub b: Array2,
    /// What A·B is multiplied by is alpha / r.
    pub alpha: f64,
}
