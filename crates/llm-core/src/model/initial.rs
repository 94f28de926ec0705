//! The first values of a model's parameters.

use super::{Config, Init, Param, Start};
use crate::base::rng::stream;
use crate::buffer::Buffer;
use crate::tensor::Tensor;
use ndarray::ArrayD;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};

/// The first value of a parameter: biases 0, gains 1, weights normal around 0 with the standard
/// deviation of [`Init`]. Each has a random stream of its own, that of (seed, name), so it does
/// not depend on what else the model has.
pub(super) fn initial(config: &Config, seed: u64, name: &str, param: &Param) -> Tensor {
    let dims = &param.shape[..];
    let (fan_in, into_stream) = match param.start {
        Start::Zero => return Tensor::parameter(ArrayD::zeros(dims)),
        Start::One => return Tensor::parameter(ArrayD::ones(dims)),
        Start::Normal { fan_in, into_stream } => (fan_in, into_stream),
    };
    let std = match (config.init, into_stream) {
        (Init::FanIn, _) => 1.0 / (fan_in as f32).sqrt(),
        // Added to the stream 2L times in all; so much smaller, the sum keeps its size.
        (Init::Gpt2, true) => 0.02 / (2.0 * config.n_layers as f32).sqrt(),
        (Init::Gpt2, false) => 0.02,
    };
    let hash = blake3::hash(name.as_bytes());
    let mut key = [0; 8];
    key.copy_from_slice(&hash.as_bytes()[..8]);
    let mut rng = stream(seed, b"init\0\0\0\0", u64::from_le_bytes(key), 0);
    let mut numbers = Buffer::stale(dims.iter().product());
    numbers.fill_with(|| Scaled(std).sample(&mut rng)); // row by row
    Tensor::parameter_of(dims, numbers)
}

/// The normal distribution with mean 0 and this standard deviation.
struct Scaled(f32);

impl Distribution<f32> for Scaled {
    fn sample<R: rand::Rng + ?Sized>(&self, rng: &mut R) -> f32 {
        let x: f32 = StandardNormal.sample(rng);
        self.0 * x
    }
}
