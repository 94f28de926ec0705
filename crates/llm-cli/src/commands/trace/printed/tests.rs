//! What is printed about a walk, in both languages.

use super::text;
use crate::lang::Lang;
use llm_core::kernels::attention::{
    Head, each_head, forward, head_view, head_views, head_views_mut, probs, row_views_mut,
};
use llm_core::model::NORM_EPS;
use llm_core::{AttentionSpec, Tensor, ops};
use llm_lens::trace::{Example, Place, Seen, Sizes, Walk, example};
use proptest::prelude::*;

/// What is printed in a language, as wide as it is.
fn said(walk: &Walk, lang: Lang, all: bool) -> String {
    lang.choose_here();
    text(walk, all, usize::MAX)
}

/// The walk of an example of H heads, attended to by core's kernel of one head.
fn plain(heads: usize) -> AttentionSpec {
    AttentionSpec::new("multi-head", heads)
}

fn walk(example: Example, s: Sizes, place: Place, keep: &[bool]) -> (Seen, Walk) {
    let [b, t, h, d] = [s.batch_size, s.seq_len, s.n_heads, s.head_dim];
    let Example { x, w_qkv, b_qkv, w_proj, b_proj } = example;
    let qkv = ops::linear_lastdim(&x, &w_qkv, Some(&b_qkv)).unwrap();
    let parts = head_views(qkv.data(), [b, t, 3 * h, d]);
    let of = |b, head| [0, 1, 2].map(|part| head_view(&parts, b, part * h + head));
    let scale = 1.0 / (d as f32).sqrt();
    let (mut y, mut lse) = (vec![0.0; b * t * h * d], vec![0.0; b * h * t]);
    let outputs = [head_views_mut(&mut y, [b, t, h, d]), row_views_mut(&mut lse, [b, h, t])];
    each_head(outputs, 0, |b, h, [y, lse]| {
        forward(Head::new(of(b, h), scale), y, lse);
    });
    let [q, k, _] = of(place.batch_index, place.head);
    let p = probs(q, k, scale)[place.query * t..][..t].to_vec();
    let att = y[s.row(place.batch_index, place.query, 0)..][..s.d_model].to_vec();
    let seen = Seen {
        x,
        w_qkv,
        b_qkv,
        w_proj,
        b_proj,
        gains: None,
        biased: [true; 2],
        norm_eps: NORM_EPS,
        spec: plain(h),
        probs: p,
        att,
    };
    let walk = Walk::new(&seen, s, place, keep).unwrap();
    (seen, Walk { one_head: h == 1, ..walk })
}

fn walk_of_example(heads: usize, [b, h, i, j]: [usize; 4]) -> (Seen, Walk) {
    let place = Place { batch_index: b, head: h, query: i, key: j };
    walk(example(heads, 1).unwrap(), Sizes::new([1, 3, 4], &plain(heads)), place, &[])
}

#[test]
fn a_hidden_score_is_called_hidden() {
    let (_, walk) = walk_of_example(2, [0, 1, 1, 2]);
    let (en, zh) = (said(&walk, Lang::En, false), said(&walk, Lang::Zh, false));
    assert!(en.contains("j = 2 > i = 1: hidden") && en.contains("scores[14]"), "{en}");
    assert!(zh.contains("j = 2 > i = 1：被遮住") && zh.contains("= -1e9"), "{zh}");
}

#[test]
fn a_head_that_is_off_and_a_kernel_that_has_something_else_are_said() {
    let (seen, on) = walk_of_example(2, [0, 1, 2, 1]);
    assert!(!said(&on, Lang::En, false).contains("MORE THAN ROUNDING"));
    let mut off = seen.clone();
    off.att[2..].fill(0.0);
    let off = Walk::new(&off, on.sizes, on.place, &[true, false]).unwrap();
    assert!(said(&off, Lang::En, false).contains("head 1 is switched off"));
    let changes: [fn(&mut Seen); 5] = [
        |seen| seen.probs[0] += 2e-6,
        |seen| seen.att[0] += 1e-5,
        |seen| seen.att[1] = f32::NAN,
        |seen| seen.att.truncate(3),
        |seen| seen.probs.clear(),
    ];
    for change in changes {
        let mut seen = seen.clone();
        change(&mut seen);
        let walk = Walk::new(&seen, on.sizes, on.place, &[]).unwrap();
        assert!(said(&walk, Lang::En, false).contains("MORE THAN ROUNDING"));
    }
}

#[test]
fn both_languages_say_the_same_numbers() {
    let digits = |text: String| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(String::from);
        words.filter(|word| !word.trim_matches('.').is_empty()).collect()
    };
    for heads in [1, 2, 4] {
        for (i, j) in [(2, 1), (0, 2)] {
            let (_, walk) = walk_of_example(heads, [0, heads - 1, i, j]);
            let (en, zh) = (said(&walk, Lang::En, true), said(&walk, Lang::Zh, true));
            assert_eq!(digits(en), digits(zh));
        }
    }
}

/// Numbers without a pattern, between -1.5 and 1.5.
fn numbers(shape: &[usize], salt: usize) -> Tensor {
    let n = shape.iter().product();
    let data = (0..n).map(|i| ((i * 37 + salt * 101) % 61) as f32 / 20.0 - 1.5).collect();
    Tensor::from_vec(shape, data).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is printed has the places of the walk, whatever the sizes.
    #[test]
    fn places_are_printed_with_their_formulas(
        [b, t, h, d] in [1..4usize, 1..6, 1..4, 1..5],
        at in prop::array::uniform4(0..60usize),
        salt in 0..50usize,
    ) {
        let place = Place {
            batch_index: at[0] % b, head: at[1] % h, query: at[2] % t, key: at[3] % t,
        };
        let (c, sizes) = (h * d, Sizes::new([b, t, h * d], &plain(h)));
        let layer = Example {
            w_qkv: numbers(&[c, 3 * c], salt),
            b_qkv: numbers(&[3 * c], salt + 1),
            w_proj: numbers(&[c, c], salt + 2),
            b_proj: numbers(&[c], salt + 3),
            x: numbers(&[b, t, c], salt + 4),
        };
        let (_, walk) = walk(layer, sizes, place, &[]);
        let walk = Walk { one_head: false, ..walk };
        let Place { batch_index: b_, head: h_, query: i, key: j } = place;
        let o = walk.offsets;
        let page = said(&walk, Lang::En, true);
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for needle in [
            format!("q[{}]*k[{}]", o.q, o.k),
            format!("off = ((b*H + h)*T + i)*T + j = (({b_}*{h} + {h_})*{t} + {i})*{t} + {j} = {}", o.score),
            format!("= {} q[", o.q),
        ] {
            prop_assert!(page.contains(&needle), "no {}\n{}", needle, page);
        }
    }
}
