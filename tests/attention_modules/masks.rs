//! What a mask hides, and what a scale does.

use super::{close, gradients, input};
use llm_core::Tensor;
use llm_core::ndarray::{Array2, ArrayD, Axis};
use llm_courses::{
    AdditiveMask, KeepMask, MultiHeadAttention, scaled_dot_product_attention, softmax,
};

/// A query that sees nothing gives zeros, and nothing flows back through it. A row of −1e9 is not
/// hidden but uniform.
#[test]
fn hidden_rows_are_zeros_and_far_rows_are_uniform() {
    let (l, n, d) = (3, 4, 5);
    let [q, k, v] = [[l, d], [n, d], [n, d]].map(|shape| input(&shape, shape[0] as u64));
    let masked = |value: f32| {
        let rows = Array2::from_shape_fn((l, n), |(i, _)| if i == 1 { value } else { 0.0 });
        let mask = AdditiveMask::new(rows.into_dyn()).unwrap();
        scaled_dot_product_attention(&q, &k, &v, None, Some(&mask)).unwrap()
    };
    let y = masked(f32::NEG_INFINITY);
    assert_eq!(y.data()[d..2 * d], [0.0; 5]);
    let grads = gradients(&y);
    assert_eq!(grads.get(&q).unwrap()[d..2 * d], [0.0; 5]);
    for x in [&q, &k, &v] {
        assert!(grads.get(x).unwrap().iter().all(|g| g.is_finite()));
        assert!(grads.get(x).unwrap().iter().any(|g| *g != 0.0));
    }
    let mean = v.view().mean_axis(Axis(0)).unwrap();
    close(&masked(-1e9).data()[d..2 * d], mean.as_slice().unwrap());

    // The module too; its output is then W_o's bias.
    let module = MultiHeadAttention::new(8, 2, 1).unwrap();
    let x = input(&[l, 8], 9);
    let all = module.attend(&x, Some(&KeepMask::new(ArrayD::zeros(vec![1])))).unwrap();
    assert!(all.weights.data().iter().chain(all.concat.data()).all(|x| *x == 0.0));
    assert_eq!(&all.output.data()[..8], module.wo.bias.as_ref().unwrap().data());
    let grads = gradients(&all.output);
    assert!(grads.get(&x).unwrap().iter().all(|g| *g == 0.0));

    // And softmax itself, over any axis.
    let column = Tensor::parameter(ArrayD::from_shape_fn(vec![2, 2], |at| {
        if at[1] == 0 { f32::NEG_INFINITY } else { at[0] as f32 }
    }));
    let p = softmax(&column, 0).unwrap();
    assert_eq!((p.data()[0], p.data()[2]), (0.0, 0.0));
    assert!((p.data()[1] + p.data()[3] - 1.0).abs() < 1e-6);
    assert!(gradients(&p).get(&column).unwrap().iter().all(|g| g.is_finite()));
}

/// −∞ in a mask hides whatever the score is, and NaN in sight stays NaN.
#[test]
fn what_is_hidden_is_not_looked_at() {
    let (q, v) = (input(&[2, 3], 1), input(&[3, 3], 3));
    let mut k = input(&[3, 3], 2);
    let mask = AdditiveMask::from(&KeepMask::new(
        ArrayD::from_shape_vec(vec![3], vec![1.0, 1.0, 0.0]).unwrap(),
    ));
    let attend = |k: &Tensor, mask| scaled_dot_product_attention(&q, k, &v, None, mask).unwrap();
    let want = attend(&k, Some(&mask));
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        k.data_mut()[6..].fill(value);
        assert_eq!(attend(&k, Some(&mask)).data(), want.data());
    }
    k.data_mut().fill(f32::NAN);
    assert!(attend(&k, Some(&mask)).data().iter().all(|x| x.is_nan()));
}

/// An explicit scale of 0 is a scale: all weights are equal. The default is one over the root of the width of
/// the keys.
#[test]
fn scales_are_taken_as_given() {
    let [q, k, v] = [[2, 4], [3, 4], [3, 2]].map(|shape| input(&shape, shape[1] as u64));
    let attend = |scale| scaled_dot_product_attention(&q, &k, &v, scale, None).unwrap();
    let mean = v.view().mean_axis(Axis(0)).unwrap();
    attend(Some(0.0)).data().chunks(2).for_each(|row| close(row, mean.as_slice().unwrap()));
    assert_eq!(attend(None).data(), attend(Some(0.5)).data()); // 1/√4
    assert_ne!(attend(None).data(), attend(Some(1.0)).data());
}
