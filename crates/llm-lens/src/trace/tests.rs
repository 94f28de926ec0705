//! The walk against the numbers of the pages, against ndarray's own indexing and against the fast
//! kernels.

use super::layout::{hides, prepared};
use super::*;
use llm_core::kernels::attention::{
    Head, each_head, forward, head_view, head_views, head_views_mut, probs, row_views_mut,
};
use llm_core::model::{NORM_EPS, Rotary, SingleHead};
use llm_core::ndarray::{ArrayD, ArrayView4, IxDyn};
use llm_core::{AttentionSpec, Config, Error, Tensor, TinyGPT, ops};
use proptest::prelude::*;
use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::Arc;

/// What a layer of H heads makes of `x`, by core's kernel of one head.
fn seen(x: Tensor, [w_qkv, b_qkv, w_proj, b_proj]: [Tensor; 4], s: Sizes, place: Place) -> Seen {
    let [b, t, h, d] = [s.batch_size, s.seq_len, s.n_heads, s.head_dim];
    let qkv = ops::linear_lastdim(&x, &w_qkv, Some(&b_qkv)).unwrap();
    let parts = head_views(qkv.data(), [b, t, 3 * h, d]);
    let of = |b, h_| [0, 1, 2].map(|part| head_view(&parts, b, part * h + h_));
    let scale = 1.0 / (d as f32).sqrt();
    let (mut y, mut lse) = (vec![0.0; b * t * h * d], vec![0.0; b * h * t]);
    let outputs = [head_views_mut(&mut y, [b, t, h, d]), row_views_mut(&mut lse, [b, h, t])];
    each_head(outputs, 0, |b, h, [y, lse]| {
        forward(Head::new(of(b, h), scale), y, lse);
    });
    let [q, k, _] = of(place.batch_index, place.head);
    let p = probs(q, k, scale)[place.query * t..][..t].to_vec();
    let att = y[s.row(place.batch_index, place.query, 0)..][..s.d_model].to_vec();
    Seen {
        x,
        w_qkv,
        b_qkv,
        w_proj,
        b_proj,
        gains: None,
        biased: [true; 2],
        norm_eps: NORM_EPS,
        spec: AttentionSpec::new("multi-head", s.n_heads),
        probs: p,
        att,
    }
}

fn walk_of_example(heads: usize, batch: usize, [b, h, i, j]: [usize; 4]) -> Walk {
    let place = Place { batch_index: b, head: h, query: i, key: j };
    let sizes = Sizes::new([batch, 3, 4], &AttentionSpec::new("multi-head", heads));
    let Example { x, w_qkv, b_qkv, w_proj, b_proj } = example(heads, batch).unwrap();
    let seen = seen(x, [w_qkv, b_qkv, w_proj, b_proj], sizes, place);
    Walk::new(&seen, sizes, place, &[]).unwrap()
}

fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 1e-9, "{got}, not {want}");
    }
}

#[test]
fn one_head_has_the_numbers_of_the_pages() {
    let walk = walk_of_example(1, 1, [0, 0, 2, 1]);
    let at = walk.offsets;
    assert_eq!(
        [at.q, at.k, at.score, at.q_in_qkv, at.k_in_qkv, at.v_in_qkv],
        [8, 4, 7, 24, 16, 20]
    );
    assert_eq!(walk.projection.value, 1.0);
    assert_eq!((walk.scale, walk.masked), (0.5, false));
    close(&walk.row.dots, &[1.0, 0.0, 1.0]);
    close(&walk.row.scores, &[0.5, 0.0, 0.5]);
    close(&[walk.row.sum * walk.row.max.exp()], &[4.2974425414]);
    close(&walk.row.probs, &[0.3836517312, 0.2326965376, 0.3836517312]);
    close(&walk.att, &[0.3836517312, 0.4653930752, 1.1509551936, 0.0]);
    assert!(walk.kernel.agrees);
}

#[test]
fn head_1_of_2_has_the_numbers_of_the_pages() {
    let walk = walk_of_example(2, 1, [0, 1, 2, 1]);
    let at = walk.offsets;
    assert_eq!([at.q, at.k, at.score, at.q_in_qkv, at.k_in_qkv], [10, 6, 16, 26, 18]);
    let products: Vec<_> = walk.dot.terms.iter().map(|t| (t.a_offset, t.b_offset)).collect();
    assert_eq!(products, [(10, 6), (11, 7)]);
    close(&walk.row.scores, &[FRAC_1_SQRT_2, -FRAC_1_SQRT_2, 0.0]);
    close(&[walk.row.sum * walk.row.max.exp()], &[3.5211836730]);
    close(&walk.row.probs, &[0.5759753452, 0.1400292450, 0.2839954097]);
    close(&walk.row.att, &[7.1797305009, 2.8202694991]);
    let [a, b] = [0.8916165482, 0.5541917259];
    close(&walk.att, &[a, b, 7.1797305009, 2.8202694991]);
    close(&walk.out, &[a + 7.1797305009, b + 2.8202694991, a + 7.1797305009, b + 2.8202694991]);
    assert!(walk.kernel.agrees);
}

/// What is turned by hand: one number and none at position 1 are cos 1 and sin 1.
#[test]
fn a_pair_is_turned_by_its_position() {
    let rotary = Rotary::new(10_000.0);
    let rows = [1.0, 0.0, 0.0, 0.0].repeat(3); // three positions of one head of four channels
    let [before, after] = prepared(Some(&rotary), &rows, [3, 1, 4], None);
    assert_eq!(before, rows);
    let turned: Vec<f64> = after.iter().map(|&x| x.into()).collect();
    close_to(&turned[..4], &[1.0, 0.0, 0.0, 0.0]);
    close_to(&turned[4..8], &[0.5403023059, 0.0, 0.8414709848, 0.0]);
    close_to(&turned[8..], &[-0.4161468365, 0.0, 0.9092974268, 0.0]);
    // The second pair turns by a hundredth of that, and not at all where two channels are turned.
    let second = [0.0, 1.0, 0.0, 0.0].repeat(2);
    let of = |rotary| prepared(Some(&rotary), &second, [2, 1, 4], None)[1][4..].to_vec();
    let turned: Vec<f64> = of(rotary).iter().map(|&x| x.into()).collect();
    close_to(&turned, &[0.0, 0.9999500004, 0.0, 0.0099998333]);
    let in_part = of(Rotary::partial(10_000.0, 2));
    let turned: Vec<f64> = in_part.iter().map(|&x| x.into()).collect();
    close_to(&turned, &[-0.8414709848, 0.5403023059, 0.0, 0.0]);
}

fn close_to(got: &[f64], want: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-7;
    assert!(got.len() == want.len() && got.iter().zip(want).all(close), "{got:?} {want:?}");
}

/// Two sequences of three positions, four heads over two groups of five channels.
#[test]
fn groups_lie_beside_each_other() {
    let plain = AttentionSpec::new("modern", 4);
    let spec = AttentionSpec { kv_heads: Some(2), head_dim: Some(5), ..plain };
    let sizes = Sizes::new([2, 3, 8], &spec);
    assert_eq!([0, 1, 2, 3].map(|h| sizes.group(h)), [0, 0, 1, 1]);
    assert_eq!((sizes.qkv_width(), sizes.groups()), (40, 2));
    let place = 3 + 2; // the third position of the second text
    for h in 0..4 {
        let (row, g) = (place * 40, h / 2);
        assert_eq!(sizes.row_in_qkv(1, 2, 0, h), row + h * 5);
        assert_eq!(sizes.row_in_qkv(1, 2, 1, h), row + (4 + g) * 5);
        assert_eq!(sizes.row_in_qkv(1, 2, 2, h), row + (6 + g) * 5);
        assert_eq!(sizes.key_row(1, 2, h), (place * 2 + g) * 5);
    }
    let seen: Vec<Vec<usize>> =
        (0..3).map(|i| (0..3).filter(|&j| !hides(Some(2), i, j)).collect()).collect();
    assert_eq!(seen, [vec![0], vec![0, 1], vec![1, 2]]);
}

#[test]
fn the_second_sequence_has_the_same_numbers_elsewhere() {
    let (first, second) =
        (walk_of_example(2, 2, [0, 1, 2, 1]), walk_of_example(2, 2, [1, 1, 2, 1]));
    let at = second.offsets;
    assert_eq!([at.q, at.k, at.score, at.q_in_qkv, at.k_in_qkv], [22, 18, 34, 62, 54]);
    assert_eq!(second.att, first.att);
}

#[test]
fn a_hidden_score_is_the_masks_value_and_weighs_nothing() {
    let walk = walk_of_example(2, 1, [0, 1, 1, 2]);
    assert_eq!((walk.offsets.score, walk.masked, walk.score), (14, true, -1e9));
    close(&[walk.scaled], &[FRAC_1_SQRT_2]);
    assert_eq!((walk.row.scores[2], walk.row.probs[2]), (-1e9, 0.0));
    close(&walk.row.probs, &[0.3302384507, 0.6697615493, 0.0]);
}

#[test]
fn a_head_that_is_off_gives_zeros() {
    let on = walk_of_example(2, 1, [0, 1, 2, 1]);
    let sizes = on.sizes;
    let Example { x, w_qkv, b_qkv, w_proj, b_proj } = example(2, 1).unwrap();
    let mut seen = seen(x, [w_qkv, b_qkv, w_proj, b_proj], sizes, on.place);
    seen.att[2..].fill(0.0);
    let off = Walk::new(&seen, sizes, on.place, &[true, false]).unwrap();
    assert_eq!(
        (off.head_used, &off.row.att[..], &off.att[2..]),
        (false, &[0.0; 2][..], &[0.0; 2][..])
    );
    assert!(off.kernel.agrees && off.row.probs == on.row.probs);
}

#[test]
fn a_kernel_that_has_something_else_is_found_out() {
    let on = walk_of_example(2, 1, [0, 1, 2, 1]);
    let Example { x, w_qkv, b_qkv, w_proj, b_proj } = example(2, 1).unwrap();
    let good = seen(x, [w_qkv, b_qkv, w_proj, b_proj], on.sizes, on.place);
    let changes: [fn(&mut Seen); 5] = [
        |seen| seen.probs[0] += 2e-6,
        |seen| seen.att[0] += 1e-5,
        |seen| seen.att[1] = f32::NAN,
        |seen| seen.att.truncate(3),
        |seen| seen.probs.clear(),
    ];
    for change in changes {
        let mut seen = good.clone();
        change(&mut seen);
        let walk = Walk::new(&seen, on.sizes, on.place, &[]).unwrap();
        assert!(!walk.kernel.agrees);
    }
}

#[test]
fn places_that_are_not_there_are_refused() {
    let layer = |place| trace_example(Arc::new(SingleHead), &example(1, 2).unwrap(), place);
    let good = Place { batch_index: 1, head: 0, query: 2, key: 1 };
    assert!(layer(good).unwrap().kernel.agrees);
    let model = TinyGPT::new(Config::new(9, 8, 4, 1), 3).unwrap();
    assert!(trace_model(&model, 0, &[1, 2, 3], 2, good).unwrap().kernel.agrees);
    assert!(trace_model(&model, 1, &[1, 2, 3], 2, good).is_err());
    for place in [
        Place { batch_index: 2, ..good },
        Place { head: 1, ..good },
        Place { query: 3, ..good },
        Place { key: 3, ..good },
    ] {
        assert!(matches!(layer(place), Err(Error::Config { .. })));
        assert!(trace_model(&model, 0, &[1, 2, 3], 2, place).is_err());
    }
}

/// The loops against the kernels: their softmax is P, their ln Σ e^S what `forward` keeps.
#[test]
fn the_loops_have_the_scores_of_the_kernels() {
    for [b, t, h, d] in [[1, 3, 1, 4], [2, 5, 1, 3], [1, 3, 2, 2], [2, 5, 3, 4], [1, 1, 2, 1]] {
        let (c, scale) = (h * d, 1.0 / (d as f32).sqrt());
        let qkv = numbers(&[b, t, 3 * c], 7);
        let cut = |part| ops::slice_lastdim(&qkv, part * c, c).unwrap();
        let (q, k) = (cut(0), cut(1));
        let scores = scores_mha(&q, &k, h).unwrap();
        assert_eq!(scores.shape(), [b, h, t, t]);
        if h == 1 {
            let one = scores_1h(&q, &k).unwrap();
            assert_eq!((one.shape(), one.data()), (&[b, t, t][..], scores.data()));
        }
        let p = ops::softmax_lastdim(&scores).unwrap();

        let parts = head_views(qkv.data(), [b, t, 3 * h, d]);
        let (mut y, mut lse) = (vec![0.0; b * t * c], vec![0.0; b * h * t]);
        let outputs = [head_views_mut(&mut y, [b, t, h, d]), row_views_mut(&mut lse, [b, h, t])];
        each_head(outputs, 0, |b, head, [y, lse]| {
            forward(
                Head::new([0, 1, 2].map(|part| head_view(&parts, b, part * h + head)), scale),
                y,
                lse,
            );
        });
        for (b, head) in (0..b).flat_map(|b| (0..h).map(move |head| (b, head))) {
            let [q, k] = [0, 1].map(|part| head_view(&parts, b, part * h + head));
            let of_kernel = probs(q, k, scale);
            let first = (b * h + head) * t * t;
            for (loops, kernel) in p.data()[first..].iter().zip(&of_kernel) {
                assert!((loops - kernel).abs() < 1e-6, "{loops}, not {kernel}");
            }
        }
        for (row, lse) in scores.data().chunks(t).zip(&lse) {
            let sum: f64 = row.iter().map(|s| f64::from(*s).exp()).sum();
            assert!((sum.ln() - f64::from(*lse)).abs() < 1e-5, "{}, not {lse}", sum.ln());
        }
    }
}

#[test]
fn the_loops_have_the_offsets_of_the_pages() {
    let parts = |heads, salt: usize| {
        let Example { x, w_qkv, b_qkv, .. } = example(heads, 1).unwrap();
        let qkv = ops::linear_lastdim(&x, &w_qkv, Some(&b_qkv)).unwrap();
        ops::slice_lastdim(&qkv, salt * 4, 4).unwrap()
    };
    let one = scores_1h(&parts(1, 0), &parts(1, 1)).unwrap();
    assert_eq!((one.data()[7], one.data()[5]), (0.0, -1e9));
    let two = scores_mha(&parts(2, 0), &parts(2, 1), 2).unwrap();
    assert!((f64::from(two.data()[16]) + FRAC_1_SQRT_2).abs() < 1e-7);
    assert_eq!(two.data()[14], -1e9);
}

#[test]
fn the_loops_refuse_what_does_not_fit() {
    let (q, k) = (numbers(&[1, 3, 4], 1), numbers(&[1, 3, 4], 2));
    assert!(matches!(scores_1h(&q, &numbers(&[1, 2, 4], 2)), Err(Error::Shape { .. })));
    assert!(matches!(scores_1h(&numbers(&[3, 4], 1), &k), Err(Error::Shape { .. })));
    for heads in [0, 3] {
        assert!(matches!(scores_mha(&q, &k, heads), Err(Error::Config { .. })));
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

    /// Offsets and numbers are those of ndarray's indexing.
    #[test]
    fn places_are_those_of_ndarray(
        [b, t, h, d] in [1..4usize, 1..6, 1..4, 1..5],
        at in prop::array::uniform4(0..60usize),
        salt in 0..50usize,
    ) {
        let place = Place {
            batch_index: at[0] % b, head: at[1] % h, query: at[2] % t, key: at[3] % t,
        };
        let (c, sizes) = (h * d, Sizes::new([b, t, h * d], &AttentionSpec::new("multi-head", h)));
        let weights = [
            numbers(&[c, 3 * c], salt), numbers(&[3 * c], salt + 1),
            numbers(&[c, c], salt + 2), numbers(&[c], salt + 3),
        ];
        let x = numbers(&[b, t, c], salt + 4);
        let qkv = ops::linear_lastdim(&x, &weights[0], Some(&weights[1])).unwrap();
        let w_qkv = weights[0].clone();
        let seen = seen(x.clone(), weights, sizes, place);
        let walk = Walk::new(&seen, sizes, place, &[]).unwrap();
        prop_assert!(walk.kernel.agrees, "{:?}", walk.kernel);

        let Place { batch_index: b_, head: h_, query: i, key: j } = place;
        let index = |shape: &[usize], at: &[usize]| {
            let n = shape.iter().product();
            ArrayD::from_shape_vec(IxDyn(shape), (0..n).collect::<Vec<usize>>()).unwrap()[IxDyn(at)]
        };
        let o = walk.offsets;
        prop_assert_eq!(o.q, index(&[b, t, h, d], &[b_, i, h_, 0]));
        prop_assert_eq!(o.k, index(&[b, t, h, d], &[b_, j, h_, 0]));
        prop_assert_eq!(o.v_in_qkv, index(&[b, t, 3, h, d], &[b_, j, 2, h_, 0]));
        prop_assert_eq!(o.q_in_qkv, index(&[b, t, 3, h, d], &[b_, i, 0, h_, 0]));
        prop_assert_eq!(o.score, index(&[b, h, t, t], &[b_, h_, i, j]));
        prop_assert_eq!(o.att, index(&[b, t, h, d], &[b_, i, h_, 0]));

        let cut = |part| ops::slice_lastdim(&qkv, part * c, c).unwrap();
        let (q, k, v) = (cut(0), cut(1), cut(2));
        let heads = |x: &Tensor| ArrayView4::from_shape((b, t, h, d), x.data()).unwrap().to_owned();
        let (q4, k4, v4) = (heads(&q), heads(&k), heads(&v));
        for (channel, term) in walk.dot.terms.iter().enumerate() {
            prop_assert_eq!(term.a, f64::from(q4[[b_, i, h_, channel]]));
            prop_assert_eq!(term.b, f64::from(k4[[b_, j, h_, channel]]));
        }
        for (j, row) in walk.values.iter().enumerate() {
            prop_assert_eq!(row[d - 1], v4[[b_, j, h_, d - 1]]);
        }
        for (channel, term) in walk.projection.terms.iter().enumerate() {
            prop_assert_eq!(term.a, f64::from(x.view()[[b_, i, channel]]));
            prop_assert_eq!(term.b, f64::from(w_qkv.view()[[channel, h_ * d]]));
        }
        prop_assert!((walk.projection.value - f64::from(q4[[b_, i, h_, 0]])).abs() < 1e-4);
    }
}
