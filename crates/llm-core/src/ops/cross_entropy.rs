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
    let _span = span("cross_entropy");
    let [n, v] = logits.dims("cross_entropy", "logits of shape [N, V]")?;
    let fits = n == targets.len() && n > 0 && v > 0;
    let expected = format_args!("logits of shape [{}, V], one row per target", targets.len());
    Error::unless_shaped(fits, "cross_entropy", expected, logits.shape())?;
    let outside = |&t: &TokenId| t as usize >= v && t != IGNORED;
    if let Some(position) = targets.iter().position(outside) {
        return Err(Error::TokenOutOfRange { token: targets[position], position, vocab_size: v });
    }
    let counted = targets.iter().filter(|&&t| t != IGNORED).count();
    Error::unless(counted > 0, "targets", message!("all of them are ignored"))?;
    let lse = Buffer::written(n, |lse| kernel::log_sum_exp(lse, logits.data(), v));
    let total: f64 = kernel::row_losses(&lse, logits.data(), targets, v).map(f64::from).sum();
    let mean = (total / counted as f64) as f32;

    let (parent, storage, given) = (logits.parent(), logits.storage(), targets);
    let targets = Tokens::copy_of(given);
    let facts = || vec![("targets", Fact::Ids(given.to_vec()))];
    let op = Op::new("cross_entropy", [logits]).says(&facts);
    Ok(Tensor::from_op(op, &[1], vec![mean], &[&logits.parent()], move |dy, grads| {
        let mut dlogits = Arc::try_unwrap(storage).unwrap_or_else(|kept| Buffer::copy_of(&kept));
        kernel::backward_in_place(&mut dlogits, &lse, &targets, v, dy[0] / counted as f32);
        grads.give(&parent, dlogits);
    }))
}
