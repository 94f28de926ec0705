//! Tensors: shapes, places in memory, views and copies.
//!
//! `cargo run -p llm-core --example tensors`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::ndarray::arr2;
use llm_core::{Error, Result, Tensor, ops};

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // A tensor is a shape and a flat list of f32. Here 1 sequence, 3 positions, 4 channels, and
    // every number is its own place in the list.
    let x = Tensor::from_vec(&[1, 3, 4], (0..12).map(|i| i as f32).collect())?; // [B, T, C]
    println!("x        shape {:?}, {} axes, {} numbers", x.shape(), x.rank(), x.numel());

    // Row-major: the last index moves fastest. Multiply by the next axis' length, add its index.
    let [b, t, c] = [0, 2, 1];
    let place = (b * 3 + t) * 4 + c;
    assert_eq!(x.data()[place], x.view()[[b, t, c]]);
    println!("place    x[{b}, {t}, {c}] is number {place} of the list");

    // reshape moves nothing: the same memory under another shape, so heads cost nothing.
    let heads = ops::reshape(&x, &[1, 3, 2, 2])?; // [B, T, H, D]
    assert_eq!(heads.data().as_ptr(), x.data().as_ptr());
    assert_eq!(heads.view()[[0, 2, 0, 1]], x.view()[[0, 2, 1]]); // c = h·D + d
    println!("reshape  {:?} shares the memory", heads.shape());

    // A part of the last axis lies in pieces, so slice_lastdim copies it together.
    let part = ops::slice_lastdim(&x, 1, 2)?; // [1, 3, 2]
    assert_ne!(part.data().as_ptr(), x.data()[1..].as_ptr());
    println!("slice    {:?} is a copy: {:?}", part.shape(), part.data());

    // Any ndarray can become a tensor; one that lies column by column is put in order first.
    let turned = Tensor::new(arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).reversed_axes().into_dyn());
    assert_eq!(turned.view()[[2, 1]], 6.0);
    println!("ndarray  {:?} from a transposed array: {:?}", turned.shape(), turned.data());

    // Cloning copies no number either. A writer gets memory of its own first, so no other holder
    // sees it.
    let mut mine = x.clone();
    assert_eq!(mine.data().as_ptr(), x.data().as_ptr());
    mine.data_mut()[0] = 100.0;
    assert_eq!((mine.data()[0], x.data()[0]), (100.0, 0.0));
    println!("write    {} in the clone, {} in x", mine.data()[0], x.data()[0]);

    // A shape that cannot be is an error that says so, never a panic.
    let refused = ops::reshape(&x, &[5, 2]).expect_err("twelve numbers are not ten");
    assert!(matches!(refused, Error::Shape { .. }));
    println!("refused  {refused}");
    Ok(())
}
