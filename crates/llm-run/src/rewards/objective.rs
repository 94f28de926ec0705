//! Losses of answers as weights: what ln p of a token is to be multiplied by, so that the weighted cross entropy has
//! the gradient of the loss.

use crate::log::Compared;
use llm_core::model::Batch;

/// What a token of an answer teaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taught {
    /// w, of which −w·∇ln p is the loss's gradient.
    pub weight: f64,
    /// L.
    pub loss: f64,
    /// Whether the ratio is further from 1 than what teaches.
    pub clipped: bool,
    /// The estimate of the distance to the start.
    pub kl: f64,
}

/// A token of an answer with the advantage A, whose ln p is `now`, was `old` when the answer was written and is
/// `start` by the weights of the start:
///
/// ```text
/// r = exp(now − old)    k = exp(start − now) − (start − now) − 1
/// L = −min(r·A, clip(r, 1−ε, 1+ε)·A) + β·k
/// w = r·A, where that is not clipped, + β·(exp(start − now) − 1)
/// ```
///
/// # Reference
/// Schulman et al., "Proximal Policy Optimization Algorithms"; Shao et al., "DeepSeekMath".
pub fn clipped(advantage: f64, [now, old, start]: [f64; 3], [epsilon, beta]: [f32; 2]) -> Taught {
    let (epsilon, beta) = (f64::from(epsilon), f64::from(beta));
    let ratio = libm::exp(now - old);
    let within = ratio.clamp(1.0 - epsilon, 1.0 + epsilon);
    let clipped = ratio * advantage > within * advantage;
    let away = start - now;
    let kl = libm::exp(away) - away - 1.0;
    let weight = if clipped { 0.0 } else { ratio * advantage };
    Taught {
        weight: weight + beta * (libm::exp(away) - 1.0),
        loss: beta * kl - (ratio * advantage).min(within * advantage),
        clipped,
        kl,
    }
}

/// What a pair of answers teaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preferred {
    /// What the better answer and the worse one have gained, β·(now − start).
    pub gains: [f64; 2],
    /// By how much the better answer has gained more than the worse one.
    pub margin: f64,
    /// L.
    pub loss: f64,
    /// w of the tokens of the better answer; −w those of the worse one.
    pub weight: f64,
}

/// A pair of answers whose ln p are `now`, the better one's first, and were `start` by the weights of the start, each
/// the sum of its tokens':
///
/// ```text
/// m = β·((now_c − start_c) − (now_r − start_r))    L = −ln σ(m)    w = β·σ(−m)
/// ```
///
/// # Reference
/// Rafailov et al., "Direct Preference Optimization".
pub fn preferred(now: [f64; 2], start: [f64; 2], beta: f32) -> Preferred {
    let beta = f64::from(beta);
    let gains = [0, 1].map(|i| beta * (now[i] - start[i]));
    let margin = gains[0] - gains[1];
    let loss = (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs()));
    Preferred { gains, margin, loss, weight: beta / (1.0 + libm::exp(margin)) }
}

/// A batch whose weights are advantages with those of [`clipped`] in their place, by ln p of each place `now`, when the
/// answers were written, and at the `start`, which is `now` where it is empty. With it the sums over its tokens of
/// the distance, of those that are clipped, of all, and of the loss.
pub fn weighed(
    mut batch: Batch,
    [now, old, start]: [&[f32]; 3],
    limits: [f32; 2],
) -> (Batch, [f64; 4]) {
    let mut sums = [0.0; 4];
    for (i, weight) in batch.weights.iter_mut().flatten().enumerate() {
        if batch.targets[i] == Batch::IGNORED {
            continue;
        }
        let [now, old] = [now[i], old[i]].map(f64::from);
        let start = start.get(i).map_or(now, |start| f64::from(*start));
        let of = clipped(f64::from(*weight), [now, old, start], limits);
        *weight = of.weight as f32;
        let own = [of.kl, f64::from(u8::from(of.clipped)), 1.0, of.loss];
        sums.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    }
    (batch, sums)
}

impl Compared {
    /// Numbers in the bytes of one.
    pub(super) const BYTES: usize = 56;

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.numbers().iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// The means of sums, each of [`Compared::BYTES`].
    pub(super) fn mean(bytes: &[u8]) -> Compared {
        let sums @ [pairs, ..] = sums::<7>(bytes);
        let means = Compared::of(sums.map(|x| x / pairs.max(1.0)));
        Compared { pairs: pairs as u64, ..means }
    }
}

/// Sums of numbers that come one after the other, N at a time.
pub(super) fn sums<const N: usize>(bytes: &[u8]) -> [f64; N] {
    let mut all = [0.0; N];
    for (i, x) in bytes.as_chunks::<8>().0.iter().enumerate() {
        all[i % N] += f64::from_le_bytes(*x);
    }
    all
}

/// A batch of pairs, a row for each answer, the better ones first, with the weights of [`preferred`], by ln p of each
/// place `now` and at the `start`; and sums over the pairs.
pub fn compared(batch: Batch, logs: [&[f32]; 2], beta: f32) -> (Batch, Compared) {
    let t = batch.shape[1].max(1);
    let [now, start] = logs.map(|log_probs| {
        let sum = |row: &[f32]| row.iter().map(|x| f64::from(*x)).sum::<f64>();
        log_probs.chunks_exact(t).map(sum).collect::<Vec<f64>>()
    });
    let (mut weights, mut sums) = (vec![0.0; batch.targets.len()], Compared::default());
    let each = now.as_chunks().0.iter().zip(start.as_chunks().0);
    for ((now, start), rows) in each.zip(weights.chunks_exact_mut(2 * t)) {
        let of = preferred(*now, *start, beta);
        let (better, worse) = rows.split_at_mut(t);
        better.fill(of.weight as f32);
        worse.fill(-of.weight as f32);
        sums.pairs += 1;
        sums.loss += of.loss;
        sums.margin += of.margin;
        sums.better += of.gains[0];
        sums.worse += of.gains[1];
        sums.accuracy += f64::from(u8::from(of.margin > 0.0));
        sums.likelier += f64::from(u8::from(now[0] > now[1]));
    }
    (Batch { weights: Some(weights), ..batch }, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each weight is minus the loss's slope along ln p, to the left and to the right of every limit.
    #[test]
    fn weights_are_slopes() {
        const H: f64 = 1e-6;
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        for advantage in [-1.5, 0.0, 0.5] {
            for by in [-0.9, -0.3, -0.1, 0.0, 0.1, 0.3, 0.9] {
                for beta in [0.0, 0.25] {
                    let at = |now: f64| clipped(advantage, [now, -1.0, -0.7], [0.2, beta]);
                    let (now, here) = (-1.0 + by, at(-1.0 + by));
                    near(here.weight, (at(now - H).loss - at(now + H).loss) / (2.0 * H));
                    let beyond = (advantage > 0.0 && by > 0.2) || (advantage < 0.0 && by < -0.25);
                    assert_eq!(here.clipped, beyond, "{advantage} {by}");
                    assert!(here.kl >= 0.0);
                }
            }
        }
        for now in [-40.0, -3.0, -2.0, 30.0] {
            let at = |now: f64| preferred([now, -4.0], [-2.5, -3.0], 0.5);
            near(at(now).weight, (at(now - H).loss - at(now + H).loss) / (2.0 * H));
        }
        let start = preferred([-1.0, -2.0], [-1.0, -2.0], 0.1);
        assert_eq!((start.margin, start.loss), (0.0, std::f64::consts::LN_2));
    }
}
