//! docs/concepts/why_divide_by_root_d.md: what the length of the vectors does to scores, weights and gradients.

use llm_core::ndarray::ArrayD;
use llm_core::{Result, Tensor, ops};
use rand::{Rng, SeedableRng};

pub const WIDTHS: [usize; 4] = [4, 16, 64, 256];
/// Queries, and keys of each.
pub const QUERIES: usize = 1000;
pub const KEYS: usize = 16;

/// What is measured of random scores that were divided by something.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub variance: f64,
    /// The largest weight of a row, on the average.
    pub largest: f64,
    /// How long the gradient of a row of scores is, for one of size 1 at each weight: half of the rows have less.
    pub gradient: f64,
}

/// Independent numbers of mean 0 and variance 1: uniform between -√3 and √3.
fn random(shape: &[usize], seed: u64) -> ArrayD<f32> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let most = 3f32.sqrt();
    ArrayD::from_shape_simple_fn(shape, || rng.random_range(-most..most))
}

/// Random q of `d` channels at random k, the products divided by `divisor`.
pub fn measure(d: usize, divisor: f32) -> Result<Measured> {
    let q = Tensor::new(random(&[QUERIES, 1, d], 1));
    let k = Tensor::new(random(&[QUERIES, KEYS, d], 2));
    let products = ops::bmm(&q, &ops::transpose(&k, -2, -1)?)?; // q · k
    let scores = ops::mul_scalar(&products, 1.0 / divisor)?;
    let scores = Tensor::parameter(scores.view().to_owned()); // the gradient stops here
    let weights = ops::softmax_lastdim(&scores)?;
    let arriving = Tensor::new(random(weights.shape(), 3)); // a gradient of size 1
    let loss = ops::sum(&ops::mul(&weights, &arriving)?)?;
    let gradients = loss.backward()?;
    let largest = |row: &[f32]| f64::from(row.iter().copied().fold(0.0, f32::max));
    Ok(Measured {
        variance: mean_square(scores.data()),
        largest: weights.data().chunks(KEYS).map(largest).sum::<f64>() / QUERIES as f64,
        gradient: median_length(gradients.get(&scores).expect("a parameter")),
    })
}

/// The variance of numbers whose mean is 0.
fn mean_square(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / x.len() as f64
}

/// The length of the middle row.
fn median_length(rows: &[f32]) -> f64 {
    let length = |row: &[f32]| (mean_square(row) * row.len() as f64).sqrt();
    let mut lengths: Vec<f64> = rows.chunks(KEYS).map(length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths[lengths.len() / 2]
}

/// The products of every q of four numbers ±1 at every k alike are sums of four signs: how often each sum comes.
pub fn sums_of_four_signs() -> Vec<(i32, u32)> {
    let sum =
        |signs: u32| (0..4).map(|bit| if (signs >> bit) & 1 == 1 { 1 } else { -1 }).sum::<i32>();
    [-4, -2, 0, 2, 4].map(|s| (s, (0..16).filter(|&signs| sum(signs) == s).count() as u32)).to_vec()
}

#[test]
fn dividing_by_the_root_keeps_the_variance_at_one() -> Result<()> {
    for d in WIDTHS {
        let (before, after) = (measure(d, 1.0)?, measure(d, (d as f32).sqrt())?);
        assert!((before.variance / d as f64 - 1.0).abs() < 0.1, "{d}: {before:?}");
        assert!((after.variance - 1.0).abs() < 0.1, "{d}: {after:?}");
        assert!(before.largest > after.largest, "{d}: {before:?} {after:?}");
    }
    let [narrow, wide] = [measure(4, 1.0)?, measure(256, 1.0)?];
    assert!(wide.gradient < narrow.gradient / 4.0, "{narrow:?} {wide:?}");
    Ok(())
}
