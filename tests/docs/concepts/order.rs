//! docs/concepts/why_positions.md: attention is blind to order, and a position in every vector mends it.

use super::rows;
use llm_core::{Config, Result, Tensor, TinyGPT, ops};
use llm_courses::{AdditiveMask, SimpleMultiHeadAttention, scaled_dot_product_attention};

/// The words.
pub const WORDS: [&str; 3] = ["dog", "bites", "man"];
/// What each word means, and what each place adds.
pub const WTE: [[f32; 2]; 3] = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
pub const WPE: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
/// dog bites man, and man bites dog.
pub const ORDERS: [[usize; 3]; 2] = [[0, 1, 2], [2, 1, 0]];

/// What a sentence goes in as, its weights, and what comes out.
pub struct Read {
    pub x: Tensor,
    pub p: Tensor,
    pub y: Tensor,
}

/// The words in this order through attention; queries, keys and values are x itself.
pub fn read(order: [usize; 3], positions: bool) -> Result<Read> {
    let words = rows(order.map(|word| WTE[word]));
    let x = if positions { ops::add(&words, &rows(WPE))? } else { words };
    let p = ops::softmax_lastdim(&ops::matmul2d(&x, &ops::transpose(&x, 0, 1)?)?)?;
    let y = scaled_dot_product_attention(&x, &x, &x, Some(1.0), None)?;
    Ok(Read { x, p, y })
}

/// `word`'s output in the sentence `order`.
pub fn output(order: [usize; 3], positions: bool, word: usize) -> [f32; 2] {
    let place = order.iter().position(|&w| w == word).expect("every word is there");
    let y = read(order, positions).unwrap().y;
    [y.data()[2 * place], y.data()[2 * place + 1]]
}

#[test]
fn words_come_out_the_same_in_every_order() {
    let differ = |positions, word| {
        let [a, b] = ORDERS.map(|order| output(order, positions, word));
        a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1e-6)
    };
    for word in 0..3 {
        assert!(!differ(false, word) && differ(true, word), "{word}");
    }
}

/// Not only with small numbers: any weights, several heads.
#[test]
fn permuted_inputs_give_permuted_outputs() -> Result<()> {
    let [wq, wk, wv, wo, x] =
        [1, 2, 3, 4, 5].map(|seed| Tensor::new(numbers(&[8, 8], seed).view().to_owned()));
    let module = SimpleMultiHeadAttention::new(8, 2, wq, wk, wv, wo)?;
    let order = [3, 1, 7, 0, 5, 2, 6, 4];
    let shuffled = |x: &Tensor| {
        let rows = order.iter().flat_map(|&i| x.data()[8 * i..8 * (i + 1)].to_vec());
        Tensor::from_vec(&[8, 8], rows.collect())
    };
    let y = module.forward(&x, &x, &x, None)?;
    let moved = shuffled(&x)?;
    let moved = module.forward(&moved, &moved, &moved, None)?; // the same rows, in the new order
    workspace_tests::assert_close("y", moved.data(), &super::wide(&shuffled(&y)?), 1e-5);

    // With the decoder's mask the last word sees all the others: as a set.
    let mask = AdditiveMask::causal(8, 8)?;
    let last = |x: &Tensor| module.forward(x, x, x, Some(&mask)).map(|y| y.data()[56..].to_vec());
    let mut turned = x.data().to_vec();
    turned[..56].rotate_left(8); // every word but the last, in another order
    let turned = Tensor::from_vec(&[8, 8], turned)?;
    let want: Vec<f64> = last(&x)?.into_iter().map(f64::from).collect();
    workspace_tests::assert_close("the last word", &last(&turned)?, &want, 1e-5);
    Ok(())
}

/// A model of one block whose table of positions is zero cannot tell in which order it read.
#[test]
fn a_model_of_one_block_needs_its_positions() -> Result<()> {
    let mut model = TinyGPT::new(Config::new(10, 4, 16, 1), 1)?;
    let last = |model: &TinyGPT, tokens: [u32; 4]| -> Result<Vec<f32>> {
        Ok(model.logits(&tokens, [1, 4])?.data()[30..].to_vec())
    };
    let orders = [[1, 2, 3, 9], [3, 1, 2, 9]];
    let [a, b] = orders.map(|tokens| last(&model, tokens).unwrap());
    assert!(a.iter().zip(&b).any(|(a, b)| (a - b).abs() > 1e-3));
    if let Some(wpe) = &mut model.wpe {
        wpe.data_mut().fill(0.0);
    }
    let [a, b] = orders.map(|tokens| last(&model, tokens).unwrap());
    let want: Vec<f64> = a.into_iter().map(f64::from).collect();
    workspace_tests::assert_close("the next token", &b, &want, 1e-5);
    Ok(())
}

/// Numbers without a pattern, between -1 and 1.
fn numbers(shape: &[usize], seed: u64) -> Tensor {
    use rand::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let n = shape.iter().product();
    Tensor::from_vec(shape, (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect()).unwrap()
}
