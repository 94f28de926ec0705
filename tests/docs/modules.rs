//! The code of docs/variants/mha/learn_by_hand.md.

use llm_core::ndarray::{arr1, arr2};
use llm_core::{Result, Tensor, ops};
use llm_courses::{
    AdditiveMask, KeepMask, SimpleMultiHeadAttention, linear, permute, scaled_dot_product_attention,
};
use llm_variant_mha::self_attention_mha;
use workspace_tests::assert_close;

/// x of section 1: two positions, two channels.
pub const X: [[f32; 2]; 2] = [[1.0, 2.0], [2.0, -1.0]];
/// Queries, keys and values are x: three identities side by side.
pub const W_QKV: [[f32; 6]; 2] = [[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]];
/// Sum and difference of the heads.
pub const W_PROJ: [[f32; 2]; 2] = [[1.0, 1.0], [1.0, -1.0]];

/// The inputs of the layer by hand: x, weights, and biases of 0.
pub fn layer() -> [Tensor; 5] {
    let tensor = |shape: &[usize], data: &[f32]| Tensor::from_vec(shape, data.to_vec()).unwrap();
    [
        tensor(&[1, 2, 2], &X.concat()),
        tensor(&[2, 6], &W_QKV.concat()),
        tensor(&[6], &[0.0; 6]),
        tensor(&[2, 2], &W_PROJ.concat()),
        tensor(&[2], &[0.0; 2]),
    ]
}

#[test]
fn a_layer_by_hand() -> Result<()> {
    let [x, w_qkv, b_qkv, w_proj, b_proj] = layer();
    let y = self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, 2, &ops::Context::new(0))?; // H = 2
    assert_eq!(y.shape(), [1, 2, 2]);
    assert_eq!(y.data()[..2], [3.0, -1.0]); // 1 + 2 and 1 - 2
    Ok(())
}

#[test]
fn two_kinds_of_mask() -> Result<()> {
    let [x, ..] = layer();
    let x = ops::reshape(&x, &[2, 2])?;
    let hidden = f32::NEG_INFINITY;
    let added = AdditiveMask::new(arr2(&[[0.0, hidden], [0.0, 0.0]]).into_dyn())?;
    let kept = KeepMask::new(arr2(&[[1.0, 0.0], [1.0, 1.0]]).into_dyn()); // 0 hides
    assert_eq!(AdditiveMask::from(&kept), added);
    assert_eq!(KeepMask::causal(2, 2)?, kept);
    let y = scaled_dot_product_attention(&x, &x, &x, None, Some(&added))?;
    assert_eq!(y.data()[..2], [1.0, 2.0]); // position 0 sees itself alone
    Ok(())
}

#[test]
fn hidden_and_far() -> Result<()> {
    let v = Tensor::from_vec(&[2, 1], vec![1.0, 3.0])?;
    let row = |value: f32| AdditiveMask::new(arr1(&[value, value]).into_dyn());
    let nothing = scaled_dot_product_attention(&v, &v, &v, None, Some(&row(f32::NEG_INFINITY)?))?;
    assert_eq!(nothing.data(), [0.0, 0.0]);
    let far = scaled_dot_product_attention(&v, &v, &v, None, Some(&row(-1e9)?))?;
    assert_eq!(far.data(), [2.0, 2.0]); // the mean of 1 and 3
    Ok(())
}

#[test]
fn scales() -> Result<()> {
    let [x, ..] = layer();
    let attend = |scale| scaled_dot_product_attention(&x, &x, &x, scale, None);
    let given = attend(Some(1.0 / 2f32.sqrt()))?;
    assert_eq!(attend(None)?.data(), given.data()); // D = 2
    assert_eq!(attend(Some(0.0))?.data()[..2], [1.5, 0.5]); // the mean of the two rows
    Ok(())
}

#[test]
fn two_layouts() -> Result<()> {
    let x = Tensor::from_vec(&[1, 2], vec![1.0, 2.0])?;
    let w = Tensor::from_vec(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?; // [in, out]
    let a = permute(&w, &[1, 0])?; // [out, in]
    assert_eq!(ops::linear_lastdim(&x, &w, None)?.data(), [9.0, 12.0, 15.0]);
    assert_eq!(linear(&x, &a, None)?.data(), [9.0, 12.0, 15.0]);
    Ok(())
}

#[test]
fn the_module_is_the_function() -> Result<()> {
    let [x, w_qkv, b_qkv, w_proj, b_proj] = layer();
    let module = SimpleMultiHeadAttention::from_packed(&w_qkv, &w_proj, 2)?;
    let all = module.attend(&x, &x, &x, Some(&AdditiveMask::causal(2, 2)?))?;
    let fast = self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, 2, &ops::Context::new(0))?;
    assert_eq!(all.weights.shape(), [1, 2, 2, 2]); // P, [B, H, T, T]
    assert_eq!(all.concat.data()[..2], [1.0, 2.0]); // position 0: in each head its own v
    let fast: Vec<f64> = fast.data().iter().map(|&y| y.into()).collect();
    assert_close("out", all.output.data(), &fast, 1e-6);
    Ok(())
}
