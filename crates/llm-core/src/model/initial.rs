//! The first values of a model's parameters.

use super::{Config, Init, Param, Positions, Start};
use crate::base::rng::stream;
use crate::buffer::Buffer;
use crate::tensor::{Role, Tensor};
use ndarray::ArrayD;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::Rng;

/// The first value of a parameter: biases 0, gains 1, weights normal around 0 with the standard
/// deviation of [`Init`]. Each has a random stream of its own, that of (seed, name), so it does
/// not depend on what else the model has.
pub(super) fn initial(config: &Config, seed: u64, name: &str, param: &Param) -> Tensor {
    let dims = &param.shape[..];
    let width = match param.start {
        Start::Zero => 0.0,
        Start::One => return Tensor::parameter(ArrayD::ones(dims)),
        Start::Normal { fan_in } => deviation(config, fan_in, param.role),
        Start::Uniform { fan_in } => 1.0 / (fan_in as f32).sqrt(),
    };
    if width == 0.0 {
        return Tensor::parameter(ArrayD::zeros(dims));
    }
    let hash = blake3::hash(name.as_bytes());
    let mut key = [0; 8];
    key.copy_from_slice(&hash.as_bytes()[..8]);
    let mut rng = stream(seed, b"init\0\0\0\0", u64::from_le_bytes(key), 0);
    let mut numbers = Buffer::stale(dims.iter().product());
    match param.start {
        Start::Uniform { .. } => numbers.fill_with(|| width * (2.0 * rng.random::<f32>() - 1.0)),
        _ => numbers.fill_with(|| Scaled(width).sample(&mut rng)), // row by row
    }
    Tensor::parameter_of(dims, numbers)
}

/// The standard deviation of a weight's first values.
fn deviation(config: &Config, fan_in: usize, role: Role) -> f32 {
    match (config.init, role) {
        (Init::ZeroOut | Init::ZeroHead, Role::IntoStream) | (Init::ZeroHead, Role::Head) => 0.0,
        (Init::FanIn | Init::ZeroOut | Init::ZeroHead, _) => 1.0 / (fan_in as f32).sqrt(),
        // Added to the stream 2L times in all; so much smaller, the sum keeps its size.
        (Init::Gpt2, Role::IntoStream) => 0.02 / (2.0 * config.n_layers as f32).sqrt(),
        (Init::Gpt2, _) => 0.02,
    }
}

impl Config {
    /// The loss in nats per token that a new model is expected to begin with: ln V + ½·σ².
    ///
    /// Even guesses would cost ln V. But a new model's scores are random: each is the sum of C numbers
    /// of a normed row, whose mean square is 1, times weights of deviation s, so their variance is
    /// σ² = C·s². The target's score is 0 on average, and the mean of e^score is e^(½·σ²), which
    /// makes the ½·σ² (less when V is small). For the baseline's s = 1/√C it is ½.
    ///
    /// Where blocks add nothing at first and the head is the table of tokens, the stream is a token's
    /// own row, whose score is then C·s, or that over √2 where a row for the position was added. The
    /// model expects each token again: ln(V·e^(½·σ²) + e^(C·s)).
    pub fn first_loss(&self) -> f64 {
        let role = if self.tied_head { Role::Table } else { Role::Head };
        let s = f64::from(deviation(self, self.d_model, role));
        let c = self.d_model as f64;
        let others = libm::log(self.vocab_size as f64) + 0.5 * c * s * s;
        let adds_nothing = matches!(self.init, Init::ZeroOut | Init::ZeroHead);
        if !(self.tied_head && adds_nothing) {
            return others;
        }
        let beside = if self.positions == Positions::Learned { 2f64.sqrt() } else { 1.0 };
        let own = c * s / beside;
        others.max(own) + libm::log1p(libm::exp(-(others - own).abs()))
    }
}

/// The normal distribution with mean 0 and this standard deviation.
struct Scaled(f32);

impl Distribution<f32> for Scaled {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f32 {
        let x: f32 = StandardNormal.sample(rng);
        self.0 * x
    }
}
