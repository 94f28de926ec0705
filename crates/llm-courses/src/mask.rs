//! The two kinds of mask, as two types: what a number in a mask means is never guessed.

use llm_core::base::memory;
use llm_core::ndarray::{ArrayD, ArrayViewD, IxDyn};
use llm_core::{Error, Result};

/// Numbers that are added to the scores; −∞ hides a position.
///
/// A row of −∞ hides every key: the result is 0. A row of some other very negative number, −1e9
/// for example, hides nothing: in f32 all scores drown in it alike and the weights are uniform.
///
/// # Shapes
/// Anything that broadcasts to the scores `[.., L, S]` (L queries, S keys) by NumPy's rules: axes
/// are compared from the right, an axis of 1 or a missing one is repeated. Heads are an axis:
/// against `[N, H, L, S]`, masks that differ between sequences alone have the shape `[N, 1, L, S]`.
///
/// # Gradient
/// None: a mask is a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveMask {
    values: ArrayD<f32>,
}

impl AdditiveMask {
    /// Any finite numbers and −∞.
    ///
    /// # Errors
    /// [`Error::Config`] when a number is NaN or +∞: no weight could follow from it.
    pub fn new(values: ArrayD<f32>) -> Result<AdditiveMask> {
        match values.iter().find(|x| x.is_nan() || **x == f32::INFINITY) {
            Some(x) => Err(Error::config("mask", format!("{x} cannot be added to a score"))),
            None => Ok(AdditiveMask { values }),
        }
    }

    /// 0 where [`KeepMask::causal`] keeps, −∞ where it hides.
    ///
    /// # Errors
    /// As [`KeepMask::causal`].
    pub fn causal(l: usize, s: usize) -> Result<AdditiveMask> {
        let keep = KeepMask::causal(l, s)?;
        let values = square(l, s, |i, j| if keep.keep[[i, j]] { 0.0 } else { f32::NEG_INFINITY })?;
        Ok(AdditiveMask { values })
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.values.shape()
    }

    /// The mask seen under the shape of the scores.
    pub(crate) fn over(&self, op: &'static str, scores: &[usize]) -> Result<ArrayViewD<'_, f32>> {
        let expected = || format!("a mask that broadcasts, from the right, to {scores:?}");
        let view = self.values.broadcast(IxDyn(scores));
        view.ok_or_else(|| Error::shape(op, expected(), self.shape()))
    }
}

/// 0 where a position is kept, −∞ where it is hidden.
impl From<&KeepMask> for AdditiveMask {
    fn from(mask: &KeepMask) -> AdditiveMask {
        AdditiveMask { values: mask.keep.mapv(|keep| if keep { 0.0 } else { f32::NEG_INFINITY }) }
    }
}

/// The keys that a query may see: 0 hides, anything else keeps.
///
/// # Shapes
/// As for [`AdditiveMask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepMask {
    keep: ArrayD<bool>,
}

impl KeepMask {
    /// From numbers: 0 hides, anything else keeps.
    pub fn new(values: ArrayD<f32>) -> KeepMask {
        KeepMask { keep: values.mapv(|x| x != 0.0) }
    }

    /// Query i of L sees key j of S when j ≤ i + S − L: the last query sees every key. With more
    /// queries than keys the first L − S see none.
    ///
    /// # Shapes
    /// `[L, S]`.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room for the L·S answers, a byte each, or, as
    /// [`Error::Config`], could be on no machine.
    pub fn causal(l: usize, s: usize) -> Result<KeepMask> {
        let keep = square(l, s, |i, j| j + l <= i + s)?;
        Ok(KeepMask { keep })
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.keep.shape()
    }
}

/// An array `[L, S]` of what `f` says for each query and key, if there is room for it.
fn square<T>(l: usize, s: usize, f: impl Fn(usize, usize) -> T) -> Result<ArrayD<T>> {
    let too_many = || Error::config("mask", format!("{l} by {s} scores are too many"));
    let count = l.checked_mul(s).ok_or_else(too_many)?;
    let needed = (count as u64).checked_mul(size_of::<T>() as u64).ok_or_else(too_many)?;
    memory::require(needed)?;
    let mut values = Vec::new();
    let refused = |_| Error::Memory { needed, available: memory::available() };
    values.try_reserve_exact(count).map_err(refused)?;
    values.extend((0..l).flat_map(|i| (0..s).map(move |j| (i, j))).map(|(i, j)| f(i, j)));
    ArrayD::from_shape_vec(IxDyn(&[l, s]), values).map_err(|_| too_many())
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::ndarray::arr2;

    #[test]
    fn causal_is_aligned_at_the_last_query_and_key() {
        for (l, s, want) in [
            (2, 2, vec![1.0, 0.0, 1.0, 1.0]),
            (2, 3, vec![1.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
            (3, 2, vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
        ] {
            let want = KeepMask::new(ArrayD::from_shape_vec(vec![l, s], want).unwrap());
            assert_eq!(KeepMask::causal(l, s).unwrap(), want);
            assert_eq!(AdditiveMask::causal(l, s).unwrap(), AdditiveMask::from(&want));
        }
        assert_eq!(KeepMask::causal(0, 3).unwrap().shape(), [0, 3]);
        assert!(KeepMask::causal(0, usize::MAX).is_err()); // no view of it could be had
        for (l, s) in
            [(usize::MAX, 2), (usize::MAX, usize::MAX), (1 << 31, 1 << 31), (1 << 40, 1 << 12)]
        {
            for refused in [
                KeepMask::causal(l, s).map(drop).unwrap_err(),
                AdditiveMask::causal(l, s).map(drop).unwrap_err(),
            ] {
                assert!(
                    matches!(refused, Error::Config { .. } | Error::Memory { .. }),
                    "{refused}"
                );
            }
        }
    }

    /// −0 is 0; a small or negative number, and even NaN, keeps.
    #[test]
    fn only_zero_hides() {
        let mask = KeepMask::new(arr2(&[[0.0, -0.0, 1.0], [-1.0, 1e-30, f32::NAN]]).into_dyn());
        let hidden = f32::NEG_INFINITY;
        let want = arr2(&[[hidden, hidden, 0.0], [0.0, 0.0, 0.0]]).into_dyn();
        assert_eq!(AdditiveMask::from(&mask), AdditiveMask::new(want).unwrap());
    }

    #[test]
    fn what_cannot_be_added_is_refused() {
        for x in [f32::NAN, f32::INFINITY] {
            let error = AdditiveMask::new(arr2(&[[0.0, x]]).into_dyn()).unwrap_err();
            assert!(error.to_string().starts_with("mask: "), "{error}");
        }
    }
}
