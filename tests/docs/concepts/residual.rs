//! docs/concepts/residual_stream.md: two layers that find what followed a letter before, and why one cannot.

use llm_core::{Result, Tensor, ops};

/// Each begins with a row that is no letter. What followed the last letter before: b, d, d, b.
pub const TEXTS: [&str; 4] = ["·abcda", "·adcba", "·cbada", "·cdaba"];
/// Where in a row a pair of numbers begins: the letter, the one before it, the one to come.
pub const IS: usize = 0;
pub const BEFORE: usize = 2;
pub const NEXT: usize = 4;
const WIDE: usize = 6;

/// A letter as a direction in the plane.
pub fn code(letter: char) -> [f32; 2] {
    match letter {
        'a' => [1.0, 0.0],
        'b' => [0.0, 1.0],
        'c' => [-1.0, 0.0],
        'd' => [0.0, -1.0],
        _ => [0.0, 0.0],
    }
}

/// The stream before, between and after the layers, what the second layer's scores are, and where both look.
pub struct Stream {
    pub x: [Tensor; 3],
    pub scores: Tensor,
    pub p: [Tensor; 2],
}

/// A matrix that takes a pair of numbers from one place of a row to another.
fn moves(from: usize, to: usize) -> Result<Tensor> {
    let mut w = vec![0.0; WIDE * WIDE];
    (0..2).for_each(|i| w[(from + i) * WIDE + to + i] = 1.0);
    Tensor::from_vec(&[WIDE, WIDE], w)
}

/// A matrix that takes a pair out of a row.
fn takes(from: usize) -> Result<Tensor> {
    let mut w = vec![0.0; WIDE * 2];
    (0..2).for_each(|i| w[(from + i) * 2 + i] = 1.0);
    Tensor::from_vec(&[WIDE, 2], w)
}

/// Shares of the rows up to each.
fn looked(scores: &Tensor) -> Result<Tensor> {
    let n = scores.shape()[0];
    let hidden = |at: usize| if at % n > at / n { -1e9 } else { 0.0 };
    let mask = Tensor::from_vec(&[n, n], (0..n * n).map(hidden).collect())?;
    ops::softmax_lastdim(&ops::add(scores, &mask)?)
}

/// Both layers over a text.
pub fn read(text: &str) -> Result<Stream> {
    let n = text.chars().count();
    let rows = text.chars().flat_map(|c| [&code(c)[..], &[0.0; WIDE - 2]].concat());
    let x0 = Tensor::from_vec(&[n, WIDE], rows.collect())?;
    let one_back = |at: usize| if at / n == at % n + 1 { 20.0 } else { 0.0 };
    let one_back = Tensor::from_vec(&[n, n], (0..n * n).map(one_back).collect())?;
    let p0 = looked(&one_back)?; // where: the row before
    let found = ops::matmul2d(&x0, &moves(IS, BEFORE)?)?; // what: its letter, into the free place
    let x1 = ops::add(&x0, &ops::matmul2d(&p0, &found)?)?;
    let asks = ops::matmul2d(&x1, &takes(IS)?)?; // which letter am I?
    let labels = ops::matmul2d(&x1, &takes(BEFORE)?)?; // which one stands before me?
    let alike = ops::matmul2d(&asks, &ops::transpose(&labels, 0, 1)?)?;
    let scores = ops::mul_scalar(&alike, 10.0)?;
    let p1 = looked(&scores)?;
    let found = ops::matmul2d(&x1, &moves(IS, NEXT)?)?;
    let x2 = ops::add(&x1, &ops::matmul2d(&p1, &found)?)?;
    Ok(Stream { x: [x0, x1, x2], scores, p: [p0, p1] })
}

/// The letter that the last row's third pair points to.
pub fn answer(text: &str) -> char {
    let x = read(text).unwrap().x;
    let row = &x[2].data()[(text.chars().count() - 1) * WIDE + NEXT..][..2];
    let score = |c: char| code(c).iter().zip(row).map(|(a, b)| a * b).sum::<f32>();
    "abcd".chars().max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap()
}

#[test]
fn two_layers_find_what_followed_before() {
    assert_eq!(TEXTS.map(answer), ['b', 'd', 'd', 'b']);
}

/// Whatever a single layer compares and hands over, what the last row gets is a sum over places, each of which
/// knows its own letter alone. The first text and the last have at each place, together, the same letters as the
/// two in the middle: so the sums are the same too.
#[test]
fn one_layer_cannot() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    // eˢ · v of each letter at each place, as the last row, which is always an a, gets it.
    let given: Vec<f32> = (0..6 * 128).map(|_| rng.random_range(-1.0f32..1.0)).collect();
    let sum = |text: &str| -> f32 {
        let at = |(place, c): (usize, char)| given[place * 128 + (c as usize) % 128];
        text.chars().enumerate().map(at).sum()
    };
    let [first, second, third, last] = TEXTS.map(sum);
    assert!((first + last - second - third).abs() < 1e-5);
    assert!((first - second).abs() > 1e-3);
}
