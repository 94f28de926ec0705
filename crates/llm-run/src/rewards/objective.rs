//! Losses of answers as weights: what ln p of a token is to be multiplied by, so that the weighted cross entropy has
//! the gradient of the loss.

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
    let margin = beta * ((now[0] - start[0]) - (now[1] - start[1]));
    let loss = (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs()));
    Preferred { margin, loss, weight: beta / (1.0 + libm::exp(margin)) }
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
