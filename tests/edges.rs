//! Numbers at the edge: what describes a model can be made of any numbers, and is then right or refused.
//! Tests are built with overflow checks, so that a sum too large is a panic here.

use llm_core::model::{Footprint, Kept, Mlp, Param, Positions, Rotary, check_attention};
use llm_core::{Attention, AttentionSpec, Config, Recipe, Tensor, TinyGPT};
use llm_lens::{AttentionCost, ModelReport};
use llm_variant_mha::{MultiHead, causal_attention_heads};
use llm_variant_modern::{HeadShape, Modern, causal_attention_grouped};
use proptest::prelude::*;
use std::sync::Arc;

/// Numbers that may be fine, and numbers that never are.
fn number() -> impl Strategy<Value = usize> {
    let edges = [1 << 16, 1 << 31, (1 << 32) + 1, usize::MAX / 2, usize::MAX - 1, usize::MAX];
    prop_oneof![3 => 0..9usize, 2 => prop::sample::select(edges.to_vec())]
}

fn any_if_set() -> impl Strategy<Value = Option<usize>> {
    prop::option::of(number())
}

fn attentions(
    [h, layer]: [usize; 2],
    [g, d, width, window]: [Option<usize>; 4],
    cap: Option<f64>,
) -> Vec<Arc<dyn Attention>> {
    let mut modern = Modern::grouped(h, g.unwrap_or(h));
    if let Some(d) = d {
        modern = modern.with_head_dim(d);
    }
    if let Some(width) = width {
        modern = modern.with_rotary(Rotary::partial(100.0, width));
    }
    if let Some(window) = window {
        modern = modern.with_window(window);
    }
    if let Some(cap) = cap {
        modern = modern.with_soft_cap(cap);
    }
    let mask = vec![true; layer % 9];
    vec![
        Arc::new(modern.clone()),
        Arc::new(modern.with_qk_norm().with_head_mask(mask.clone())),
        Arc::new(MultiHead::new(h)),
        Arc::new(MultiHead::with_head_mask(h, mask)),
    ]
}

/// What can be asked of a description before anyone has checked it.
fn asked(spec: &AttentionSpec, config: &Config, layer: usize) {
    let c = config.d_model;
    let Kept { qkv, heads, normed_keys } = spec.kept(c);
    assert!(normed_keys <= qkv && heads == spec.heads_width(c));
    assert!(spec.cache_row(c) <= spec.qkv_width(c) && spec.used(layer).len() <= 9);
    let numbers = spec.parameters(config).iter().map(|(_, p)| p.numel()).max();
    assert!(numbers.is_some_and(|most| most > 0 || c == 0 || spec.n_heads == 0));
    let scoring = spec.scoring(c);
    assert_eq!(scoring.window, spec.window.unwrap_or(usize::MAX));
    let shape = HeadShape::new(spec, c);
    assert!(shape.all() >= shape.each());
    drop((spec.is_plain(), spec.settings(), config.inner(), config.hidden()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_description_is_right_or_refused(
        sizes in prop::array::uniform4(number()), of in prop::array::uniform2(number()),
        own in prop::array::uniform4(any_if_set()), cap in prop::option::of(any::<f64>()),
        inner in any_if_set(), rows in any_if_set(), mlp in 0..3usize,
    ) {
        let [v, t, c, l] = sizes;
        let config = Config {
            mlp: [Mlp::Gelu, Mlp::SwiGlu, Mlp::Relu2][mlp],
            n_inner: inner.unwrap_or(0),
            ngrams: rows.map_or(vec![], |n| vec![2, n]),
            ngram_rows: rows.unwrap_or(1),
            positions: if own[2].is_some() { Positions::Rotary } else { Positions::Learned },
            ..Config::gpt2(v, t, c, l)
        };
        let sized = config.check().is_ok();
        for attention in attentions(of, own, cap) {
            let spec = attention.spec();
            asked(&spec, &config, of[1]);
            let fits = check_attention(attention.as_ref(), &config);
            if !sized || fits.is_err() {
                continue;
            }
            let footprint = Footprint::new(&config, attention.as_ref());
            prop_assert!(footprint.training(usize::MAX, usize::MAX) >= footprint.training(1, 1));
            prop_assert!(footprint.inference(usize::MAX, usize::MAX) >= footprint.optimizer());
            let report = ModelReport::new(footprint, &spec, [usize::MAX; 2], of[1]).unwrap();
            prop_assert!(report.memory.total() >= report.memory.weights);
            if report.parameters < 1 << 16 {
                prop_assert!(TinyGPT::with_attention(config.clone(), attention, 1).is_ok());
            }
        }
    }

    #[test]
    fn sizes_of_one_part_are_right_or_refused(n in prop::array::uniform4(number()), cap: f32) {
        let [a, b, c, d] = n;
        let fits = AttentionSpec::new("multi-head", a).check(&Config::new(b, c, d, a)).is_ok();
        prop_assert!(!fits || d.is_multiple_of(a));
        prop_assert!(Param::weight([a, b]).numel() == Param::head([b, a]).numel());
        let cost = AttentionCost::new(a, b, c);
        prop_assert!(cost.n_heads >= 1 && cost.value_macs == cost.score_macs);
        let mut recipe = Recipe::new([a, b], c as u64, 1e-3);
        recipe.accum = d as u32;
        drop((recipe.check(), recipe.tokens_per_step()));
        let qkv = Tensor::from_vec(&[1, 2, 12], vec![0.5; 24]).unwrap();
        let shape = HeadShape::of([a, b, c]).within(d).capped(cap);
        let grouped = causal_attention_grouped(&qkv, shape, &[], None);
        prop_assert!(grouped.is_err() || (a + 2 * b) * c == 12);
        prop_assert!(causal_attention_heads(&qkv, a, &[], None).is_err() || 4 % a == 0);
    }
}
