//! docs/concepts/from_pytorch_and_mlx.md: what an expression of PyTorch or MLX is called here. `tests/python/words.py`
//! runs the page's Python, which ends with the same numbers.

use super::rows;
use llm_core::ndarray::{ArrayD, arr1};
use llm_core::{Result, Tensor, ops};
use llm_courses::{KeepMask, Linear, MultiHeadAttention, permute, scaled_dot_product_attention};

/// 0, 1, 2 .. in this shape: an element is its own place.
fn arange(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..n).map(|i| i as f32).collect()).unwrap()
}

/// A matrix, reshaped and transposed: the shapes are the same, the numbers are not.
pub fn two_ways() -> Result<[Tensor; 3]> {
    let x = arange(&[2, 3]);
    let reshaped = ops::reshape(&x, &[3, 2])?; // x.view(3, 2)
    let turned = ops::transpose(&x, 0, 1)?; // x.transpose(0, 1).contiguous()
    Ok([x, reshaped, turned])
}

#[test]
fn view_is_reshape_and_shares() -> Result<()> {
    let [x, reshaped, turned] = two_ways()?;
    assert_eq!(reshaped.data(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(turned.data(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(reshaped.data().as_ptr(), x.data().as_ptr()); // a view: no number was copied
    assert_ne!(turned.data().as_ptr(), x.data().as_ptr()); // a copy: contiguous by itself
    Ok(())
}

/// x [B, T, C] cut into heads [B, H, T, D], and back.
#[test]
fn heads_are_cut_with_reshape_and_transpose() -> Result<()> {
    let (b, t, h, d) = (1, 2, 2, 2);
    let x = arange(&[b, t, h * d]);
    let cut = ops::reshape(&x, &[b, t, h, d])?; // x.view(b, t, h, d)
    let heads = ops::transpose(&cut, 1, 2)?; // .transpose(1, 2)
    assert_eq!(heads.data(), [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]); // head 0, then head 1

    let wrong = ops::reshape(&x, &[b, h, t, d])?; // x.view(b, h, t, d): the trap
    assert_eq!(wrong.shape(), heads.shape());
    assert_eq!(wrong.data()[..4], [0.0, 1.0, 2.0, 3.0]); // the first word, all of it, as "head 0"

    let back = ops::reshape(&ops::transpose(&heads, 1, 2)?, &[b, t, h * d])?;
    assert_eq!(back.data(), x.data()); // .transpose(1, 2).contiguous().view(b, t, h * d)
    assert_eq!(permute(&cut, &[0, 2, 1, 3])?.data(), heads.data()); // x.permute(0, 2, 1, 3)
    Ok(())
}

/// Three words at three words, the future hidden.
pub fn masked() -> Result<Tensor> {
    let scores = rows([[0.0, 5.0, 5.0], [1.0, 1.0, 5.0], [0.0, 0.0, 0.0]]);
    let hidden = f32::NEG_INFINITY;
    let mask = rows([[0.0, hidden, hidden], [0.0, 0.0, hidden], [0.0, 0.0, 0.0]]);
    ops::softmax_lastdim(&ops::add(&scores, &mask)?) // F.softmax(scores.masked_fill(mask == 0, -inf), dim=-1)
}

#[test]
fn masked_fill_is_a_mask_that_is_added() -> Result<()> {
    assert_eq!(masked()?.data()[..6], [1.0, 0.0, 0.0, 0.5, 0.5, 0.0]);

    // As a whole: the mask is an argument, of ones and zeros, and 0 hides as in `mask == 0`.
    let x = rows([[1.0], [3.0], [-2.0]]);
    let keep = KeepMask::new(arr1(&[1.0, 0.0, 0.0]).into_dyn()); // every query sees key 0 alone
    let y = scaled_dot_product_attention(&x, &x, &x, None, Some(&(&keep).into()))?;
    assert_eq!(y.data(), [1.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn softmax_takes_the_axis() -> Result<()> {
    let x = rows([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
    assert_eq!(ops::softmax(&x, -1)?.data()[..2], [0.5, 0.5]); // F.softmax(x, dim=-1): rows
    assert_eq!(ops::softmax(&x, 0)?.data()[..2], [0.25, 0.25]); // dim=0: columns
    Ok(())
}

#[test]
fn at_is_a_product_that_names_its_rank() -> Result<()> {
    let (a, b) = (arange(&[2, 3]), arange(&[3, 2]));
    assert_eq!(ops::matmul2d(&a, &b)?.data(), [10.0, 13.0, 28.0, 40.0]); // a @ b, two axes
    let (q, k) = (arange(&[1, 2, 2]), arange(&[1, 2, 2]));
    let scores = ops::bmm(&q, &ops::transpose(&k, -2, -1)?)?; // q @ k.transpose(-2, -1), three axes
    assert_eq!(scores.data(), [1.0, 3.0, 3.0, 13.0]);
    Ok(())
}

#[test]
fn a_module_is_a_struct_with_named_parameters() -> Result<()> {
    let weight = rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]); // [out, in], as in nn.Linear
    let bias = Tensor::new(ArrayD::zeros(vec![3]));
    let linear = Linear::new(weight, Some(bias))?; // nn.Linear(2, 3)
    let y = linear.forward(&rows([[1.0, 1.0]]))?; // linear(x) = x @ weight.T + bias
    assert_eq!(y.data(), [3.0, 7.0, 11.0]);

    let module = MultiHeadAttention::new(8, 2, 1)?; // MultiHeadAttention(8, 2) after torch.manual_seed(1)
    let names: Vec<String> = module.parameters().map(|(name, _)| name).collect();
    assert_eq!(names[..2], ["wq.weight", "wq.bias"]); // module.named_parameters()
    Ok(())
}
