//! What equals what: a module and its steps, a projection and its parts, the module and the fast way.

use super::{close, gradients, input, simple};
use llm_core::{Result, Tensor, ops};
use llm_courses::{
    AdditiveMask, KeepMask, MultiHeadAttention, SimpleMultiHeadAttention, linear, permute,
    scaled_dot_product_attention,
};
use llm_variant_mha::self_attention_mha;

/// Two ways to the same y, values and gradients.
fn same(one: &Tensor, other: &Tensor, inputs: &[&Tensor]) {
    assert_eq!(one.shape(), other.shape());
    close(one.data(), other.data());
    let (one, other) = (gradients(one), gradients(other));
    inputs.iter().for_each(|x| close(one.get(x).unwrap(), other.get(x).unwrap()));
}

/// The module as the course writes it, every step an op of its own: reshape, permute, attend,
/// permute back, reshape.
#[test]
fn the_module_is_its_steps() {
    let (n, l, s, c, h) = (2, 5, 7, 12, 3);
    let module = simple(c, h);
    let [query, key, value] =
        [[n, l, c], [n, s, c], [n, s, c]].map(|shape| input(&shape, 5 + shape[1] as u64));
    let mask = AdditiveMask::causal(l, s).unwrap();
    let heads = |x: &Tensor, w: &Tensor| -> Result<Tensor> {
        let x = linear(x, w, None)?;
        permute(&ops::reshape(&x, &[n, x.shape()[1], h, c / h])?, &[0, 2, 1, 3]) // [N, H, L, D]
    };
    let q = heads(&query, &module.wq).unwrap();
    let k = heads(&key, &module.wk).unwrap();
    let v = heads(&value, &module.wv).unwrap();
    let y = scaled_dot_product_attention(&q, &k, &v, None, Some(&mask)).unwrap();
    let a = ops::reshape(&permute(&y, &[0, 2, 1, 3]).unwrap(), &[n, l, c]).unwrap();
    let steps = linear(&a, &module.wo, None).unwrap();
    let whole = module.forward(&query, &key, &value, Some(&mask)).unwrap();
    let mut inputs = vec![&query, &key, &value];
    inputs.extend(module.parameters().map(|(_, w)| w));
    same(&whole, &steps, &inputs);
}

/// A projection of its own for each head is one projection cut into heads:
/// Concat(head_i)·W^O with head_i = Attention(Q·W_i^Q, K·W_i^K, V·W_i^V).
#[test]
fn projections_per_head_are_one_projection_cut() {
    let (l, c, h) = (5, 12, 4);
    let d = c / h;
    let module = simple(c, h);
    let x = input(&[l, c], 1);
    let all = module.attend(&x, &x, &x, None).unwrap();
    for head in 0..h {
        let own = |w: &Tensor| {
            let rows = w.data()[head * d * c..(head + 1) * d * c].to_vec();
            linear(&x, &Tensor::from_vec(&[d, c], rows).unwrap(), None).unwrap() // [L, D]
        };
        let (q, k, v) = (own(&module.wq), own(&module.wk), own(&module.wv));
        let alone = scaled_dot_product_attention(&q, &k, &v, None, None).unwrap();
        let cut = ops::slice_lastdim(&all.concat, head * d, d).unwrap();
        close(cut.data(), alone.data());
    }
    close(all.output.data(), linear(&all.concat, &module.wo, None).unwrap().data());
}

/// With a causal mask and transposed weights the courses' modules are self_attention_mha: values,
/// and gradients into its own packed tensors.
#[test]
fn causal_modules_are_self_attention_mha() {
    let (b, t, c) = (2, 7, 12);
    let x = input(&[b, t, c], 1);
    let [w_qkv, w_proj] = [input(&[c, 3 * c], 2), input(&[c, c], 3)];
    let [b_qkv, b_proj] = [input(&[3 * c], 4), input(&[c], 5)];
    let [no_b_qkv, no_b_proj] = [3 * c, c].map(|n| Tensor::from_vec(&[n], vec![0.0; n]).unwrap());
    for h in [1, 2, 3, 12] {
        let fast = self_attention_mha(
            &x,
            &w_qkv,
            &no_b_qkv,
            &w_proj,
            &no_b_proj,
            h,
            &ops::Context::new(0),
        )
        .unwrap();
        let module = SimpleMultiHeadAttention::from_packed(&w_qkv, &w_proj, h).unwrap();
        let mask = AdditiveMask::causal(t, t).unwrap();
        let general = module.forward(&x, &x, &x, Some(&mask)).unwrap();
        same(&fast, &general, &[&x, &w_qkv, &w_proj]);

        let fast =
            self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, h, &ops::Context::new(0))
                .unwrap();
        let module = MultiHeadAttention::from_packed(&w_qkv, &b_qkv, &w_proj, &b_proj, h).unwrap();
        let general = module.forward(&x, Some(&KeepMask::causal(t, t).unwrap())).unwrap();
        same(&fast, &general, &[&x, &w_qkv, &b_qkv, &w_proj, &b_proj]);
    }
}

/// Values and gradients do not depend on the number of threads.
#[test]
fn the_same_bits_with_any_number_of_threads() {
    let module = MultiHeadAttention::new(32, 4, 1).unwrap();
    let x = input(&[3, 70, 32], 1);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let y = module.forward(&x, Some(&KeepMask::causal(70, 70).unwrap())).unwrap();
            let grads = gradients(&y);
            let all = module.parameters().map(|(_, p)| p).chain([&x]);
            (y.data().to_vec(), Vec::from_iter(all.map(|p| grads.get(p).unwrap().to_vec())))
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(3) && one == run(8));
}
