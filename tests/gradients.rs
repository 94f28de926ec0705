//! Every op, the whole model and own ops pass the public gradient check; planted faults do not.

use llm_core::gradcheck::check;
use llm_core::kernels::dropout::Dropout;
use llm_core::kernels::rotary::Angles;
use llm_core::model::{Activation, Mlp, Mode, Norm, Place, Positions, Rotary};
use llm_core::ndarray::ArrayD;
use llm_core::{Attention, Batch, Config, Error, Result, Tensor, TinyGPT, ops};
use llm_courses::{
    AdditiveMask, KeepMask, Linear, MultiHeadAttention, SimpleMultiHeadAttention, linear, permute,
    scaled_dot_product_attention, softmax,
};
use llm_variant_mha::{MultiHead, causal_attention_heads, self_attention_mha};
use llm_variant_modern::{HeadShape, Modern, causal_attention_grouped};
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// A parameter of random numbers in −1..1.
fn input(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    Tensor::parameter(ArrayD::from_shape_fn(shape, |_| rng.random_range(-1.0f32..1.0)))
}

fn inputs(shapes: &[&[usize]]) -> Vec<Tensor> {
    shapes.iter().enumerate().map(|(i, s)| input(s, i as u64 + 10)).collect()
}

#[test]
fn every_op() {
    type Op = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;
    let masks = Dropout::new(0.3, 5, 2, 0).unwrap();
    let cases: Vec<(&str, Vec<&[usize]>, Op)> = vec![
        ("add", vec![&[3, 5], &[3, 5]], Box::new(|x| ops::add(&x[0], &x[1]))),
        ("add itself", vec![&[3, 5]], Box::new(|x| ops::add(&x[0], &x[0]))),
        ("mul", vec![&[3, 5], &[3, 5]], Box::new(|x| ops::mul(&x[0], &x[1]))),
        ("sub", vec![&[3, 5], &[3, 5]], Box::new(|x| ops::sub(&x[0], &x[1]))),
        ("sub itself", vec![&[3, 5]], Box::new(|x| ops::sub(&x[0], &x[0]))),
        ("add, repeated", vec![&[2, 3, 5], &[5]], Box::new(|x| ops::add(&x[0], &x[1]))),
        ("sub, repeated", vec![&[3, 1], &[2, 1, 5]], Box::new(|x| ops::sub(&x[0], &x[1]))),
        ("mul, repeated", vec![&[1], &[3, 5]], Box::new(|x| ops::mul(&x[0], &x[1]))),
        ("mul with its mean", vec![&[3, 5]], Box::new(|x| ops::mul(&x[0], &ops::mean(&x[0])?))),
        ("broadcast_to", vec![&[3, 1, 2]], Box::new(|x| ops::broadcast_to(&x[0], &[2, 3, 4, 2]))),
        ("mul_scalar", vec![&[7]], Box::new(|x| ops::mul_scalar(&x[0], -2.5))),
        ("add_scalar", vec![&[7]], Box::new(|x| ops::add_scalar(&x[0], 0.5))),
        ("sum", vec![&[2, 3, 4]], Box::new(|x| ops::sum(&x[0]))),
        ("mean", vec![&[2, 3, 4]], Box::new(|x| ops::mean(&x[0]))),
        ("matmul2d", vec![&[4, 6], &[6, 3]], Box::new(|x| ops::matmul2d(&x[0], &x[1]))),
        ("bmm", vec![&[2, 4, 6], &[2, 6, 3]], Box::new(|x| ops::bmm(&x[0], &x[1]))),
        ("gelu", vec![&[40]], Box::new(|x| ops::gelu(&x[0]))),
        ("gelu_exact", vec![&[40]], Box::new(|x| ops::gelu_exact(&x[0]))),
        ("silu", vec![&[40]], Box::new(|x| ops::silu(&x[0]))),
        ("swiglu", vec![&[3, 2, 14]], Box::new(|x| ops::swiglu(&x[0]))),
        ("relu2", vec![&[40]], Box::new(|x| ops::relu2(&x[0]))),
        ("rmsnorm", vec![&[3, 17]], Box::new(|x| ops::rmsnorm_lastdim(&x[0], None, 1e-5))),
        (
            "rmsnorm with a gain",
            vec![&[3, 17], &[17]],
            Box::new(|x| ops::rmsnorm_lastdim(&x[0], Some(&x[1]), 1e-5)),
        ),
        (
            "rotary",
            vec![&[2, 5, 17]],
            Box::new(|x| ops::rotary(&x[0], 3, 5, &Arc::new(Angles::new(100.0, 4, 8)), 3)),
        ),
        ("layernorm", vec![&[3, 17]], Box::new(|x| ops::layernorm_lastdim(&x[0], 1e-5))),
        (
            "layernorm_affine",
            vec![&[3, 17], &[17], &[17]],
            Box::new(|x| ops::layernorm_affine_lastdim(&x[0], &x[1], &x[2], 1e-5)),
        ),
        ("softmax", vec![&[2, 3, 9]], Box::new(|x| ops::softmax_lastdim(&x[0]))),
        ("softmax, first axis", vec![&[9, 2, 3]], Box::new(|x| ops::softmax(&x[0], 0))),
        ("softmax, middle axis", vec![&[2, 9, 3]], Box::new(|x| ops::softmax(&x[0], -2))),
        ("reshape", vec![&[2, 6]], Box::new(|x| ops::reshape(&x[0], &[3, 4]))),
        ("slice_lastdim", vec![&[2, 9]], Box::new(|x| ops::slice_lastdim(&x[0], 3, 4))),
        ("slice", vec![&[2, 6, 3]], Box::new(|x| ops::slice(&x[0], 1, 2, 3))),
        ("transpose", vec![&[2, 3, 4, 2]], Box::new(|x| ops::transpose(&x[0], 0, -2))),
        (
            "concat",
            vec![&[2, 3, 2], &[2, 1, 2]],
            Box::new(|x| ops::concat(&[&x[0], &x[1], &x[0]], 1)),
        ),
        ("embedding", vec![&[5, 4]], Box::new(|x| ops::embedding(&x[0], &[1, 4, 1, 0], &[2, 2]))),
        (
            "linear",
            vec![&[2, 3, 5], &[5, 4], &[4]],
            Box::new(|x| ops::linear_lastdim(&x[0], &x[1], Some(&x[2]))),
        ),
        (
            "linear, no bias",
            vec![&[3, 5], &[5, 4]],
            Box::new(|x| ops::linear_lastdim(&x[0], &x[1], None)),
        ),
        (
            "linear_tied",
            vec![&[2, 3, 5], &[4, 5], &[4]],
            Box::new(|x| ops::linear_tied(&x[0], &x[1], Some(&x[2]))),
        ),
        (
            "self_attention_1h",
            vec![&[2, 6, 8], &[8, 24], &[24], &[8, 8], &[8]],
            Box::new(|x| {
                ops::self_attention_1h(&x[0], &x[1], &x[2], &x[3], &x[4], &ops::Context::new(0))
            }),
        ),
        (
            "self_attention_mha",
            vec![&[2, 6, 8], &[8, 24], &[24], &[8, 8], &[8]],
            Box::new(|x| {
                self_attention_mha(&x[0], &x[1], &x[2], &x[3], &x[4], 4, &ops::Context::new(0))
            }),
        ),
        (
            "attention with a head switched off",
            vec![&[2, 6, 24]],
            Box::new(|x| causal_attention_heads(&x[0], 2, &[false, true], None)),
        ),
        (
            "attention with dropout",
            vec![&[2, 6, 24]],
            Box::new(move |x| {
                let masks = masks.at(Place::Attention(0), 12);
                causal_attention_heads(&x[0], 2, &[], Some(masks))
            }),
        ),
        (
            "grouped heads in windows, some switched off, with dropout",
            vec![&[2, 9, 24]],
            Box::new(move |x| {
                let heads = HeadShape::of([4, 2, 3]).within(4);
                let masks = masks.at(Place::Attention(0), 36);
                causal_attention_grouped(&x[0], heads, &[true, true, false, true], Some(masks))
            }),
        ),
        (
            "one group, longer than a block, in windows",
            vec![&[1, 70, 10]],
            Box::new(|x| {
                let heads = HeadShape::of([3, 1, 2]).within(65);
                causal_attention_grouped(&x[0], heads, &[], None)
            }),
        ),
        (
            "capped scores of grouped heads in windows, with dropout",
            vec![&[2, 9, 24]],
            Box::new(move |x| {
                let heads = HeadShape::of([4, 2, 3]).within(4).capped(0.7);
                let masks = masks.at(Place::Attention(0), 36);
                causal_attention_grouped(&x[0], heads, &[], Some(masks))
            }),
        ),
        (
            "capped scores, longer than a block",
            vec![&[1, 70, 10]],
            Box::new(|x| {
                causal_attention_grouped(&x[0], HeadShape::of([3, 1, 2]).capped(1.5), &[], None)
            }),
        ),
        (
            "single-head attention with dropout, longer than a block",
            vec![&[1, 70, 6]],
            Box::new(move |x| {
                ops::causal_attention_1h(&x[0], Some(masks.at(Place::Attention(1), 70)))
            }),
        ),
        ("dropout", vec![&[3, 4, 5]], Box::new(move |x| ops::dropout(&x[0], Some(masks)))),
        ("cross_entropy", vec![&[4, 7]], Box::new(|x| ops::cross_entropy(&x[0], &[6, 0, 3, 3]))),
    ];
    for (name, shapes, f) in cases {
        for seed in 0..3 {
            if let Err(e) = check(&inputs(&shapes), seed, &f) {
                panic!("{name}: {e}");
            }
        }
    }
}

/// The courses' functions and modules; row 1 of the mask hides every key, row 0 some.
#[test]
fn the_general_attention() {
    type Op = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;
    let keep = KeepMask::new(ArrayD::from_shape_fn(vec![4, 6], |at| match at[0] {
        0 => (at[1] % 2) as f32,
        1 => 0.0,
        _ => 1.0,
    }));
    let hides = AdditiveMask::from(&keep);
    let causal = KeepMask::causal(5, 5).unwrap();
    let (q, k, v): (&[usize], &[usize], &[usize]) = (&[2, 3, 4, 5], &[2, 3, 6, 5], &[2, 3, 6, 2]);
    let (w, b): (&[usize], &[usize]) = (&[6, 6], &[6]);
    let (masked, in_heads) = (hides.clone(), hides);
    let cases: Vec<(&str, Vec<&[usize]>, Op)> = vec![
        (
            "linear",
            vec![&[2, 3, 5], &[4, 5], &[4]],
            Box::new(|x| linear(&x[0], &x[1], Some(&x[2]))),
        ),
        ("softmax, first axis", vec![&[3, 4, 2]], Box::new(|x| softmax(&x[0], 0))),
        ("softmax, last axis", vec![&[3, 4, 2]], Box::new(|x| softmax(&x[0], -1))),
        ("permute", vec![&[3, 4, 2]], Box::new(|x| permute(&x[0], &[2, 0, 1]))),
        (
            "attention",
            vec![q, k, v],
            Box::new(|x| scaled_dot_product_attention(&x[0], &x[1], &x[2], Some(0.7), None)),
        ),
        (
            "attention, masked",
            vec![q, k, v],
            Box::new(move |x| {
                scaled_dot_product_attention(&x[0], &x[1], &x[2], None, Some(&masked))
            }),
        ),
        (
            "attention, one tensor thrice",
            vec![q],
            Box::new(|x| scaled_dot_product_attention(&x[0], &x[0], &x[0], None, None)),
        ),
        (
            "SimpleMultiHeadAttention",
            vec![&[2, 4, 6], &[2, 6, 6], &[2, 6, 6], w, w, w, w],
            Box::new(move |x| {
                let [wq, wk, wv, wo] = [3, 4, 5, 6].map(|i| x[i].clone());
                let module = SimpleMultiHeadAttention::new(6, 3, wq, wk, wv, wo)?;
                module.forward(&x[0], &x[1], &x[2], Some(&in_heads))
            }),
        ),
        (
            "MultiHeadAttention",
            vec![&[2, 5, 6], w, b, w, b, w, b, w, b],
            Box::new(move |x| {
                let map = |i: usize| Linear::new(x[i].clone(), Some(x[i + 1].clone()));
                let module =
                    MultiHeadAttention::from_linears(2, map(1)?, map(3)?, map(5)?, map(7)?)?;
                module.forward(&x[0], Some(&causal))
            }),
        ),
    ];
    for (name, shapes, f) in cases {
        for seed in 0..3 {
            if let Err(e) = check(&inputs(&shapes), seed, &f) {
                panic!("{name}: {e}");
            }
        }
    }
}

/// All parameters of a two-layer, two-head model through its loss.
#[test]
fn the_whole_model() {
    let inner = Config { activation: Activation::Gelu, n_inner: 13, ..Config::gpt2(11, 6, 8, 2) };
    let gated = Config { norm: Norm::Rms, mlp: Mlp::SwiGlu, mlp_bias: false, ..inner.clone() };
    let gated = Config { activation: Activation::GeluTanh, positions: Positions::None, ..gated };
    let squared = Config { norm: Norm::Rms, mlp: Mlp::Relu2, ..Config::new(11, 6, 8, 2) };
    let rotary = Config { positions: Positions::Rotary, ..gated.clone() };
    let modern = Modern::grouped(4, 2).with_head_dim(4).with_rotary(Rotary::partial(10.0, 2));
    let modern = modern.with_window(3).with_soft_cap(0.8).with_qk_norm().with_biases(true, false);
    let ngrams = Config { ngrams: vec![2, 3], ngram_rows: 40, ..Config::new(11, 6, 8, 2) };
    let plain = [Config::new(11, 6, 8, 2), Config::gpt2(11, 6, 8, 2)];
    for config in plain.into_iter().chain([inner, gated, squared, rotary, ngrams]) {
        let attention: Arc<dyn Attention> = match config.positions {
            Positions::Rotary => Arc::new(modern.clone()),
            _ => Arc::new(MultiHead::new(2)),
        };
        let model = TinyGPT::with_attention(config, attention, 3).unwrap();
        let tokens: Vec<u32> = (0..12).map(|i| (i * 7 % 11) as u32).collect();
        let targets: Vec<_> = (0..12).map(|i| (i * 5 % 11) as u32).collect();
        let batch = Batch::new(tokens, targets, [2, 6]);
        // Gains and biases start at constants; move them, so that a wrong use shows.
        let start: Vec<Tensor> = model
            .parameters()
            .enumerate()
            .map(|(i, (_, p))| {
                let noise = input(p.shape(), 100 + i as u64);
                Tensor::parameter(&p.view() + &(&noise.view() * 0.3))
            })
            .collect();
        let loss = |inputs: &[Tensor]| {
            let mut model = model.clone();
            for ((_, p), x) in model.parameters_mut().zip(inputs) {
                *p = x.clone();
            }
            model.loss(&batch, Mode::Evaluation)
        };
        check(&start, 1, loss).unwrap();
    }
}

/// An op as an outside crate would write it: y = x³, with a right and with a wrong gradient.
fn cube(x: &Tensor, factor: f32) -> Result<Tensor> {
    let y: Vec<f32> = x.data().iter().map(|v| v * v * v).collect();
    let (parent, value) = (x.parent(), x.detach());
    Ok(Tensor::from_op("own", x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dx| {
            for ((dx, dy), v) in dx.iter_mut().zip(dy.iter()).zip(value.data()) {
                *dx += factor * v * v * dy;
            }
        });
    }))
}

#[test]
fn an_own_op_is_accepted_and_a_wrong_one_is_not() {
    let x = inputs(&[&[3, 4]]);
    check(&x, 1, |x| cube(&x[0], 3.0)).unwrap();
    for factor in [2.9, 0.0, -3.0] {
        assert!(matches!(check(&x, 1, |x| cube(&x[0], factor)), Err(Error::Gradient { .. })));
    }
}

/// A gradient that is missing counts as zero.
#[test]
fn a_forgotten_gradient_is_found() {
    let x = inputs(&[&[3, 4]]);
    let forgets = |x: &[Tensor]| {
        let y: Vec<f32> = x[0].data().iter().map(|v| v * 2.0).collect();
        Ok(Tensor::from_op("own", x[0].shape(), y, &[&x[0].parent()], |_, _| {}))
    };
    assert!(matches!(check(&x, 1, forgets), Err(Error::Gradient { .. })));
}
