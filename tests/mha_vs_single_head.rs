//! One head is the baseline, bit for bit; heads that do not fit are refused; each head is its own.

use llm_core::generate::Decoder;
use llm_core::model::{Decode, SingleHead};
use llm_core::ndarray::{ArrayD, ArrayView2};
use llm_core::{Attention, AttentionSpec, Batch, Config, Error, Tensor, TinyGPT, no_grad, ops};
use llm_variant_mha::{MultiHead, causal_attention_heads, self_attention_mha};
use std::sync::Arc;

fn input(shape: &[usize], salt: usize) -> Tensor {
    let strides: Vec<usize> = (0..shape.len()).map(|i| shape[i + 1..].iter().product()).collect();
    Tensor::parameter(ArrayD::from_shape_fn(shape, |ix| {
        let flat: usize = (0..shape.len()).map(|i| ix[i] * strides[i]).sum();
        ((flat * 37 + salt * 101) % 61) as f32 / 40.0 - 0.75
    }))
}

/// The original's test: forward, and all five gradients through a cross-entropy loss.
#[test]
fn one_head_equals_single_head_bit_for_bit() {
    for (b, t, c) in [(2, 4, 8), (3, 65, 16), (1, 1, 3)] {
        let p = [
            input(&[b, t, c], 1),
            input(&[c, 3 * c], 2),
            input(&[3 * c], 3),
            input(&[c, c], 4),
            input(&[c], 5),
        ];
        let single = ops::self_attention_1h(&p[0], &p[1], &p[2], &p[3], &p[4]).unwrap();
        let multi = self_attention_mha(&p[0], &p[1], &p[2], &p[3], &p[4], 1).unwrap();
        assert_eq!(single.shape(), [b, t, c]);
        assert_eq!(single.data(), multi.data());
        let targets: Vec<u32> = (0..b * t).map(|i| (i % c) as u32).collect();
        let loss = |y: &Tensor| {
            ops::cross_entropy(&ops::reshape(y, &[b * t, c]).unwrap(), &targets).unwrap()
        };
        let (single, multi) = (loss(&single), loss(&multi));
        assert_eq!(single.item(), multi.item());
        let (single, multi) = (single.backward().unwrap(), multi.backward().unwrap());
        for x in &p {
            assert_eq!(single.get(x).unwrap(), multi.get(x).unwrap());
        }
    }
}

#[test]
fn models_with_one_head_are_the_same_model() {
    let config = Config::new(17, 8, 12, 2);
    let single = TinyGPT::new(config.clone(), 5).unwrap();
    let multi = TinyGPT::with_attention(config, Arc::new(MultiHead::new(1)), 5).unwrap();
    let batch = Batch::new(Vec::from_iter(0..16), Vec::from_iter(1..17), [2, 8]);
    assert_eq!(single.loss(&batch).unwrap().item(), multi.loss(&batch).unwrap().item());
    assert_eq!(single.attention().spec(), multi.attention().spec());
}

/// Head h reads channels h·D..(h+1)·D of q, k, v and nothing else: disturbing head 1 leaves the
/// other heads' outputs as they were.
#[test]
fn heads_do_not_see_each_other() {
    let (b, t, c, h) = (2, 5, 12, 3);
    let d = c / h;
    let qkv = input(&[b, t, 3 * c], 7);
    let before = causal_attention_heads(&qkv, h, &[], None).unwrap();
    let mut other = qkv.clone();
    for row in other.data_mut().chunks_exact_mut(3 * c) {
        for part in 0..3 {
            row[part * c + d..part * c + 2 * d].iter_mut().for_each(|x| *x = -2.0 * *x + 0.1);
        }
    }
    let after = causal_attention_heads(&other, h, &[], None).unwrap();
    for (before, after) in before.data().chunks_exact(c).zip(after.data().chunks_exact(c)) {
        assert_eq!(before[..d], after[..d]);
        assert_ne!(before[d..2 * d], after[d..2 * d]);
        assert_eq!(before[2 * d..], after[2 * d..]);
    }
}

/// Each head alone, cut out and given to the single-head op, gives its part of the result: the
/// scale is 1/√D, not 1/√C.
#[test]
fn a_head_is_single_head_attention_over_its_channels() {
    let (b, t, c, h) = (2, 70, 12, 3);
    let d = c / h;
    let qkv = input(&[b, t, 3 * c], 7);
    let all = causal_attention_heads(&qkv, h, &[], None).unwrap();
    for head in 0..h {
        let mut part = Vec::new();
        for row in qkv.data().chunks_exact(3 * c) {
            (0..3).for_each(|p| part.extend_from_slice(&row[p * c + head * d..][..d]));
        }
        let part = Tensor::from_vec(&[b, t, 3 * d], part).unwrap();
        let alone = ops::causal_attention_1h(&part, None).unwrap();
        for (all, alone) in all.data().chunks_exact(c).zip(alone.data().chunks_exact(d)) {
            for (x, y) in all[head * d..(head + 1) * d].iter().zip(alone) {
                assert!((x - y).abs() < 1e-6);
            }
        }
    }
}

/// No position sees a later one.
#[test]
fn the_future_is_hidden() {
    let qkv = input(&[1, 70, 24], 3);
    for h in [1, 2] {
        let before = causal_attention_heads(&qkv, h, &[], None).unwrap();
        for changed in [1, 33, 64, 69] {
            let mut other = qkv.clone();
            other.data_mut()[changed * 24..].iter_mut().for_each(|x| *x += 1.0);
            let after = causal_attention_heads(&other, h, &[], None).unwrap();
            assert_eq!(before.data()[..changed * 8], after.data()[..changed * 8]);
            assert_ne!(before.data()[changed * 8..], after.data()[changed * 8..]);
        }
    }
}

#[test]
fn heads_that_do_not_fit_are_refused_with_what_does() {
    for h in [0, 3, 5, 13] {
        let config = Config::new(17, 8, 64, 1);
        let error = TinyGPT::with_attention(config, Arc::new(MultiHead::new(h)), 1).err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, Error::Config { field: "heads", .. }), "{text}");
        assert!(text.contains("1, 2, 4, 8, 16, 32, 64"), "{text}");
        let qkv = input(&[1, 2, 192], 1);
        assert!(matches!(causal_attention_heads(&qkv, h, &[], None), Err(Error::Config { .. })));
    }
    assert!(causal_attention_heads(&input(&[1, 2, 192], 1), 2, &[true], None).is_err());
    assert!(causal_attention_heads(&input(&[1, 2, 191], 1), 1, &[], None).is_err());
    assert!(causal_attention_heads(&input(&[2, 192], 1), 1, &[], None).is_err());
}

#[test]
fn specs_come_back_and_foreign_ones_are_refused() {
    let spec = |name: &str, n_heads, head_mask: &[bool]| AttentionSpec {
        name: name.into(),
        n_heads,
        head_mask: head_mask.to_vec(),
    };
    let four = MultiHead::new(4).spec();
    assert_eq!(four, spec("multi-head", 4, &[]));
    assert_eq!(MultiHead::from_spec(&four).unwrap().spec(), four);
    assert!(SingleHead::from_spec(&four).is_err());
    assert!(SingleHead::from_spec(&MultiHead::new(1).spec()).is_ok());
    assert_eq!(MultiHead::from_spec(&SingleHead.spec()).unwrap().spec(), SingleHead.spec());
    assert!(MultiHead::from_spec(&spec("sliding", 4, &[])).is_err());
    let pruned = spec("multi-head", 1, &[true, false]);
    assert_eq!(MultiHead::from_spec(&pruned).unwrap().spec(), pruned);
    assert!(SingleHead::from_spec(&pruned).is_err());
    let wrong = Arc::new(MultiHead::with_head_mask(2, vec![true; 3]));
    assert!(TinyGPT::with_attention(Config::new(5, 4, 4, 2), wrong, 1).is_err());
}

/// A step of generation against cached keys and values is the last row of the whole.
#[test]
fn decoding_one_position_equals_the_whole_row() {
    let (t, c) = (9, 12);
    let qkv = input(&[1, t, 3 * c], 7);
    let mask = vec![true, false, true, true];
    let all: [(Box<dyn Attention>, usize, &[bool]); 3] = [
        (Box::new(SingleHead), 1, &[]),
        (Box::new(MultiHead::new(3)), 3, &[]),
        (Box::new(MultiHead::with_head_mask(4, mask.clone())), 4, &mask),
    ];
    for (attention, h, keep) in all {
        let whole = causal_attention_heads(&qkv, h, keep, None).unwrap();
        let part = |p: usize| -> Vec<f32> {
            qkv.data().chunks_exact(3 * c).flat_map(|r| r[p * c..(p + 1) * c].to_vec()).collect()
        };
        let (q, k, v) = (part(0), part(1), part(2));
        for n in 1..=t {
            let (mut scores, mut y) = (vec![f32::NAN; h * n], vec![f32::NAN; c]);
            attention.decode(Decode {
                layer: 0,
                q: &q[(n - 1) * c..n * c],
                keys: ArrayView2::from_shape((n, c), &k[..n * c]).unwrap(),
                values: ArrayView2::from_shape((n, c), &v[..n * c]).unwrap(),
                scores: &mut scores,
                y: &mut y,
            });
            for (x, y) in whole.data()[(n - 1) * c..n * c].iter().zip(&y) {
                assert!((x - y).abs() < 1e-6);
            }
        }
    }
}

/// The same with several heads, and the same bits on any number of threads.
#[test]
fn the_cache_agrees_with_the_whole_pass_for_every_head_count() {
    let config = Config::gpt2(29, 200, 48, 2);
    let text: Vec<u32> = (0..200).map(|i| (i * i * 7 + i) % 29).collect();
    for heads in [1, 2, 4, 48] {
        let attention = Arc::new(MultiHead::new(heads));
        let model = TinyGPT::with_attention(config.clone(), attention, 5).unwrap();
        let whole = no_grad(|| model.logits(&text, [1, 200])).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut decoder = Decoder::new(&model).unwrap();
                let mut all = decoder.feed(&text[..150]).unwrap().to_vec();
                for token in &text[150..] {
                    all.extend_from_slice(decoder.feed(&[*token]).unwrap());
                }
                all
            })
        };
        let cached = run(1);
        assert!(cached == run(2) && cached == run(3), "{heads} heads");
        for (x, y) in whole.data()[149 * 29..].iter().zip(&cached) {
            assert!((x - y).abs() < 1e-5, "{heads} heads: {x} {y}");
        }
    }
}
