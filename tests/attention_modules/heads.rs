//! Which head touches which channel, and the shapes of the courses' figures.

use super::{close, input, simple};
use llm_core::ndarray::{Array2, ArrayView2, Axis};
use llm_core::{Tensor, ops};
use llm_courses::{KeepMask, MultiHeadAttention, permute, scaled_dot_product_attention, softmax};

/// Permuting the channels of one head's values permutes A in these channels and nowhere else; after
/// W_o every channel is another.
#[test]
fn a_head_touches_its_channels_before_wo_and_all_after() {
    let (l, c, h, head) = (6, 12, 3, 1);
    let d = c / h;
    let x = input(&[2, l, c], 1);
    let module = simple(c, h);
    let before = module.attend(&x, &x, &x, None).unwrap();
    let mut turned = module.clone();
    turned.wv.data_mut()[head * d * c..(head + 1) * d * c].rotate_left(c); // channel i ← i + 1
    let after = turned.attend(&x, &x, &x, None).unwrap();
    assert_eq!(before.weights.data(), after.weights.data());
    for (before, after) in before.concat.data().chunks(c).zip(after.concat.data().chunks(c)) {
        let (own, mut want) = (head * d..(head + 1) * d, before.to_vec());
        want[own].rotate_left(1);
        close(after, &want);
        assert_eq!((&before[..d], &before[2 * d..]), (&after[..d], &after[2 * d..]));
    }
    let changed = |(x, y): (&f32, &f32)| (x - y).abs() > 1e-4;
    assert!(before.output.data().iter().zip(after.output.data()).all(changed));
}

/// Chapter 11's figures: 4 sequences of 16, width 512, 4 heads of 128.
#[test]
fn the_shapes_and_relations_of_chapter_11() {
    let module = MultiHeadAttention::new(512, 4, 7).unwrap();
    let x = input(&[4, 16, 512], 1).detach();
    let k = ops::reshape(&module.wk.forward(&x).unwrap(), &[4, 16, 4, 128]).unwrap();
    assert_eq!(permute(&k, &[0, 2, 1, 3]).unwrap().shape(), [4, 4, 16, 128]);
    let all = module.attend(&x, Some(&KeepMask::causal(16, 16).unwrap())).unwrap();
    assert_eq!(all.weights.shape(), [4, 4, 16, 16]);
    assert_eq!(all.concat.shape(), [4, 16, 512]);
    assert_eq!(all.output.shape(), [4, 16, 512]);
    assert!(all.output.data() != all.concat.data());

    // The first head of the first sequence: weights [16, 16] times values [16, 128] are the
    // channels 0..128 of A.
    let v = module.wv.forward(&x).unwrap();
    let weights = ArrayView2::from_shape((16, 16), &all.weights.data()[..256]).unwrap();
    let values = ArrayView2::from_shape((16, 512), &v.data()[..16 * 512]).unwrap();
    let head: Array2<f32> = weights.dot(&values.split_at(Axis(1), 128).0);
    let a = ArrayView2::from_shape((16, 512), &all.concat.data()[..16 * 512]).unwrap();
    close(&Vec::from_iter(a.split_at(Axis(1), 128).0.iter().copied()), head.as_slice().unwrap());
    for (i, row) in weights.rows().into_iter().enumerate() {
        assert!((row.sum() - 1.0).abs() < 1e-5);
        assert!(row.iter().skip(i + 1).all(|p| *p == 0.0), "row {i} sees the future");
    }
}

/// One head at a time, as the chapter's loop has it: scores [4, 16, 16], output [4, 16, 128].
#[test]
fn the_loop_over_heads_of_chapter_11() {
    let heads = [1, 2, 3].map(|seed| input(&[4, 4, 16, 128], seed).detach());
    let whole = scaled_dot_product_attention(&heads[0], &heads[1], &heads[2], None, None).unwrap();
    assert_eq!(whole.shape(), [4, 4, 16, 128]);
    let whole = whole.view();
    for h in 0..4 {
        let [q, k, v] =
            heads.each_ref().map(|x| Tensor::new(x.view().index_axis(Axis(1), h).to_owned()));
        let k_t = permute(&k, &[0, 2, 1]).unwrap();
        let scores = ops::bmm(&q, &k_t).unwrap();
        assert_eq!(scores.shape(), [4, 16, 16]);
        let weights = softmax(&ops::mul_scalar(&scores, 1.0 / 128f32.sqrt()).unwrap(), -1).unwrap();
        let output = ops::bmm(&weights, &v).unwrap();
        assert_eq!(output.shape(), [4, 16, 128]);
        let part = whole.index_axis(Axis(1), h).to_owned();
        close(part.as_slice().unwrap(), output.data());
    }
}
