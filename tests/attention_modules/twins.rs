//! The courses' functions and SimpleMultiHeadAttention against their naive twins in f64, on random
//! inputs: the shapes that Tiny-LLM's own tests have, and any others.

use llm_core::Tensor;
use llm_core::ndarray::{ArrayD, ArrayView, Ix1};
use llm_courses::{
    AdditiveMask, SimpleMultiHeadAttention, linear, scaled_dot_product_attention, softmax,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Array = ArrayD<f64>;

/// Random rounds for every shape.
const ROUNDS: u64 = 100;

/// Uniform numbers in 0..1 that f32 holds.
fn random(rng: &mut ChaCha8Rng, shape: &[usize]) -> Array {
    ArrayD::from_shape_simple_fn(shape, || f64::from(rng.random::<f32>()))
}

fn tensor(x: &Array) -> Tensor {
    Tensor::new(x.mapv(|x| x as f32))
}

fn mask_of(x: &Array) -> AdditiveMask {
    AdditiveMask::new(x.mapv(|x| x as f32)).unwrap()
}

/// |got − want| ≤ 1e-6 + 1e-5·|want|, the course's tolerance for f32.
fn assert_all_close(got: &Tensor, want: &Array) {
    assert_eq!(got.shape(), want.shape());
    for (got, want) in got.data().iter().zip(want) {
        let error = (f64::from(*got) - want).abs();
        assert!(error <= 1e-6 + 1e-5 * want.abs(), "{got} instead of {want}");
    }
}

/// x at the last axes of `index`, an axis of 1 repeated: NumPy's broadcasting.
fn at(x: &Array, index: &[usize]) -> f64 {
    let index = &index[index.len() - x.ndim()..];
    let place: Vec<_> =
        index.iter().zip(x.shape()).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect();
    x[&place[..]]
}

/// Zeros where every x is −∞.
fn naive_softmax(x: ArrayView<'_, f64, Ix1>) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return vec![0.0; x.len()];
    }
    let e: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}

fn naive_linear(x: &Array, a: &Array, b: Option<&Array>) -> Array {
    let [batch @ .., n_in] = x.shape() else { panic!("no axis") };
    ArrayD::from_shape_fn([batch, &[a.shape()[0]]].concat(), |index| {
        let mut place: Vec<usize> = (0..x.ndim()).map(|i| index[i]).collect();
        let o = std::mem::take(&mut place[batch.len()]);
        let mut sum = b.map_or(0.0, |b| b[[o]]);
        for i in 0..*n_in {
            place[batch.len()] = i;
            sum += x[&place[..]] * a[[o, i]];
        }
        sum
    })
}

fn naive_attention(
    q: &Array,
    k: &Array,
    v: &Array,
    scale: Option<f64>,
    mask: Option<&Array>,
) -> Array {
    let ([batch @ .., l, d], s) = (q.shape(), k.shape()[k.ndim() - 2]) else { panic!("no rows") };
    let dv = v.shape()[v.ndim() - 1];
    let scale = scale.unwrap_or(1.0 / (*d as f64).sqrt());
    let join = |lead: &[usize], rest: [usize; 2]| [lead, &rest].concat();
    let scores = ArrayD::from_shape_fn(join(batch, [*l, s]), |index| {
        let index: Vec<usize> = (0..q.ndim()).map(|i| index[i]).collect();
        let (lead, [i, j]) = (&index[..batch.len()], [index[batch.len()], index[batch.len() + 1]]);
        let dot: f64 =
            (0..*d).map(|c| q[&join(lead, [i, c])[..]] * k[&join(lead, [j, c])[..]]).sum();
        dot * scale + mask.map_or(0.0, |mask| at(mask, &index))
    });
    let mut p = scores.clone();
    for (mut row, scores) in p.rows_mut().into_iter().zip(scores.rows()) {
        row.iter_mut().zip(naive_softmax(scores)).for_each(|(p, value)| *p = value);
    }
    ArrayD::from_shape_fn(join(batch, [*l, dv]), |index| {
        let index: Vec<usize> = (0..q.ndim()).map(|i| index[i]).collect();
        let (lead, [i, c]) = (&index[..batch.len()], [index[batch.len()], index[batch.len() + 1]]);
        (0..s).map(|j| p[&join(lead, [i, j])[..]] * v[&join(lead, [j, c])[..]]).sum()
    })
}

/// `[N, L, H·D]` as `[N, H, L, D]`.
fn naive_split(x: &Array, h: usize) -> Array {
    let [n, l, c] = *x.shape() else { panic!("not three axes") };
    let d = c / h;
    ArrayD::from_shape_fn(vec![n, h, l, d], |at| x[[at[0], at[2], at[1] * d + at[3]]])
}

/// `[N, H, L, D]` as `[N, L, H·D]`.
fn naive_join(x: &Array) -> Array {
    let [n, h, l, d] = *x.shape() else { panic!("not four axes") };
    ArrayD::from_shape_fn(vec![n, l, h * d], |at| x[[at[0], at[2] / d, at[1], at[2] % d]])
}

fn naive_module(inputs: [&Array; 3], ws: &[Array; 4], h: usize, mask: Option<&Array>) -> Array {
    let [q, k, v] = [0, 1, 2].map(|i| naive_split(&naive_linear(inputs[i], &ws[i], None), h));
    naive_linear(&naive_join(&naive_attention(&q, &k, &v, None, mask)), &ws[3], None)
}

fn module(ws: &[Array; 4], h: usize) -> SimpleMultiHeadAttention {
    let [wq, wk, wv, wo] = ws.each_ref().map(tensor);
    SimpleMultiHeadAttention::new(ws[0].shape()[0], h, wq, wk, wv, wo).unwrap()
}

#[test]
fn softmax_ten_by_ten() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..ROUNDS {
        let x = random(&mut rng, &[10, 10]);
        let mut want = x.clone();
        for (mut row, x) in want.rows_mut().into_iter().zip(x.rows()) {
            row.iter_mut().zip(naive_softmax(x)).for_each(|(p, value)| *p = value);
        }
        assert_all_close(&softmax(&tensor(&x), -1).unwrap(), &want);
    }
}

#[test]
fn attention_with_no_two_and_three_batch_axes() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for batch in [&[][..], &[2, 3], &[2, 3, 3]] {
        for (scale, masked) in [(None, false), (Some(0.5), true)] {
            for _ in 0..ROUNDS {
                let shape = [batch, &[4, 5]].concat();
                let [q, k, v] = [(); 3].map(|()| random(&mut rng, &shape));
                let mask = masked.then(|| random(&mut rng, &[batch, &[4, 4]].concat()));
                let want = naive_attention(&q, &k, &v, scale, mask.as_ref());
                let [q, k, v] = [q, k, v].map(|x| tensor(&x));
                let (scale, mask) = (scale.map(|s| s as f32), mask.as_ref().map(mask_of));
                let got = scaled_dot_product_attention(&q, &k, &v, scale, mask.as_ref()).unwrap();
                assert_all_close(&got, &want);
            }
        }
    }
}

#[test]
fn linear_twelve_to_ten() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..ROUNDS {
        let [x, a, b] = [&[10, 12][..], &[10, 12], &[10]].map(|shape| random(&mut rng, shape));
        let got = linear(&tensor(&x), &tensor(&a), Some(&tensor(&b))).unwrap();
        assert_all_close(&got, &naive_linear(&x, &a, Some(&b)));
    }
}

#[test]
fn three_heads_over_eleven_positions() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (n, l, d, h) = (10, 11, 9, 3);
    for _ in 0..ROUNDS {
        let [query, key, value] = [(); 3].map(|()| random(&mut rng, &[n, l, h * d]));
        let ws = [(); 4].map(|()| random(&mut rng, &[h * d, h * d]));
        let mask = random(&mut rng, &[l, l]);
        let want = naive_module([&query, &key, &value], &ws, h, Some(&mask));
        let [query, key, value] = [query, key, value].map(|x| tensor(&x));
        let got = module(&ws, h).forward(&query, &key, &value, Some(&mask_of(&mask))).unwrap();
        assert_all_close(&got, &want);
    }
}

/// A mask for these scores: some of the first axes left out, some axes 1, a share of −∞.
fn random_mask(rng: &mut ChaCha8Rng, scores: &[usize]) -> Array {
    let from = rng.random_range(0..=scores.len());
    let shape: Vec<_> =
        scores[from..].iter().map(|n| if rng.random_bool(0.3) { 1 } else { *n }).collect();
    let share = [0.0, 0.3, 0.8][rng.random_range(0..3)];
    random(rng, &shape).mapv(|x| if rng.random_bool(share) { f64::NEG_INFINITY } else { x })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn attention_of_any_shape(
        batch in proptest::collection::vec(1usize..4, 0..4),
        [l, s, d, dv] in proptest::array::uniform4(1usize..9),
        scale in proptest::option::of(-2.0f32..2.0),
        masked: bool,
        seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shapes = [[l, d], [s, d], [s, dv]].map(|rest| [&batch[..], &rest].concat());
        let [q, k, v] = shapes.map(|shape| random(&mut rng, &shape));
        let mask = masked.then(|| random_mask(&mut rng, &[&batch[..], &[l, s]].concat()));
        let want = naive_attention(&q, &k, &v, scale.map(f64::from), mask.as_ref());
        let [q, k, v] = [q, k, v].map(|x| tensor(&x));
        let mask = mask.as_ref().map(mask_of);
        let got = scaled_dot_product_attention(&q, &k, &v, scale, mask.as_ref()).unwrap();
        assert_all_close(&got, &want);
    }

    #[test]
    fn heads_of_any_number_and_length(
        [n, l, s, d, h] in proptest::array::uniform5(1usize..6),
        masked: bool,
        seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let c = h * d;
        let [query, key, value] =
            [[n, l, c], [n, s, c], [n, s, c]].map(|shape| random(&mut rng, &shape));
        let ws = [(); 4].map(|()| random(&mut rng, &[c, c]));
        let mask = masked.then(|| random_mask(&mut rng, &[n, h, l, s]));
        let want = naive_module([&query, &key, &value], &ws, h, mask.as_ref());
        let [query, key, value] = [query, key, value].map(|x| tensor(&x));
        let mask = mask.as_ref().map(mask_of);
        let got = module(&ws, h).forward(&query, &key, &value, mask.as_ref()).unwrap();
        assert_all_close(&got, &want);
    }
}
