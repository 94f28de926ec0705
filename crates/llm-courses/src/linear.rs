//! linear: y = x·Aᵀ + b, with A stored as frameworks store it.

use llm_core::base::rng::{below, stream};
use llm_core::ndarray::ArrayD;
use llm_core::{Error, Result, Tensor, ops};

/// y = x·Aᵀ + b over the last axis, whatever the axes before it. The bias is optional.
///
/// Equations write x·W; here, as in PyTorch's `nn.Linear`, A = Wᵀ is stored.
/// [`permute`](crate::permute()) with `[1, 0]` turns one into the other.
///
/// # Shapes
/// `x [.., in]`, `a [out, in]`, `b [out]` to `[.., out]`.
///
/// # Gradient
/// dx = dy·A, dA = dyᵀ·x, db = Σ_rows dy.
///
/// # Errors
/// [`Error::Shape`] naming the argument that does not fit.
pub fn linear(x: &Tensor, a: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let [_, n_in] = check(a, b)?;
    let expected = format_args!("x of shape [.., {n_in}]");
    Error::unless_shaped(x.shape().last() == Some(&n_in), "linear", expected, x.shape())?;
    ops::linear_tied(x, a, b)
}

/// `[out, in]` of a weight and the bias that goes with it.
fn check(a: &Tensor, b: Option<&Tensor>) -> Result<[usize; 2]> {
    const WEIGHT: &str = "a weight of shape [out, in]";
    let [n_out, n_in] = a.dims("linear", WEIGHT)?;
    Error::unless_shaped(n_out > 0 && n_in > 0, "linear", WEIGHT, a.shape())?;
    match b {
        Some(b) if b.shape() != [n_out] => {
            Err(Error::shape("linear", format!("a bias of shape [{n_out}]"), b.shape()))
        }
        _ => Ok([n_out, n_in]),
    }
}

/// A weight and perhaps a bias for [`linear`].
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// Takes tensors that exist.
    ///
    /// # Errors
    /// [`Error::Shape`] when the weight is no matrix or the bias has not its number of rows.
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Result<Linear> {
        check(&weight, bias.as_ref())?;
        Ok(Linear { weight, bias })
    }

    /// New parameters, weight and bias alike uniform in ±1/√in, as PyTorch's `nn.Linear` starts.
    /// `number` tells apart the maps that have one seed.
    pub(crate) fn random([n_out, n_in]: [usize; 2], seed: u64, number: u64) -> Linear {
        /// Steps between −1 and 1: what an f32 can tell apart.
        const STEPS: usize = 1 << 24;
        let bound = 1.0 / (n_in as f32).sqrt();
        let parameter = |shape: &[usize], which: u64| {
            let mut rng = stream(seed, b"linear\0\0", number, which);
            let mut unit = || below(&mut rng, STEPS) as f32 / (STEPS / 2) as f32 - 1.0;
            Tensor::parameter(ArrayD::from_shape_simple_fn(shape, || bound * unit()))
        };
        Linear { weight: parameter(&[n_out, n_in], 0), bias: Some(parameter(&[n_out], 1)) }
    }

    /// y = x·Aᵀ + b.
    ///
    /// # Errors
    /// As [`linear`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        linear(x, &self.weight, self.bias.as_ref())
    }

    /// Weight and bias, named as in PyTorch.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = (String, &Tensor)> {
        let Linear { weight, bias } = self;
        let bias = bias.as_ref().map(|bias| (format!("{name}.bias"), bias));
        std::iter::once((format!("{name}.weight"), weight)).chain(bias)
    }

    /// [`Linear::named`], for changing them.
    pub(crate) fn named_mut(&mut self, name: &str) -> impl Iterator<Item = (String, &mut Tensor)> {
        let Linear { weight, bias } = self;
        let bias = bias.as_mut().map(|bias| (format!("{name}.bias"), bias));
        std::iter::once((format!("{name}.weight"), weight)).chain(bias)
    }
}
