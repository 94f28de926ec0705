//! head_loss: the output head and the loss in one, where the head learns nothing.

use super::cross_entropy::expect_weights;
use super::expect_shape;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Buffer;
use crate::kernels::cross_entropy::{
    IGNORED, backward_in_place, log_sum_exp, row_losses, weighted_sum,
};
use crate::kernels::gemm::{Execution, Factor, matrix, matrix_mut, multiply};
use crate::message;
use crate::profile::span;
use crate::tensor::Tensor;

/// Rows whose scores are there at the same time.
pub const HEAD_PIECE: usize = 256;

/// [`cross_entropy`](super::cross_entropy) of h·W + b, where neither W nor b wants a gradient; where targets have
/// `weights`, the mean over them of wₙ times each loss, `L = −(1/N′)·Σₙ wₙ·ln pₙ`. The scores are
/// computed for some rows at a time, those of rows whose target is ignored not at all, and h's gradient at once.
///
/// # Shapes
/// `h [N, C]`, `w [C, V]`, or `[V, C]` if it is `tied`, `b [V]`, `targets [N]`, `weights [N]` to `[1]`.
///
/// # Gradient
/// dhₙ = dL·wₙ·(softmax(hₙ·W + b) − 1{target})·Wᵀ/N′, N′ the targets that are not ignored.
///
/// # Errors
/// As [`cross_entropy`](super::cross_entropy); [`Error::Config`] when W or b wants a gradient.
pub fn head_loss(
    h: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    tied: bool,
    targets: &[TokenId],
    weights: Option<&[f32]>,
) -> Result<Tensor> {
    let _span = span("head_loss");
    expect_weights("head_loss", targets, weights)?;
    let head = Head::of(h, w, b, tied, targets)?;
    let frozen = !w.wants_grad() && b.is_none_or(|b| !b.wants_grad()) && w.adapter().is_none();
    Error::unless(frozen, "head_loss", message!("the head learns"))?;
    let counted = counted(targets);
    Error::unless(!counted.is_empty(), "targets", message!("all of them are ignored"))?;
    let (c, v) = head.w.dim();
    let parent = h.parent();
    let mut dh = Buffer::zeros(if parent.wants_grad() { h.numel() } else { 0 });
    let (scale, mut total) = (1.0 / counted.len() as f32, 0.0);
    for places in counted.chunks(HEAD_PIECE) {
        let Scores { mut x, mut y, targets, lse } = head.scores(places);
        let weights = weights.map(|w| places.iter().map(|&i| w[i]).collect::<Vec<f32>>());
        total += weighted_sum(row_losses(&lse, &y, &targets, v), weights.as_deref());
        if dh.is_empty() {
            continue;
        }
        let (m, work) = (places.len(), head.work);
        backward_in_place(&mut y, &lse, &targets, weights.as_deref(), v, scale);
        let lift = work.precision.lift(&y);
        if lift != 1.0 {
            y.iter_mut().for_each(|y| *y *= lift);
        }
        let dx = matrix_mut(&mut x, m, c);
        multiply([1.0 / lift, 0.0], matrix(&y, m, v), head.w.t(), None, dx, work);
        for (i, dx) in places.iter().zip(x.chunks_exact(c)) {
            dh[i * c..][..c].copy_from_slice(dx);
        }
    }
    let mean = (total / counted.len() as f64) as f32;
    Ok(Tensor::from_op("head_loss", &[1], vec![mean], &[&h.parent()], move |dy, grads| {
        if dy[0] != 1.0 {
            dh.iter_mut().for_each(|x| *x *= dy[0]);
        }
        grads.give(&parent, dh);
    }))
}

/// What the loss of each row of h is, in nats, in the same pieces: `each` is shown the rows that have a target in
/// their order, with −ln p of that and the scores of all. Nothing is recorded.
///
/// # Shapes
/// As [`head_loss`].
///
/// # Errors
/// As [`cross_entropy`](super::cross_entropy).
pub(crate) fn head_rows(
    h: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    tied: bool,
    targets: &[TokenId],
    mut each: impl FnMut(usize, f32, &[f32]),
) -> Result<()> {
    let _span = span("head_loss");
    let head = Head::of(h, w, b, tied, targets)?;
    let (_, v) = head.w.dim();
    for places in counted(targets).chunks(HEAD_PIECE) {
        let Scores { y, targets, lse, .. } = head.scores(places);
        let losses = row_losses(&lse, &y, &targets, v);
        let rows = places.iter().zip(losses).zip(y.chunks_exact(v));
        rows.for_each(|((&place, loss), row)| each(place, loss, row));
    }
    Ok(())
}

/// The rows that have a target.
fn counted(targets: &[TokenId]) -> Vec<usize> {
    (0..targets.len()).filter(|&i| targets[i] != IGNORED).collect()
}

/// A head and what it is given.
struct Head<'a> {
    h: &'a [f32],
    /// `[C, V]`.
    w: Factor<'a>,
    b: Option<&'a Tensor>,
    targets: &'a [TokenId],
    work: Execution,
}

/// What there is of some rows.
struct Scores {
    /// `[rows, C]`: these rows of h.
    x: Buffer,
    /// `[rows, V]`.
    y: Buffer,
    targets: Vec<TokenId>,
    lse: Buffer,
}

impl<'a> Head<'a> {
    /// Refuses what does not fit together.
    fn of(
        h: &'a Tensor,
        w: &'a Tensor,
        b: Option<&'a Tensor>,
        tied: bool,
        targets: &'a [TokenId],
    ) -> Result<Head<'a>> {
        let [n, c] = h.dims("head_loss", "h of shape [N, C]")?;
        let [rows, columns] = w.dims("head_loss", "w of shape [C, V]")?;
        let v = if tied { rows } else { columns };
        expect_shape("head_loss", "w of shape", w, &if tied { [v, c] } else { [c, v] })?;
        let expected = format_args!("h of shape [{}, C], one row per target", targets.len());
        Error::unless_shaped(n == targets.len(), "head_loss", expected, h.shape())?;
        if let Some(b) = b {
            expect_shape("head_loss", "b of shape", b, &[v])?;
        }
        let outside = |&t: &TokenId| t as usize >= v && t != IGNORED;
        if let Some(position) = targets.iter().position(outside) {
            let token = targets[position];
            return Err(Error::TokenOutOfRange { token, position, vocab_size: v });
        }
        let w = if tied { w.factor([v, c]).t() } else { w.factor([c, v]) };
        Ok(Head { h: h.data(), w, b, targets, work: Execution::here() })
    }

    /// The scores of some rows, x·W + b.
    fn scores(&self, places: &[usize]) -> Scores {
        let &Head { h, w, b, targets, work } = self;
        let (m, (c, v)) = (places.len(), w.dim());
        let x = Buffer::written(m * c, |x| {
            let rows = x.chunks_exact_mut(c).zip(places);
            rows.for_each(|(x, i)| x.copy_from_slice(&h[i * c..][..c]));
        });
        let mut y = Buffer::stale(m * v);
        let (xm, ym) = (matrix(&x, m, c), matrix_mut(&mut y, m, v));
        multiply([1.0, 0.0], xm, w, b.map(Tensor::data), ym, work);
        let targets = places.iter().map(|&i| targets[i]).collect();
        let lse = Buffer::written(m, |lse| log_sum_exp(lse, &y, v));
        Scores { x, y, targets, lse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::cross_entropy::weighted_cross_entropy;
    use crate::ops::{linear_lastdim, linear_tied, mul_scalar};

    /// More rows than a piece has, every third without a target.
    #[test]
    fn loss_and_gradient_are_those_of_all_scores() {
        let (n, c, v) = (2 * HEAD_PIECE + 40, 8, 13);
        let numbers = |n: usize, by: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * by % 89) as f32 - 44.0) / 30.0).collect()
        };
        let target = |i: usize| if i % 3 == 1 { IGNORED } else { (i * 7 % v) as TokenId };
        let targets: Vec<TokenId> = (0..n).map(target).collect();
        let h = Tensor::parameter_from_vec(&[n, c], numbers(n * c, 37)).unwrap();
        let b = Tensor::from_vec(&[v], numbers(v, 11)).unwrap();
        let of_all = numbers(n, 29);
        let kinds = [(false, None), (true, None), (false, Some(&b))];
        let weighted = [None, Some(&of_all[..])];
        for ((tied, b), weights) in kinds.iter().flat_map(|kind| weighted.map(|w| (*kind, w))) {
            let shape = if tied { [v, c] } else { [c, v] };
            let w = Tensor::from_vec(&shape, numbers(c * v, 53)).unwrap();
            let scores = if tied { linear_tied(&h, &w, b) } else { linear_lastdim(&h, &w, b) };
            let whole = weighted_cross_entropy(&scores.unwrap(), &targets, weights).unwrap();
            let pieces = head_loss(&h, &w, b, tied, &targets, weights).unwrap();
            assert!((whole.item() - pieces.item()).abs() < 1e-6);
            let d = |loss: Tensor| {
                let grads = mul_scalar(&loss, 0.5).unwrap().backward().unwrap();
                grads.get(&h).unwrap().to_vec()
            };
            let far =
                d(whole).iter().zip(d(pieces)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-8, "{far}");
        }
        let w = Tensor::parameter_from_vec(&[c, v], numbers(c * v, 53)).unwrap();
        assert!(head_loss(&h, &w, None, false, &targets, None).is_err());
        assert!(head_loss(&h, &w.detach(), None, false, &targets[1..], None).is_err());
        assert!(head_loss(&h, &w.detach(), None, false, &vec![IGNORED; n], None).is_err());
        let other = head_loss(&h, &w.detach(), None, false, &targets, Some(&of_all[1..]));
        assert!(matches!(other, Err(Error::Shape { .. })));
        let far = head_loss(&h, &w.detach(), None, false, &vec![v as TokenId; n], None);
        assert!(matches!(far, Err(Error::TokenOutOfRange { .. })));
    }
}
