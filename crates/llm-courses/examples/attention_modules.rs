//! The courses' modules: a mask that keeps and hides, and query, key and value that differ.
//!
//! `cargo run -p llm-courses --example attention_modules`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::ndarray::{ArrayD, IxDyn, arr2};
use llm_core::{Result, Tensor};
use llm_courses::{AdditiveMask, KeepMask, MultiHeadAttention, SimpleMultiHeadAttention};

/// Numbers without a pattern, between -1 and 1.
fn numbers(shape: &[usize], salt: usize) -> Tensor {
    let n: usize = shape.iter().product();
    let data: Vec<f32> = (0..n).map(|i| ((i * 37 + salt * 17) % 41) as f32 / 20.0 - 1.0).collect();
    Tensor::new(ArrayD::from_shape_vec(IxDyn(shape), data).expect("made to measure"))
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // C = 4 channels, H = 2 heads. Three queries look at five keys; each key has its value.
    let [wq, wk, wv, wo] = [1, 2, 3, 4].map(|salt| numbers(&[4, 4], salt));
    let cross = SimpleMultiHeadAttention::new(4, 2, wq, wk, wv, wo)?;
    let (query, key, value) = (numbers(&[3, 4], 5), numbers(&[5, 4], 6), numbers(&[5, 4], 7));

    // The last key is padding: minus infinity hides it from every query, in every head.
    let hidden = f32::NEG_INFINITY;
    let padding = AdditiveMask::new(arr2(&[[0.0, 0.0, 0.0, 0.0, hidden]]).into_dyn())?; // [1, S]
    let all = cross.attend(&query, &key, &value, Some(&padding))?;
    println!("P    {:?}: heads, queries, keys", all.weights.shape());
    println!("out  {:?}", all.output.shape());
    for row in all.weights.data().chunks(5) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6 && row[4] == 0.0);
    }
    // Another value behind the padding changes nothing.
    let mut other = value.data().to_vec();
    other[16..].fill(1e6);
    let other = Tensor::from_vec(&[5, 4], other)?;
    let again = cross.forward(&query, &key, &other, Some(&padding))?;
    assert_eq!(again.data(), all.output.data());

    // The other course's module: one x, biases, and a mask of what is kept.
    let module = MultiHeadAttention::new(4, 2, 1)?;
    let x = numbers(&[3, 4], 8);
    let mut keep = arr2(&[[0.0; 3], [1.0, 1.0, 0.0], [1.0; 3]]); // position 0 sees nothing at all
    let blind = module.attend(&x, Some(&KeepMask::new(keep.clone().into_dyn())))?;
    println!("A[0] {:?}: nothing was seen", &blind.concat.data()[..4]);
    assert_eq!(blind.concat.data()[..4], [0.0; 4]);
    keep[[0, 0]] = 1.0; // the decoder's mask
    let causal = module.forward(&x, Some(&KeepMask::new(keep.into_dyn())))?;
    assert_eq!(causal.data(), module.forward(&x, Some(&KeepMask::causal(3, 3)?))?.data());
    Ok(())
}
