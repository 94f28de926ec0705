//! cross_entropy: how surprised the model is by the tokens that came.

use crate::base::{Error, Result, TokenId};
use crate::buffer::{Buffer, Tokens};
use crate::kernels::cross_entropy::{self as kernel, IGNORED};
use crate::listing::Fact;
use crate::message;
use crate::profile::span;
use crate::tensor::{Op, Tensor};
use std::sync::Arc;

/// `L = −(1/N)·Σₙ ln softmax(logits[n])[targets[n]]`, in nats; the mean in f64. Targets that are
/// [`Batch::IGNORED`](crate::model::Batch::IGNORED) are left out of the sum and of N.
///
/// # Shapes
/// `logits [N, V]`, `targets [N]` to `[1]`.
///
/// # Gradient
/// `dlogits[n, v] = dL·(softmax(logits[n])ᵥ − 1{v = targets[n]})/N`. When nothing else holds the
/// logits any more, the gradient is written over them.
///
/// # Errors
/// [`Error::Shape`] when the lengths do not fit, [`Error::TokenOutOfRange`] for a target ≥ V,
/// [`Error::Config`] when every target is ignored.
pub fn cross_entropy(logits: &Tensor, targets: &[TokenId]) -> Result<Tensor> {
    weighted_cross_entropy(logits, targets, None)
}

/// [`cross_entropy`] where each target has a weight of either sign: `L = −(1/N)·Σₙ wₙ·ln
/// softmax(logits[n])[targets[n]]`. N are the targets that are not ignored, whatever their weights: with
/// the advantages of answers as weights it is the loss of a policy gradient.
///
/// # Shapes
/// `weights [N]`; the others as for [`cross_entropy`].
///
/// # Gradient
/// `dlogits[n, v] = dL·wₙ·(softmax(logits[n])ᵥ − 1{v = targets[n]})/N`.
///
/// # Errors
/// As [`cross_entropy`]; [`Error::Shape`] for another number of weights.
///
/// # Reference
/// Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning".
pub(crate) fn weighted_cross_entropy(
    logits: &Tensor,
    targets: &[TokenId],
    weights: Option<&[f32]>,
) -> Result<Tensor> {
    let _span = span("cross_entropy");
    let [n, v] = logits.dims("cross_entropy", "logits of shape [N, V]")?;
    let fits = n == targets.len() && n > 0 && v > 0;
    let expected = format_args!("logits of shape [{}, V], one row per target", targets.len());
    Error::unless_shaped(fits, "cross_entropy", expected, logits.shape())?;
    expect_weights("cross_entropy", targets, weights)?;
    let outside = |&t: &TokenId| t as usize >= v && t != IGNORED;
    if let Some(position) = targets.iter().position(outside) {
        return Err(Error::TokenOutOfRange { token: targets[position], position, vocab_size: v });
    }
    let counted = targets.iter().filter(|&&t| t != IGNORED).count();
    Error::unless(counted > 0, "targets", message!("all of them are ignored"))?;
    let lse = Buffer::written(n, |lse| kernel::log_sum_exp(lse, logits.data(), v));
    let total = kernel::weighted_sum(kernel::row_losses(&lse, logits.data(), targets, v), weights);
    let mean = (total / counted as f64) as f32;

    let (parent, storage, given) = (logits.parent(), logits.storage(), targets);
    let targets = Tokens::copy_of(given);
    let facts = || {
        let mut facts = vec![("targets", Fact::Ids(given.to_vec()))];
        facts.extend(weights.map(|weights| ("weights", Fact::Values(weights.to_vec()))));
        facts
    };
    let kept = weights.map(Buffer::copy_of);
    let op = Op::new("cross_entropy", [logits]).says(&facts);
    Ok(Tensor::from_op(op, &[1], vec![mean], &[&logits.parent()], move |dy, grads| {
        let mut dlogits = Arc::try_unwrap(storage).unwrap_or_else(|kept| Buffer::copy_of(&kept));
        kernel::backward_in_place(
            &mut dlogits,
            &lse,
            &targets,
            kept.as_deref(),
            v,
            dy[0] / counted as f32,
        );
        grads.give(&parent, dlogits);
    }))
}

/// Refuses weights of other targets.
pub(super) fn expect_weights(
    op: &'static str,
    targets: &[TokenId],
    weights: Option<&[f32]>,
) -> Result<()> {
    let n = weights.map_or(targets.len(), <[f32]>::len);
    let expected = format_args!("{} weights, one per target", targets.len());
    Error::unless_shaped(n == targets.len(), op, expected, &[n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck;

    fn logits() -> Tensor {
        let x = (0..5 * 7).map(|i| ((i * 37) % 23) as f32 / 9.0 - 1.0).collect();
        Tensor::parameter_from_vec(&[5, 7], x).unwrap()
    }

    const TARGETS: [TokenId; 5] = [3, IGNORED, 0, 6, 3];
    const WEIGHTS: [f32; 5] = [1.5, 4.0, -0.75, 0.0, 2.0];

    #[test]
    fn weights_have_their_gradient() {
        let loss = |x: &[Tensor]| weighted_cross_entropy(&x[0], &TARGETS, Some(&WEIGHTS));
        gradcheck::check(&[logits()], 1, loss).unwrap();
    }

    /// Weights of 1 are none, twice the weights twice the loss, and another weight of an ignored target
    /// nothing at all.
    #[test]
    fn weights_multiply_and_do_not_count() {
        let loss = |weights: Option<&[f32]>| {
            let x = logits();
            let loss = weighted_cross_entropy(&x, &TARGETS, weights).unwrap();
            let grads = loss.backward().unwrap();
            (loss.item(), grads.get(&x).unwrap().to_vec())
        };
        assert_eq!(loss(None), loss(Some(&[1.0; 5])));
        let ((one, d_one), (two, d_two)) =
            (loss(Some(&WEIGHTS)), loss(Some(&WEIGHTS.map(|w| 2.0 * w))));
        assert_eq!(2.0 * one, two);
        assert_eq!(d_one.iter().map(|d| 2.0 * d).collect::<Vec<_>>(), d_two);
        let mut others = WEIGHTS;
        others[1] = -9.0;
        assert_eq!(loss(Some(&WEIGHTS)), loss(Some(&others)));
        let few = weighted_cross_entropy(&logits(), &TARGETS, Some(&WEIGHTS[1..]));
        assert!(matches!(few, Err(Error::Shape { .. })));
    }
}
