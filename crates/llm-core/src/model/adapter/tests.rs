//! What a pair computes, what is frozen, and what of it is seen.

use super::*;
use crate::autograd::no_grad;
use crate::generate::Decoder;
use crate::kernels::gemm::bf16::number;
use crate::kernels::gemm::{Precision, within};
use crate::kernels::small::SmallKind;
use crate::model::{Batch, Mode};
use crate::tensor::halves::Halves;
use crate::{Config, gradcheck, ops};
use ndarray::ArrayD;

/// Numbers between -1 and 1 that follow from nothing but their places.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let n: usize = shape.iter().product();
    let data = (0..n).map(|i| (((i + 3 * seed) * 7919 % 101) as f32 - 50.0) / 50.0).collect();
    Tensor::parameter_from_vec(shape, data).unwrap()
}

fn part(columns: usize, rank: usize, scale: f32) -> Part {
    Part { columns, rank, scale }
}

/// Three parts, of which one has nothing, and no two the same rank or scale.
fn parts() -> Vec<Part> {
    vec![part(4, 3, 0.5), part(2, 0, 1.0), part(5, 1, -1.5)]
}

fn spec() -> AdapterSpec {
    AdapterSpec(vec![
        ("blocks.1.w_out".into(), vec![part(12, 2, 2.0)]),
        ("blocks.0.w_qkv".into(), vec![part(12, 3, 0.5), part(12, 0, 1.0), part(12, 1, 1.5)]),
        ("blocks.1.w_fc".into(), vec![part(48, 2, 2.0)]),
    ])
}

fn base() -> TinyGPT {
    TinyGPT::new(Config { norm_affine: true, ..Config::new(17, 8, 12, 2) }, 5).unwrap()
}

/// An adapter that adds something.
fn adapted() -> TinyGPT {
    adapted_on(base())
}

fn adapted_on(base: TinyGPT) -> TinyGPT {
    let mut model = base.with_adapter(&spec(), 1).unwrap();
    for (i, (name, p)) in model.trained_mut().enumerate() {
        let n = numbers(p.shape(), i);
        let values = n.data().iter().map(|x| 0.3 * x);
        // Of a B only the rows that its part has are used; the others stay 0.
        let is_b = name.ends_with("w_qkv.lora_b");
        let width = p.shape()[1];
        for (at, (p, x)) in p.data_mut().iter_mut().zip(values).enumerate() {
            let [row, column] = [at / width, at % width];
            let idle = is_b && ((12..24).contains(&column) || column >= 24 && row > 0);
            *p = if idle { 0.0 } else { x };
        }
    }
    model
}

fn batch() -> Batch {
    let tokens = |by: u32| (0..16).map(|i| i * by % 17).collect::<Vec<u32>>();
    Batch::new(tokens(5), tokens(3), [2, 8])
}

#[test]
fn gradients_are_those_of_the_equation() {
    let (x, w, bias) = (numbers(&[2, 3, 6], 1), numbers(&[6, 11], 2), numbers(&[11], 3));
    let (a, b) = (numbers(&[6, 4], 4), numbers(&[3, 11], 5));
    let product = |x: &Tensor, a: &Tensor, b: &Tensor| {
        let w = w.adapted(Pair { a: a.clone(), b: b.clone(), parts: parts() });
        ops::linear_lastdim(x, &w, Some(&bias))
    };
    gradcheck::check(&[x.clone(), a.clone(), b.clone()], 1, |i| product(&i[0], &i[1], &i[2]))
        .unwrap();

    // What stands behind the rank of a part of B is not used and has no gradient.
    let y = product(&x, &a, &b).unwrap();
    let grads = ops::sum(&ops::mul(&y, &y).unwrap()).unwrap().backward().unwrap();
    let db = grads.get(&b).unwrap();
    let idle = |r: usize, c: usize| (4..6).contains(&c) || (c >= 6 && r > 0);
    for (at, g) in db.iter().enumerate() {
        assert_eq!(*g == 0.0, idle(at / 11, at % 11), "{at}: {g}");
    }
    // The same with rounded products, a coarse equal.
    let rounded = within(Precision::Bf16, || product(&x, &a, &b)).unwrap();
    assert!(rounded.data().iter().zip(y.data()).all(|(a, b)| (a - b).abs() < 0.1));
    assert!(ops::linear_tied(&x, &w.adapted(Pair { a, b, parts: parts() }), None).is_err());
}

#[test]
fn at_the_start_nothing_is_added_and_everything_else_is_frozen() {
    let (plain, model) = (base(), base().with_adapter(&spec(), 1).unwrap());
    let loss = |model: &TinyGPT| model.loss(&batch(), Mode::Training).unwrap();
    assert_eq!(loss(&plain).item(), loss(&model).item());
    let grads = loss(&model).backward().unwrap();
    let names: Vec<_> = model.trained().map(|(name, _)| name).collect();
    let of = |name: &str| [format!("{name}.lora_a"), format!("{name}.lora_b")];
    assert_eq!(names, ["blocks.0.w_qkv", "blocks.1.w_fc", "blocks.1.w_out"].map(of).concat());
    for (name, p) in model.trained() {
        // A's is 0 while B is: no reason to call it one that does not learn.
        let g = grads.get(p).unwrap();
        assert_eq!(g.iter().all(|g| *g == 0.0), name.ends_with("lora_a"), "{name}");
    }
    assert!(model.parameters().all(|(_, p)| !p.wants_grad() && grads.get(p).is_none()));
    assert_eq!(model.trained_count(), 12 * 4 + 3 * 36 + 12 * 2 + 2 * 48 + 48 * 2 + 2 * 12);
    let copy = model.clone();
    assert!(copy.adapter() == model.adapter() && copy.parameters().all(|(_, p)| !p.wants_grad()));
    let other = base().with_adapter(&spec(), 2).unwrap();
    let first = |model: &TinyGPT| model.trained().next().unwrap().1.data().to_vec();
    assert!(
        first(&model) != first(&other)
            && first(&model).iter().all(|a| a.abs() <= 1.0 / 12f32.sqrt())
    );
}

#[test]
fn a_merged_model_and_a_text_that_grows_compute_the_same() {
    let model = adapted();
    let tokens = batch().inputs;
    let logits = |model: &TinyGPT| no_grad(|| model.logits(&tokens, [2, 8])).unwrap();
    let near = |a: &[f32], b: &[f32], by: f32| a.iter().zip(b).all(|(a, b)| (a - b).abs() < by);
    let (with, without) = (logits(&model), logits(&base()));
    assert!(!near(with.data(), without.data(), 0.1));
    let merged = model.clone().merged();
    assert!(near(with.data(), logits(&merged).data(), 1e-5));
    assert!(merged.adapter().is_none() && merged.parameters().all(|(_, p)| p.wants_grad()));
    // Who makes a model of its tensors gets their values, which the pairs belong to.
    let named = model.parameters().map(|(name, p)| (name, p.clone())).collect();
    let again = TinyGPT::from_parameters(model.config().clone(), model.attention().clone(), named);
    assert!(near(logits(&again.unwrap()).data(), logits(&merged).data(), f32::MIN_POSITIVE));

    let last = &with.data()[7 * 17..8 * 17];
    for small in [None, Some(SmallKind::Bf16)] {
        let mut decoder = Decoder::with_weights(&model, small).unwrap();
        decoder.feed(&tokens[..5]).unwrap();
        decoder.feed(&tokens[5..6]).unwrap();
        decoder.feed(&tokens[6..7]).unwrap();
        let scores = decoder.feed(&tokens[7..8]).unwrap();
        assert!(near(scores, last, if small.is_some() { 0.1 } else { 1e-5 }), "{small:?}");
    }
    let norm = model.blocks[1].w_out.adapter().unwrap().norm();
    let moved = merged.blocks[1].w_out.data().iter().zip(base().blocks[1].w_out.data().to_vec());
    let moved = moved.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    assert!((norm - moved).abs() < 1e-5 * norm, "{norm} {moved}");
}

#[test]
fn a_base_that_was_written_to_is_found_out() {
    let mut model = adapted();
    model.check_base().unwrap();
    let at = &mut model.blocks[0].attention;
    at.get_mut("w_proj").unwrap().data_mut()[0] += 0.0;
    let error = model.check_base().unwrap_err().to_string();
    assert_eq!(error, "adapter: 'blocks.0.w_proj' of the frozen weights was changed");
    let mut model = adapted();
    model.wte = model.wte.clone().into_parameter(Role::Table);
    assert!(model.check_base().unwrap_err().to_string().contains("'wte'"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |spec: AdapterSpec| base().with_adapter(&spec, 1).unwrap_err().to_string();
    let one = |name: &str, parts: Vec<Part>| refused(AdapterSpec(vec![(name.into(), parts)]));
    assert_eq!(one("w_lm", vec![part(17, 1, 1.0)]), "adapter: 'w_lm' is no matrix of a block");
    assert!(one("blocks.2.w_fc", vec![part(48, 1, 1.0)]).contains("no matrix of a block"));
    assert!(one("blocks.0.b_fc", vec![part(48, 1, 1.0)]).contains("no matrix of a block"));
    assert!(one("blocks.0.w_fc", vec![part(47, 1, 1.0)]).contains("has 48 columns, not 47"));
    assert!(one("blocks.0.w_fc", vec![part(48, 0, 1.0)]).contains("a rank of 0"));
    assert!(one("blocks.0.w_fc", vec![part(48, 1, f32::NAN)]).contains("finite"));
    assert!(refused(AdapterSpec::default()).contains("no matrix"));
    let twice = adapted().with_adapter(&spec(), 1).unwrap_err().to_string();
    assert!(twice.contains("merge that first"), "{twice}");
    let pairs = |model: &TinyGPT| model.trained().map(|(n, p)| (n, p.clone())).collect::<Vec<_>>();
    let given = |list| base().with_adapter_of(&spec(), list).map(|_| ());
    given(pairs(&adapted())).unwrap();
    assert!(given(pairs(&adapted())[1..].to_vec()).is_err());
    let mut other = pairs(&adapted());
    other[2].1 = Tensor::new(ArrayD::zeros(vec![12, 3]));
    assert!(given(other).is_err());
}

/// Every gradient to the bit, with dropout, of a whole model and of an adapter, and none of a row that is
/// ignored.
#[test]
fn a_block_that_is_computed_again_has_the_same_gradients() {
    let dropped = Config { dropout: 0.2, norm_affine: true, ..Config::new(17, 8, 12, 3) };
    let whole = TinyGPT::new(dropped, 5).unwrap();
    for mut model in [adapted(), whole] {
        let gradients = |model: &TinyGPT| {
            let loss = model.loss(&batch(), Mode::Training).unwrap();
            let mut given = Vec::new();
            let grads = model.loss(&batch(), Mode::Training).unwrap().backward().unwrap();
            loss.backward_giving(1.0, |leaf, g| given.push((leaf, g.to_vec()))).unwrap();
            let all: Vec<_> =
                model.trained().map(|(_, p)| grads.get(p).unwrap().to_vec()).collect();
            for ((_, p), g) in model.trained().zip(&all) {
                assert!(given.iter().any(|(leaf, given)| Some(*leaf) == p.id() && given == g));
            }
            (loss.item().to_bits(), all)
        };
        let kept = gradients(&model);
        model.set_recompute(true);
        assert!(gradients(&model) == kept);
    }
}

/// Frozen matrices of bf16 numbers, kept as such: the bits of all that is computed are those of f32, and no step,
/// measurement or text makes f32 of a whole one.
#[test]
fn a_base_in_half_the_memory_computes_the_same() {
    for tied_head in [false, true] {
        let config = Config { norm_affine: true, tied_head, ..Config::new(17, 8, 12, 2) };
        let mut single = TinyGPT::new(config, 5).unwrap();
        let mut half = single.clone();
        for ((_, one), (_, other)) in single.parameters_mut().zip(half.parameters_mut()) {
            one.data_mut().iter_mut().for_each(|x| *x = number::widen(number::round(*x)));
            *other = one.clone();
            if let ([_, _], Some(halves)) = (one.shape(), Halves::of(one.data())) {
                *other =
                    Tensor::parameter_of_halves(one.shape(), halves).into_parameter(one.role());
            }
        }
        let [single, mut half] = [single, half].map(adapted_on);
        assert_eq!(single.half_count(), 0);
        let matrices = half.parameters().filter(|(_, p)| p.rank() == 2);
        assert_eq!(half.half_count(), matrices.map(|(_, p)| p.numel() as u64).sum::<u64>());
        assert_eq!(single.base(), half.base());
        let found = |model: &TinyGPT| {
            let loss = model.loss(&batch(), Mode::Training).unwrap();
            let grads = loss.backward().unwrap();
            let all = model.trained().map(|(_, p)| grads.get(p).unwrap().to_vec());
            let (all, logits) = (all.collect::<Vec<_>>(), model.logits(&[3, 1, 4], [1, 3]));
            let mut decoder = Decoder::new(model).unwrap();
            decoder.feed(&[3, 1]).unwrap();
            let written = decoder.feed(&[4]).unwrap().to_vec();
            (loss.item(), all, logits.unwrap().data().to_vec(), written)
        };
        let (one, other) = (found(&single), found(&half));
        assert!((&one.0, &one.1, &one.2) == (&other.0, &other.1, &other.2));
        assert!(one.3.iter().zip(&other.3).all(|(a, b)| (a - b).abs() < 1e-6));
        half.set_recompute(true);
        assert!((found(&half).1, half.check_base().is_ok()) == (one.1, true));
        assert!(half.parameters().all(|(_, p)| p.halves().is_none_or(|halves| !halves.is_wide())));

        let [single, half] = [single, half].map(TinyGPT::merged);
        assert!(half.half_count() == 0 && single.weights_blake3() == half.weights_blake3());
    }
}
