//! Which parameters a model has, and how they start: all of it follows from the settings.

use super::{Config, Init};
use crate::buffer::Buffer;
use crate::tensor::Tensor;
use crate::util::rng::stream;
use ndarray::ArrayD;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};

/// Names and shapes of [`TinyGPT::parameters`](super::TinyGPT::parameters), in its order, without
/// making the model.
pub fn parameter_shapes(config: &Config) -> Vec<(String, Vec<usize>)> {
    #[rustfmt::skip]
    let Config { vocab_size, seq_len, d_model: c, n_layers, norm_affine, tied_head, head_bias, init: _, dropout: _ } = *config;
    let mut list =
        vec![("wte".to_string(), vec![vocab_size, c]), ("wpe".to_string(), vec![seq_len, c])];
    for i in 0..n_layers {
        let mut push = |name: &str, dims: &[usize]| {
            list.push((format!("blocks.{i}.{name}"), dims.to_vec()));
        };
        let norm = |g: &str, b: &str, push: &mut dyn FnMut(&str, &[usize])| {
            if norm_affine {
                push(g, &[c]);
                push(b, &[c]);
            }
        };
        norm("ln1_g", "ln1_b", &mut push);
        push("w_qkv", &[c, 3 * c]);
        push("b_qkv", &[3 * c]);
        push("w_proj", &[c, c]);
        push("b_proj", &[c]);
        norm("ln2_g", "ln2_b", &mut push);
        push("w_fc", &[c, 4 * c]);
        push("b_fc", &[4 * c]);
        push("w_out", &[4 * c, c]);
        push("b_out", &[c]);
    }
    let last: [(bool, &str, &[usize]); 4] = [
        (norm_affine, "lnf_g", &[c]),
        (norm_affine, "lnf_b", &[c]),
        (!tied_head, "w_lm", &[c, vocab_size]),
        (head_bias, "b_lm", &[vocab_size]),
    ];
    let present = last.into_iter().filter(|(present, ..)| *present);
    list.extend(present.map(|(_, name, dims)| (name.to_string(), dims.to_vec())));
    list
}

/// The initial value of a parameter: biases 0, gains 1, weights normal around 0 with the standard
/// deviation of [`Init`]. Each has a random stream of its own, that of (seed, name), so it does
/// not depend on what else the model has.
pub(super) fn initial(config: &Config, seed: u64, name: &str, dims: &[usize]) -> Tensor {
    let own_name = name.rsplit('.').next().unwrap_or(name);
    if own_name.starts_with("b_") || own_name.ends_with("_b") {
        return Tensor::parameter(ArrayD::zeros(dims));
    }
    if own_name.ends_with("_g") {
        return Tensor::parameter(ArrayD::ones(dims));
    }
    // Tables have a row per token or position; what a row holds is C numbers.
    let fan_in = if matches!(own_name, "wte" | "wpe") { dims[1] } else { dims[0] };
    let std = match (config.init, own_name) {
        (Init::FanIn, _) => 1.0 / (fan_in as f32).sqrt(),
        // Their outputs are added to the stream 2L times in all; so much smaller, the sum keeps its size.
        (Init::Gpt2, "w_proj" | "w_out") => 0.02 / (2.0 * config.n_layers as f32).sqrt(),
        (Init::Gpt2, _) => 0.02,
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
