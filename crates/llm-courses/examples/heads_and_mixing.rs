//! A and A·W_o: the heads side by side, and what the output projection makes of them.
//!
//! `cargo run -p llm-courses --example heads_and_mixing`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::{Result, Tensor};
use llm_courses::SimpleMultiHeadAttention;

/// C = 4 channels in H = 2 heads of D = 2.
const C: usize = 4;

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // Every projection hands its input on, but the last: it adds head 1's channels to head 0's,
    // and takes them off again in the other half.
    let rows = |rows: [[f32; C]; C]| Tensor::from_vec(&[C, C], rows.concat());
    let same = || rows([[1., 0., 0., 0.], [0., 1., 0., 0.], [0., 0., 1., 0.], [0., 0., 0., 1.]]);
    let mix = rows([[1., 0., 1., 0.], [0., 1., 0., 1.], [1., 0., -1., 0.], [0., 1., 0., -1.]])?;
    let module = SimpleMultiHeadAttention::new(C, 2, same()?, same()?, same()?, mix)?;

    // One query, one key: all the weight is on it, and A is its value.
    let attend = |value: [f32; C]| -> Result<[Vec<f32>; 2]> {
        let at = Tensor::from_vec(&[1, C], vec![1.0, 0.0, 0.0, 1.0])?;
        let value = Tensor::from_vec(&[1, C], value.to_vec())?;
        let all = module.attend(&at, &at, &value, None)?;
        Ok([all.concat.data().to_vec(), all.output.data().to_vec()])
    };
    let [a, out] = attend([1.0, 2.0, 10.0, 20.0])?;
    println!("A       {a:?}");
    println!("A·W_o   {out:?}");
    assert_eq!((a, out), (vec![1.0, 2.0, 10.0, 20.0], vec![11.0, 22.0, -9.0, -18.0]));

    // Of the same shape, but not the same numbers: where head 1 sees something else, its two
    // columns of A change, and every column of A·W_o.
    let [a, out] = attend([1.0, 2.0, 30.0, 40.0])?;
    println!("A       {a:?}");
    println!("A·W_o   {out:?}");
    assert_eq!((a, out), (vec![1.0, 2.0, 30.0, 40.0], vec![31.0, 42.0, -29.0, -38.0]));
    Ok(())
}
