//! A block that keeps nothing of what is in it, and is computed again on the way back.

use super::parameters::Structure;
use super::{Attention, Block, Config, Context};
use crate::autograd::{Parent, no_grad};
use crate::base::Result;
use crate::kernels::gemm::{precision, within};
use crate::tensor::{Role, Tensor};
use std::sync::Arc;

/// [`Block::forward`], of which only `x` is kept: the walk back makes the block's graph from it, the same to
/// the bit, and goes through that.
///
/// Reference: Chen et al., "Training Deep Nets with Sublinear Memory Cost".
pub(super) fn recomputed(
    block: &Block,
    x: &Tensor,
    attention: &Arc<dyn Attention>,
    config: &Config,
    ctx: &Context<'_>,
) -> Result<Tensor> {
    let y = no_grad(|| block.forward(x, &**attention, config, ctx))?;
    let mut own = Vec::new();
    block.list("", &mut own);
    let pairs = own.iter().filter_map(|(_, p)| p.adapter()).flat_map(|pair| [&pair.a, &pair.b]);
    let leaves: Vec<Parent> =
        own.iter().map(|(_, p)| *p).chain(pairs).map(Tensor::parent).collect();
    let input = x.parent();
    let parents: Vec<&Parent> = [&input].into_iter().chain(&leaves).collect();
    let kept = (input.clone(), block.clone(), attention.clone(), config.clone());
    let (layer, dropout, norm_eps) = (ctx.layer, ctx.dropout, ctx.norm_eps);
    let (x, precision) = (x.detach(), precision());
    let shape = y.shape().to_vec();
    Ok(Tensor::from_op_sharing("block", &shape, y.storage(), &parents, move |dy, grads| {
        let (input, block, attention, config) = kept;
        let x = if input.wants_grad() { x.into_parameter(Role::default()) } else { x };
        let ctx = Context::new(layer).with_dropout(dropout).with_norm_eps(norm_eps);
        let again = within(precision, || block.forward(&x, &*attention, &config, &ctx));
        let walked = again.and_then(|y| grads.within(&y, dy, &x, &input));
        // What was computed once can be computed again, if not by an attention that is no function.
        walked.unwrap_or_else(|error| std::panic::panic_any(error));
    }))
}
