//! Shapes and settings that do not fit are refused, and the message names which.

use super::{simple, weights};
use llm_core::ndarray::ArrayD;
use llm_core::{Error, Result, Tensor};
use llm_courses::{
    AdditiveMask, KeepMask, Linear, MultiHeadAttention, SimpleMultiHeadAttention, linear, permute,
    scaled_dot_product_attention, softmax,
};

/// The message of what must have failed.
fn refused<T>(result: Result<T>) -> String {
    match result {
        Err(error @ (Error::Shape { .. } | Error::Config { .. })) => error.to_string(),
        Err(other) => panic!("another kind: {other}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn functions_name_the_argument_that_does_not_fit() {
    let t = |shape: &[usize]| Tensor::new(ArrayD::zeros(shape));
    let m = |shape: &[usize]| AdditiveMask::new(ArrayD::zeros(shape)).unwrap();
    let attend = |q: &[usize], k: &[usize], v: &[usize], mask: Option<&[usize]>| {
        let mask = mask.map(m);
        refused(scaled_dot_product_attention(&t(q), &t(k), &t(v), None, mask.as_ref()))
    };
    let bias = Some(t(&[3]));
    let cases = [
        (
            refused(linear(&t(&[2, 5]), &t(&[3, 4]), None)),
            "linear: expected x of shape [.., 4], got [2, 5]",
        ),
        (refused(linear(&t(&[]), &t(&[3, 4]), None)), "x of shape [.., 4], got []"),
        (refused(linear(&t(&[4]), &t(&[4]), None)), "a weight of shape [out, in], got [4]"),
        (refused(linear(&t(&[0]), &t(&[4, 0]), None)), "a weight of shape [out, in], got [4, 0]"),
        (refused(linear(&t(&[4]), &t(&[2, 4]), bias.as_ref())), "a bias of shape [2], got [3]"),
        (refused(Linear::new(t(&[2, 4]), bias)), "a bias of shape [2], got [3]"),
        (refused(softmax(&t(&[2, 3]), 2)), "softmax: expected a tensor with an axis 2"),
        (refused(softmax(&t(&[2, 3]), -3)), "an axis -3"),
        (refused(softmax(&t(&[2, 3]), isize::MIN)), "an axis -9223372036854775808"),
        (refused(softmax(&t(&[]), 0)), "an axis 0"),
        (refused(softmax(&t(&[]), -1)), "an axis -1"),
        (refused(softmax(&t(&[2, 0]), 0)), "no empty one"),
        (
            refused(permute(&t(&[2, 3]), &[0, 0])),
            "permute: expected an order of the 2 axes of x, got [0, 0]",
        ),
        (refused(permute(&t(&[2, 3]), &[0])), "got [0]"),
        (refused(permute(&t(&[2, 3]), &[0, 2])), "got [0, 2]"),
        (attend(&[4], &[4], &[4], None), "query of shape [.., L, D], got [4]"),
        (attend(&[2, 3, 4], &[5, 3, 4], &[2, 3, 4], None), "key of shape [2, S, 4], got [5, 3, 4]"),
        (attend(&[2, 3, 4], &[2, 3, 5], &[2, 3, 4], None), "key of shape [2, S, 4], got [2, 3, 5]"),
        (attend(&[2, 3, 4], &[3, 4], &[2, 3, 4], None), "key of shape [2, S, 4], got [3, 4]"),
        (
            attend(&[2, 3, 4], &[2, 6, 4], &[2, 3, 4], None),
            "value of shape [2, 6, Dv], got [2, 3, 4]",
        ),
        (attend(&[2, 3, 4], &[2, 6, 4], &[6, 4], None), "value of shape [2, 6, Dv], got [6, 4]"),
        (attend(&[0, 4], &[6, 4], &[6, 4], None), "query without an empty axis"),
        (attend(&[3, 4], &[0, 4], &[0, 4], None), "key without an empty axis"),
        (attend(&[3, 0], &[6, 0], &[6, 2], None), "query without an empty axis"),
        (attend(&[3, 4], &[6, 4], &[6, 0], None), "value without an empty axis"),
        (
            attend(&[3, 4], &[6, 4], &[6, 4], Some(&[6, 3])),
            "a mask that broadcasts, from the right, to [3, 6], got [6, 3]",
        ),
        (attend(&[3, 4], &[6, 4], &[6, 4], Some(&[1, 3, 6])), "to [3, 6], got [1, 3, 6]"),
        (attend(&[3, 4], &[6, 4], &[6, 4], Some(&[0])), "to [3, 6], got [0]"),
    ];
    for (message, want) in &cases {
        assert!(message.contains(want), "{message:?} lacks {want:?}");
    }
}

#[test]
fn modules_name_the_argument_that_does_not_fit() {
    let t = |shape: &[usize]| Tensor::new(ArrayD::zeros(shape));
    let module = simple(6, 3);
    let call = |q: &[usize], k: &[usize], v: &[usize], mask: Option<&[usize]>| {
        let mask = mask.map(|shape| AdditiveMask::new(ArrayD::zeros(shape)).unwrap());
        refused(module.forward(&t(q), &t(k), &t(v), mask.as_ref()))
    };
    let x = &[2, 4, 6][..];
    let mha = MultiHeadAttention::new(6, 3, 1).unwrap();
    let no_mask = KeepMask::new(ArrayD::ones(vec![2, 4, 4]));
    let maps = |wrong: usize| {
        let shape = |i: usize| if i == wrong { [6, 5] } else { [6, 6] };
        let [wq, wk, wv, wo] = [0, 1, 2, 3].map(|i| Linear::new(t(&shape(i)), None).unwrap());
        refused(MultiHeadAttention::from_linears(1, wq, wk, wv, wo))
    };
    let packed = |w_qkv: &[usize], b_qkv: &[usize], w_proj: &[usize], b_proj: &[usize], h| {
        refused(MultiHeadAttention::from_packed(&t(w_qkv), &t(b_qkv), &t(w_proj), &t(b_proj), h))
    };
    let mut cases = vec![
        (call(&[2, 4, 5], x, x, None), "SimpleMultiHeadAttention: expected query of shape [.., 6]"),
        (call(x, &[2, 4, 5], x, None), "key of shape [.., 6], got [2, 4, 5]"),
        (call(x, x, &[6, 4, 2], None), "value of shape [.., 6], got [6, 4, 2]"),
        (call(&[6], &[6], &[6], None), "query of shape [.., L, D], got [6]"),
        (call(x, &[3, 4, 6], x, None), "key of shape [2, S, 6], got [3, 4, 6]"),
        (call(x, &[2, 5, 6], x, None), "value of shape [2, 5, Dv], got [2, 4, 6]"),
        (call(x, x, x, Some(&[2, 4, 4])), "from the right, to [2, 3, 4, 4], got [2, 4, 4]"),
        (
            refused(mha.forward(&t(&[2, 4, 7]), None)),
            "MultiHeadAttention: expected x of shape [.., 6]",
        ),
        (refused(mha.forward(&t(&[6]), None)), "query of shape [.., L, D], got [6]"),
        (refused(mha.forward(&t(&[0, 4, 6]), None)), "query without an empty axis"),
        (refused(mha.forward(&t(x), Some(&no_mask))), "to [2, 3, 4, 4], got [2, 4, 4]"),
        (refused(MultiHeadAttention::new(6, 4, 1)), "heads: 4 heads do not divide"),
        (refused(MultiHeadAttention::new(6, 0, 1)), "valid values: 1, 2, 3, 6"),
        (refused(MultiHeadAttention::new(0, 1, 1)), "d_model: 0 is no width"),
        (refused(MultiHeadAttention::new(usize::MAX, 1, 1)), "is no width"),
        (maps(0), "wq of shape [5, 5], got [6, 5]"),
        (maps(1), "wk of shape [6, 6], got [6, 5]"),
        (maps(2), "wv of shape [6, 6], got [6, 5]"),
        (maps(3), "wo of shape [6, 6], got [6, 5]"),
        (packed(&[6, 17], &[18], &[6, 6], &[6], 2), "w_qkv of shape [C, 3C], got [6, 17]"),
        (packed(&[18], &[18], &[6, 6], &[6], 2), "w_qkv of shape [C, 3C], got [18]"),
        (packed(&[0, 0], &[0], &[0, 0], &[0], 2), "w_qkv of shape [C, 3C], got [0, 0]"),
        (packed(&[6, 18], &[17], &[6, 6], &[6], 2), "b_qkv of shape [18], got [17]"),
        (packed(&[6, 18], &[18], &[6, 5], &[6], 2), "w_proj of shape [6, 6], got [6, 5]"),
        (packed(&[6, 18], &[18], &[6, 6], &[5], 2), "a bias of shape [6], got [5]"),
        (packed(&[6, 18], &[18], &[6, 6], &[6], 4), "4 heads do not divide"),
    ];
    let names = ["wq of shape [6, 6]", "wk of shape", "wv of shape", "wo of shape"];
    for (i, name) in names.into_iter().enumerate() {
        let mut ws = weights(6);
        ws[i] = t(&[6, 5]);
        let [wq, wk, wv, wo] = ws;
        cases.push((refused(SimpleMultiHeadAttention::new(6, 3, wq, wk, wv, wo)), name));
    }
    let [wq, wk, wv, wo] = weights(6);
    cases.push((refused(SimpleMultiHeadAttention::new(6, 4, wq, wk, wv, wo)), "1, 2, 3, 6"));
    // A weight that was exchanged afterwards is found too.
    let mut exchanged = simple(6, 3);
    exchanged.wk = t(&[9, 6]);
    cases.push((refused(exchanged.forward(&t(x), &t(x), &t(x), None)), "key of shape [2, S, 6]"));
    for (message, want) in &cases {
        assert!(message.contains(want), "{message:?} lacks {want:?}");
    }
}
