//! A forward as a list (`llm_core::listing`): the expected ops, and the proof that nothing is
//! missing: whoever calls the listed ops with the listed numbers gets the same loss, bit for bit.

mod replay;

use llm_core::listing::{Fact, Input, Listed, listing};
use llm_core::model::{Activation, Mlp, Mode, Norm, Positions};
use llm_core::ndarray::ArrayD;
use llm_core::{Attention, Config, Tensor, TinyGPT, TokenDataset, no_grad, ops};
use llm_courses::{AdditiveMask, permute, scaled_dot_product_attention, softmax};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use proptest::prelude::*;
use replay::replay;
use std::collections::BTreeMap;
use std::sync::Arc;

const VOCAB: usize = 256;

fn text() -> TokenDataset {
    TokenDataset::from_bytes(b"the cat sat on the mat, and the dog sat on the cat. ".repeat(4))
}

/// The loss of a batch `[2, T]` in training, and how it came about.
fn listed(model: &TinyGPT) -> (Tensor, Vec<Listed>) {
    let t = model.config().seq_len;
    let batch = text().batch(5, 3, [2, t]).unwrap();
    listing(|| model.loss(&batch, Mode::Training).unwrap())
}

/// The list of this model's loss, which gives the loss again.
fn comes_back(config: Config, attention: Arc<dyn Attention>) -> Vec<Listed> {
    let model = TinyGPT::with_attention(config, attention, 7).unwrap();
    let (loss, list) = listed(&model);
    let leaves: BTreeMap<u64, Tensor> =
        model.parameters().map(|(_, p)| (p.id().unwrap(), p.clone())).collect();
    let again = replay(&list, leaves);
    assert_eq!(again.item().to_bits(), loss.item().to_bits(), "{} and {loss:?}", again.item());
    assert_eq!(list.last().unwrap().result, loss.id().unwrap());
    list
}

fn names(list: &[Listed]) -> Vec<&str> {
    list.iter().map(|made| made.op).collect()
}

#[test]
fn the_baseline_is_this_list() {
    let (vocab, t, c) = (VOCAB, 6, 8);
    let model = TinyGPT::new(Config::new(vocab, t, c, 1), 7).unwrap();
    let (_, list) = listed(&model);
    let block = "layernorm linear attention linear add layernorm linear gelu linear add";
    let want = format!("embedding embedding add {block} layernorm linear reshape cross_entropy");
    assert_eq!(names(&list).join(" "), want);
    let shapes: Vec<&[usize]> = list.iter().map(|made| &made.shape[..]).collect();
    let stream: &[usize] = &[2, t, c];
    assert_eq!(shapes[..4], [stream; 4]);
    assert_eq!(shapes[4..8], [&[2, t, 3 * c], stream, stream, stream]);
    assert_eq!(shapes[9..11], [&[2, t, 4 * c]; 2]);
    assert_eq!(shapes[14..], [&[2, t, vocab][..], &[2 * t, vocab], &[1]]);
    // Every input is a parameter or stands further up; each parameter is used, the tables too.
    let known: BTreeMap<u64, String> =
        model.parameters().map(|(name, p)| (p.id().unwrap(), name)).collect();
    let mut made = Vec::new();
    let mut used = Vec::new();
    for op in &list {
        for id in op.inputs.iter().map(|input| input.id().unwrap()) {
            assert!(known.contains_key(&id) || made.contains(&id));
            used.extend(known.get(&id));
        }
        made.push(op.result);
    }
    used.sort();
    let mut all: Vec<&String> = known.values().collect();
    all.sort();
    assert_eq!(used, all);
}

#[test]
fn each_op_says_its_numbers() {
    let mut config = Config::gpt2(VOCAB, 6, 8, 1);
    config.dropout = 0.25;
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(2)), 7).unwrap();
    let (_, list) = listed(&model);
    let of = |op: &str, i: usize| list.iter().filter(|made| made.op == op).nth(i).unwrap();
    let batch = text().batch(5, 3, [2, 6]).unwrap();
    assert_eq!(of("embedding", 0).fact("tokens"), Some(&Fact::Ids(batch.inputs.to_vec())));
    let places = Fact::Ids([0, 1, 2, 3, 4, 5].repeat(2));
    assert_eq!(of("embedding", 1).fact("places"), Some(&places));
    assert_eq!(of("layernorm", 0).number("eps"), Some(f64::from(1e-5f32)));
    assert_eq!(of("layernorm", 0).inputs.len(), 3);
    let attention = of("attention", 0);
    let numbers = ["heads", "kv_heads", "head_dim", "window"].map(|n| attention.number(n).unwrap());
    assert_eq!(numbers, [2.0, 2.0, 4.0, usize::MAX as f64]);
    assert_eq!(attention.number("scale"), Some(0.5));
    let masks = list.iter().filter(|made| matches!(made.fact("masks"), Some(Fact::Masks(_))));
    assert_eq!(masks.count(), 4, "the embeddings, P, the two sums");
    assert_eq!(of("linear", 0).number("transposed"), Some(0.0));
    assert_eq!(of("linear", 4).number("transposed"), Some(1.0), "the tied head");
    let targets = Fact::Ids(batch.targets.to_vec());
    assert_eq!(of("cross_entropy", 0).fact("targets"), Some(&targets));
}

#[test]
fn off_means_that_nothing_is_listed() {
    let model = TinyGPT::new(Config::new(VOCAB, 4, 4, 1), 7).unwrap();
    let batch = text().batch(5, 3, [2, 4]).unwrap();
    let loss = || model.loss(&batch, Mode::Training).unwrap();
    loss();
    assert!(listing(|| ()).1.is_empty(), "what came before is not listed");
    assert!(listing(|| no_grad(loss)).1.is_empty(), "nor is a constant");
    let (inner, outer) = listing(|| {
        loss();
        listing(|| ops::mean(&loss()).unwrap()).1
    });
    assert_eq!((inner.len(), outer.len()), (names(&outer).len() + 1, inner.len() - 1));
    let caught = std::panic::catch_unwind(|| listing(|| std::panic::resume_unwind(Box::new(()))));
    assert!(caught.is_err());
    loss();
    assert!(listing(|| ()).1.is_empty());
}

/// The numbers decide: with another one the list gives another loss.
#[test]
fn a_number_that_is_changed_is_noticed() {
    let model =
        TinyGPT::with_attention(Config::new(VOCAB, 6, 8, 1), Arc::new(MultiHead::new(2)), 7);
    let model = model.unwrap();
    let (loss, list) = listed(&model);
    let leaves: BTreeMap<u64, Tensor> =
        model.parameters().map(|(_, p)| (p.id().unwrap(), p.clone())).collect();
    for (i, name, other) in [(3, "eps", 0.5), (5, "heads", 4.0), (5, "window", 1.0)] {
        let mut changed = list.clone();
        for (of, fact) in &mut changed[i].facts {
            match *of {
                of if of == name => *fact = Fact::Number(other),
                "kv_heads" if name == "heads" => *fact = Fact::Number(other),
                "head_dim" if name == "heads" => *fact = Fact::Number(8.0 / other),
                "scale" if name == "heads" => *fact = (1.0 / (8.0 / other as f32).sqrt()).into(),
                _ => {}
            }
        }
        assert_ne!(changed, list, "{name}");
        assert_ne!(replay(&changed, leaves.clone()).item(), loss.item(), "{name}");
    }
}

/// An op that says its name alone is listed so, and a constant is there with its numbers.
#[test]
fn constants_and_strangers() {
    let x = Tensor::parameter_from_vec(&[2], vec![1.0, 2.0]).unwrap();
    let two = Tensor::from_vec(&[2], vec![2.0, 4.0]).unwrap();
    let (_, list) = listing(|| {
        let y = ops::mul(&x, &ops::add_scalar(&two, 1.0).unwrap()).unwrap();
        Tensor::from_op("strange", &[2], y.data().to_vec(), &[&y.parent()], |_, _| {})
    });
    assert_eq!(names(&list), ["mul", "strange"]);
    let constant = Input::Constant { shape: vec![2], data: vec![3.0, 5.0] };
    assert_eq!(list[0].inputs[1], constant);
    assert!(list[1].inputs.is_empty());
}

/// Ops that no model of ours is made of, one behind the other.
#[test]
fn the_other_ops_come_back() {
    let x = Tensor::parameter(ArrayD::from_shape_fn(vec![2, 3, 4], |i| {
        (i[0] * 12 + i[1] * 4 + i[2]) as f32 * 0.1 - 1.0
    }));
    let row = Tensor::parameter_from_vec(&[4], vec![0.5, -0.25, 2.0, 1.0]).unwrap();
    let (y, list) = listing(|| -> llm_core::Result<Tensor> {
        let y = ops::sub(&ops::mul(&x, &row)?, &ops::mul_scalar(&x, 0.3)?)?;
        let z = ops::transpose(&ops::add_scalar(&y, 0.1)?, 1, 2)?; // [2, 4, 3]
        let product = ops::bmm(&y, &z)?; // [2, 3, 3]
        let both = ops::concat(&[&product, &ops::slice(&y, -1, 1, 2)?], -1)?; // [2, 3, 5]
        let p = ops::softmax(&both, 1)?;
        let flat = ops::reshape(&p, &[6, 5])?;
        let square = ops::matmul2d(&ops::transpose(&flat, 0, 1)?, &ops::silu(&flat)?)?;
        let course = permute(&softmax(&p, -1)?, &[2, 0, 1])?; // [5, 2, 3]
        let mask = AdditiveMask::causal(2, 2)?;
        let heads = scaled_dot_product_attention(&course, &course, &course, None, Some(&mask))?;
        let all = ops::add(&ops::sum(&ops::gelu_exact(&square)?)?, &ops::mean(&heads)?)?;
        let table = ops::embedding(&flat, &[3, 0, 3], &[3])?;
        ops::add(&all, &ops::sum(&table)?)
    });
    let y = y.unwrap();
    let leaves = [x, row].map(|leaf| (leaf.id().unwrap(), leaf)).into();
    assert_eq!(replay(&list, leaves).item().to_bits(), y.item().to_bits());
    for op in ["broadcast", "attention_weights", "weighted_sum", "permute", "slice", "concat"] {
        assert!(names(&list).contains(&op), "{op}");
    }
}

fn widths() -> impl Strategy<Value = (usize, usize, usize)> {
    (1..9usize, 1..5usize, 1..4usize) // T, heads, half of a head
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_list_of_a_baseline_is_complete((t, half, layers) in widths()) {
        comes_back(Config::new(VOCAB, t, 2 * half + 1, layers), Arc::new(llm_core::model::SingleHead));
    }

    #[test]
    fn the_list_of_gpt2s_options_is_complete(
        (t, heads, half) in widths(), dropout in 0..2u8, mask in any::<[bool; 4]>(), exact: bool,
    ) {
        let mut config = Config::gpt2(VOCAB, t, heads * 2 * half, 1);
        config.dropout = f32::from(dropout) * 0.3;
        if exact {
            config.activation = Activation::Gelu;
        }
        let attention = MultiHead::with_head_mask(heads, mask[..heads].to_vec());
        comes_back(config, Arc::new(attention));
    }

    #[test]
    fn the_list_of_a_modern_model_is_complete(
        (t, groups, half) in widths(), each in 1..3usize, window in 1..9usize,
        qk_norm: bool, capped: bool, biases: (bool, bool), mlp in 0..3usize, affine: bool, dropout in 0..2u8,
    ) {
        let heads = groups * each;
        let mut config = Config::new(VOCAB, t, heads * 2 * half, 2);
        config.norm = Norm::Rms;
        config.norm_affine = affine;
        config.positions = Positions::Rotary;
        config.mlp = [Mlp::Gelu, Mlp::SwiGlu, Mlp::Relu2][mlp];
        config.mlp_bias = biases.0;
        config.dropout = f32::from(dropout) * 0.2;
        let mut attention = Modern::grouped(heads, groups).with_rotary(500.0).with_window(window);
        attention = attention.with_biases(biases.0, biases.1);
        if qk_norm {
            attention = attention.with_qk_norm();
        }
        if capped {
            attention = attention.with_soft_cap(0.1);
        }
        let list = comes_back(config, Arc::new(attention));
        prop_assert!(names(&list).contains(&"rotary"));
    }
}
