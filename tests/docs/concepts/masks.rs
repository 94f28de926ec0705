//! docs/concepts/masks_and_cross_attention.md: what may be seen, and looking from one text into another.

use super::rows;
use llm_core::ndarray::{ArrayD, arr1, arr2};
use llm_core::{Result, Tensor, ops};
use llm_courses::{
    AdditiveMask, KeepMask, MultiHeadOutput, SimpleMultiHeadAttention, scaled_dot_product_attention,
};

/// One query's scores at three keys.
pub const SCORES: [f32; 3] = [1.0, 2.0, 4.0];

/// The weights when nothing is hidden, and when the third key is.
pub fn weights() -> Result<[Vec<f32>; 2]> {
    let scores = rows([SCORES]);
    let hidden = rows([[SCORES[0], SCORES[1], f32::NEG_INFINITY]]); // the third key is not there
    let [all, two] = [ops::softmax_lastdim(&scores)?, ops::softmax_lastdim(&hidden)?];
    Ok([all.data().to_vec(), two.data().to_vec()])
}

/// 1 keeps, 0 hides: causal [T, T], padding [B, 1, T], and both at once [B, T, T], for two sequences of which the
/// second ends with one place of padding.
pub fn masks() -> [ArrayD<f32>; 3] {
    let causal = arr2(&[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]).into_dyn();
    let padding = arr2(&[[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]).into_dyn(); // real tokens: three, two
    let padding = padding.to_shape(vec![2, 1, 3]).unwrap().to_owned(); // [B, 1, T]: the same for every query
    let both = &causal * &padding; // [B, T, T]: kept where both keep
    [causal, padding, both]
}

/// Two queries of one text, three keys and values of another; H = 2 heads of D = 1 channel.
pub fn cross() -> Result<MultiHeadOutput> {
    let same = || rows([[1.0, 0.0], [0.0, 1.0]]); // projections that hand their input on
    let module = SimpleMultiHeadAttention::new(2, 2, same(), same(), same(), same())?;
    let query = rows([[2.0, 0.0], [0.0, 2.0]]); // from the text that is being written
    let key = rows([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]); // from the text that is read
    let value = rows([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]]); // what each of its places hands over
    module.attend(&query, &key, &value, None)
}

#[test]
fn cross_attention_has_a_row_for_each_query_and_a_column_for_each_key() -> Result<()> {
    let all = cross()?;
    assert_eq!(all.weights.shape(), [2, 2, 3]); // heads, queries, keys
    assert_eq!(all.output.shape(), [2, 2]); // as many rows as queries
    Ok(())
}

#[test]
fn what_is_hidden_changes_nothing() -> Result<()> {
    let [causal, _, both] = masks();
    assert_eq!(KeepMask::new(causal), KeepMask::causal(3, 3)?);
    let x = Tensor::new(
        arr1(&[1.0, 2.0, -1.0, 0.5, 3.0, 9.0])
            .into_dyn()
            .into_shape_with_order(vec![2, 3, 1])
            .unwrap(),
    );
    let mask = AdditiveMask::from(&KeepMask::new(both));
    let y = scaled_dot_product_attention(&x, &x, &x, None, Some(&mask))?;
    let mut other = x.data().to_vec();
    other[5] = -7.0; // the padding is something else
    let other = Tensor::from_vec(&[2, 3, 1], other)?;
    let z = scaled_dot_product_attention(&other, &other, &other, None, Some(&mask))?;
    assert_eq!(y.data()[..5], z.data()[..5]); // all real places are as they were
    assert_eq!(y.data()[0], 1.0); // the first place sees itself alone
    Ok(())
}

/// While writing with a cache there is one query, the newest, and all keys are before it or its own.
#[test]
fn one_query_at_the_end_sees_every_key() -> Result<()> {
    assert_eq!(KeepMask::causal(1, 3)?, KeepMask::new(arr2(&[[1.0, 1.0, 1.0]]).into_dyn()));
    Ok(())
}
