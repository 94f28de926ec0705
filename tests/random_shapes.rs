//! Ops on shapes drawn at random, with 1 and odd sizes among them, against naive twins in f64: the
//! values, and the gradients along a random direction.

use llm_core::ndarray::ArrayD;
use llm_core::{Result, Tensor, TokenId, ops};
use llm_variant_mha::causal_attention_heads;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use workspace_tests::assert_close;

/// Step of the twins' central differences.
const STEP: f64 = 1e-4;

/// Numbers in −1..1.
fn random(shape: &[usize], rng: &mut ChaCha8Rng) -> Tensor {
    Tensor::parameter(ArrayD::from_shape_fn(shape, |_| rng.random_range(-1.0f32..1.0)))
}

fn wide(x: &Tensor) -> Vec<f64> {
    x.data().iter().copied().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Checks that `op`, and its gradient into every input, is what the `twin` says for these shapes.
fn agree(
    shapes: &[&[usize]],
    seed: u64,
    op: impl Fn(&[Tensor]) -> Result<Tensor>,
    twin: impl Fn(&[Vec<f64>]) -> Vec<f64>,
) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let x: Vec<Tensor> = shapes.iter().map(|shape| random(shape, rng)).collect();
    let x64: Vec<Vec<f64>> = x.iter().map(wide).collect();
    let y = op(&x).unwrap();
    assert_close("y", y.data(), &twin(&x64), 2e-5);

    let weights = random(y.shape(), rng); // L = Σ weights ∘ y
    let loss = ops::sum(&ops::mul(&y, &weights).unwrap()).unwrap();
    let grads = loss.backward().unwrap();
    for (i, x) in x.iter().enumerate() {
        let direction = wide(&random(x.shape(), rng));
        let loss_at = |step: f64| {
            let mut moved = x64.clone();
            moved[i].iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
            dot(&twin(&moved), &wide(&weights))
        };
        let want = (loss_at(STEP) - loss_at(-STEP)) / (2.0 * STEP);
        let grad = grads.get(x).unwrap();
        let terms = grad.iter().zip(&direction).map(|(&g, d)| f64::from(g) * d);
        let (sum, size) = terms.fold((0.0, 1.0f64), |(sum, size), t| (sum + t, size + t.abs()));
        assert!((sum - want).abs() <= 2e-5 * size, "gradient of input {i}: {sum}, not {want}");
    }
}

/// C[i, j] = Σ a[i, k]·b[k, j] in every batch; b as `[N, K]` when it is `transposed`.
fn product(
    a: &[f64],
    b: &[f64],
    [batch, m, k, n]: [usize; 4],
    transposed: bool,
    bias: Option<&[f64]>,
) -> Vec<f64> {
    let mut c = Vec::new();
    for at in 0..batch {
        let (a, b) = (&a[at * m * k..], &b[at * k * n..]);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let b = |x: usize| if transposed { b[j * k + x] } else { b[x * n + j] };
            let sum: f64 = (0..k).map(|x| a[i * k + x] * b(x)).sum();
            c.push(sum + bias.map_or(0.0, |bias| bias[j]));
        }
    }
    c
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x.exp() / sum).collect()
}

/// `[B, T, 3·H·D]` to `[B, T, H·D]`.
fn attention(qkv: &[f64], [b, t, h, d]: [usize; 4], keep: &[bool]) -> Vec<f64> {
    let c = h * d;
    let mut y = vec![0.0; b * t * c];
    for (s, head) in (0..b).flat_map(|s| (0..h).map(move |head| (s, head))) {
        let part = |i: usize, n: usize| &qkv[((s * t + i) * 3 + n) * c + head * d..][..d];
        for i in (0..t).filter(|_| keep[head]) {
            let scale = 1.0 / (d as f64).sqrt();
            let scores: Vec<f64> = (0..=i).map(|j| dot(part(i, 0), part(j, 1)) * scale).collect();
            let y = &mut y[(s * t + i) * c + head * d..][..d];
            for (j, p) in softmax(&scores).into_iter().enumerate() {
                y.iter_mut().zip(part(j, 2)).for_each(|(y, v)| *y += p * v);
            }
        }
    }
    y
}

/// Where an element of an array is, axis by axis.
fn index(shape: &[usize], mut place: usize) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (at, len) in at.iter_mut().zip(shape).rev() {
        *at = place % len;
        place /= len;
    }
    at
}

fn place(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |place, (len, i)| place * len + i)
}

/// y of `shape`, each element found by where it is.
fn each(shape: &[usize], f: impl Fn(&[usize]) -> f64) -> Vec<f64> {
    (0..shape.iter().product()).map(|i| f(&index(shape, i))).collect()
}

/// The element of x that belongs to the place `at` of a shape that x is repeated to fill.
fn repeated(x: &[f64], shape: &[usize], at: &[usize]) -> f64 {
    let own = at[at.len() - shape.len()..].iter().zip(shape);
    x[place(shape, &own.map(|(&i, &len)| i.min(len - 1)).collect::<Vec<_>>())]
}

/// An op of two inputs, and what it does with two numbers.
type Binary = (fn(&Tensor, &Tensor) -> Result<Tensor>, fn(f64, f64) -> f64);

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), 1..9usize, 1..70usize]
}

/// The axes before the last one.
fn leading() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1..6usize, 0..4)
}

/// One to four axes, a few of them of length 1, not too many elements.
fn axes() -> impl Strategy<Value = Vec<usize>> {
    let small = proptest::collection::vec(prop_oneof![Just(1), 1..7usize], 1..5);
    prop_oneof![small, (1..70usize, 1..70usize).prop_map(|(m, n)| vec![m, n])]
}

proptest! {
    #[test]
    fn shapes_that_are_repeated(
        shape in axes(),
        missing in 0..5usize,
        ones in proptest::collection::vec(0..3usize, 4),
        seed: u64,
    ) {
        // Of each axis: both have it, or the first or the second has 1 there.
        let with = |side: usize| -> Vec<usize> {
            shape.iter().zip(&ones).map(|(&n, &one)| if one == side { 1 } else { n }).collect()
        };
        let (a, b) = (with(1), with(2).split_off(missing.min(shape.len())));
        let result: Vec<usize> = (0..a.len())
            .map(|i| a[i].max((i + b.len()).checked_sub(a.len()).map_or(1, |i| b[i])))
            .collect();
        let all: [Binary; 3] = [
            (ops::add, |a, b| a + b),
            (ops::sub, |a, b| a - b),
            (ops::mul, |a, b| a * b),
        ];
        for (op, twin) in all {
            let value = |x: &[Vec<f64>], at: &[usize]| {
                twin(repeated(&x[0], &a, at), repeated(&x[1], &b, at))
            };
            agree(&[&a, &b], seed, |x| op(&x[0], &x[1]), |x| each(&result, |at| value(x, at)));
            let mirrored = |x: &[Vec<f64>], at: &[usize]| {
                twin(repeated(&x[0], &b, at), repeated(&x[1], &a, at))
            };
            agree(&[&b, &a], seed, |x| op(&x[0], &x[1]), |x| each(&result, |at| mirrored(x, at)));
        }
        agree(
            &[&b],
            seed,
            |x| ops::broadcast_to(&x[0], &result),
            |x| each(&result, |at| repeated(&x[0], &b, at)),
        );
        agree(
            &[&shape],
            seed,
            |x| ops::mean(&x[0]),
            |x| vec![x[0].iter().sum::<f64>() / x[0].len() as f64],
        );
    }

    #[test]
    fn axes_that_are_exchanged_cut_and_joined(
        shape in axes(),
        pick in any::<[usize; 4]>(),
        from_end: bool,
        seed: u64,
    ) {
        let rank = shape.len();
        let [a, b] = [pick[0] % rank, pick[1] % rank];
        let n = shape[a];
        let count = |axis: usize| axis as isize - if from_end { rank as isize } else { 0 };
        let exchanged = |at: &[usize]| {
            let mut at = at.to_vec();
            at.swap(a, b);
            at
        };
        agree(
            &[&shape],
            seed,
            |x| ops::transpose(&x[0], count(a), count(b)),
            |x| each(&exchanged(&shape), |at| x[0][place(&shape, &exchanged(at))]),
        );

        let moved = |at: &[usize], by: isize| {
            let mut at = at.to_vec();
            at[a] = at[a].checked_add_signed(by).unwrap();
            at
        };
        let (start, len) = (pick[2] % n, 1 + pick[3] % (n - pick[2] % n));
        let mut part = shape.clone();
        part[a] = len;
        agree(
            &[&shape],
            seed,
            |x| ops::slice(&x[0], count(a), start, len),
            |x| each(&part, |at| x[0][place(&shape, &moved(at, start as isize))]),
        );

        let mut joined = shape.clone();
        joined[a] = n + len;
        agree(
            &[&shape, &part],
            seed,
            |x| ops::concat(&[&x[0], &x[1]], count(a)),
            |x| each(&joined, |at| match at[a] < n {
                true => x[0][place(&shape, at)],
                false => x[1][place(&part, &moved(at, -(n as isize)))],
            }),
        );

        // Over axis a: each element against those that differ from it only there.
        let along = |at: &[usize], i: usize| {
            let mut at = at.to_vec();
            at[a] = i;
            place(&shape, &at)
        };
        agree(
            &[&shape],
            seed,
            |x| ops::softmax(&x[0], count(a)),
            |x| each(&shape, |at| {
                let line: Vec<f64> = (0..n).map(|i| x[0][along(at, i)]).collect();
                softmax(&line)[at[a]]
            }),
        );
    }

    #[test]
    fn matrix_products(batch in 1..5usize, m in size(), k in size(), n in size(), seed: u64) {
        agree(
            &[&[m, k], &[k, n]],
            seed,
            |x| ops::matmul2d(&x[0], &x[1]),
            |x| product(&x[0], &x[1], [1, m, k, n], false, None),
        );
        agree(
            &[&[batch, m, k], &[batch, k, n]],
            seed,
            |x| ops::bmm(&x[0], &x[1]),
            |x| product(&x[0], &x[1], [batch, m, k, n], false, None),
        );
    }

    #[test]
    fn linear_layers(leading in leading(), c in size(), o in size(), tied: bool, seed: u64) {
        let x = [&leading[..], &[c]].concat();
        let sizes = [1, leading.iter().product(), c, o];
        let (w, op) = match tied {
            true => ([o, c], ops::linear_tied as fn(&_, &_, Option<&_>) -> _),
            false => ([c, o], ops::linear_lastdim as _),
        };
        agree(
            &[&x, &w, &[o]],
            seed,
            |x| op(&x[0], &x[1], Some(&x[2])),
            |x| product(&x[0], &x[1], sizes, tied, Some(&x[2])),
        );
        let twin = |x: &[Vec<f64>]| product(&x[0], &x[1], sizes, tied, None);
        agree(&[&x, &w], seed, |x| op(&x[0], &x[1], None), twin);
    }

    #[test]
    fn rows(leading in leading(), c in size(), cut in any::<(usize, usize)>(), seed: u64) {
        let shape = [&leading[..], &[c]].concat();
        let softmax_of = |x: &[Vec<f64>]| x[0].chunks(c).flat_map(softmax).collect();
        agree(&[&shape], seed, |x| ops::softmax_lastdim(&x[0]), softmax_of);

        const EPS: f32 = 0.1; // with less, rows of two near numbers have too steep a gradient
        let norm = |x: &[f64]| -> Vec<f64> {
            let mean = x.iter().sum::<f64>() / c as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / c as f64;
            x.iter().map(|x| (x - mean) / (variance + f64::from(EPS)).sqrt()).collect()
        };
        let twin = |x: &[Vec<f64>]| x[0].chunks(c).flat_map(norm).collect();
        agree(&[&shape], seed, |x| ops::layernorm_lastdim(&x[0], EPS), twin);
        agree(
            &[&shape, &[c], &[c]],
            seed,
            |x| ops::layernorm_affine_lastdim(&x[0], &x[1], &x[2], EPS),
            |x| {
                let affine = |(i, y): (usize, f64)| y * x[1][i] + x[2][i];
                x[0].chunks(c).flat_map(|row| norm(row).into_iter().enumerate().map(affine)).collect()
            },
        );

        let rms = |x: &[f64]| -> Vec<f64> {
            let mean = x.iter().map(|x| x * x).sum::<f64>() / c as f64;
            x.iter().map(|x| x / (mean + f64::from(EPS)).sqrt()).collect()
        };
        let twin = |x: &[Vec<f64>]| x[0].chunks(c).flat_map(rms).collect();
        agree(&[&shape], seed, |x| ops::rmsnorm_lastdim(&x[0], None, EPS), twin);
        agree(
            &[&shape, &[c]],
            seed,
            |x| ops::rmsnorm_lastdim(&x[0], Some(&x[1]), EPS),
            |x| {
                let gain = |(i, y): (usize, f64)| y * x[1][i];
                x[0].chunks(c).flat_map(|row| rms(row).into_iter().enumerate().map(gain)).collect()
            },
        );

        let both = [&leading[..], &[2 * c]].concat();
        let gate = |row: &[f64]| -> Vec<f64> {
            let silu = |a: f64| a / (1.0 + (-a).exp());
            (0..c).map(|i| silu(row[i]) * row[c + i]).collect()
        };
        let twin = |x: &[Vec<f64>]| x[0].chunks(2 * c).flat_map(gate).collect();
        agree(&[&both], seed, |x| ops::swiglu(&x[0]), twin);

        let start = cut.0 % c;
        let len = 1 + cut.1 % (c - start);
        let twin = |x: &[Vec<f64>]| {
            x[0].chunks(c).flat_map(|row| row[start..start + len].to_vec()).collect()
        };
        agree(&[&shape], seed, |x| ops::slice_lastdim(&x[0], start, len), twin);
    }

    #[test]
    fn tables_and_losses(
        ids in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
        v in size(),
        c in size(),
        seed: u64,
    ) {
        let ids: Vec<TokenId> = ids.iter().map(|id| id.index(v) as TokenId).collect();
        let row = |x: &[f64], id: TokenId| x[id as usize * c..][..c].to_vec();
        agree(
            &[&[v, c]],
            seed,
            |x| ops::embedding(&x[0], &ids, &[ids.len()]),
            |x| ids.iter().flat_map(|&id| row(&x[0], id)).collect(),
        );
        let loss = |(row, &id): (&[f64], &TokenId)| -softmax(row)[id as usize].ln();
        agree(
            &[&[ids.len(), v]],
            seed,
            |x| ops::cross_entropy(&x[0], &ids),
            |x| vec![x[0].chunks(v).zip(&ids).map(loss).sum::<f64>() / ids.len() as f64],
        );
    }

    #[test]
    fn attention_heads(
        b in 1..4usize,
        t in prop_oneof![size(), 62..67usize],
        keep in proptest::collection::vec(prop::bool::weighted(0.8), 1..6),
        d in 1..10usize,
        seed: u64,
    ) {
        let h = keep.len();
        let shape = [b, t, 3 * h * d];
        let twin = |x: &[Vec<f64>]| attention(&x[0], [b, t, h, d], &keep);
        agree(&[&shape], seed, |x| causal_attention_heads(&x[0], h, &keep, None), twin);
        let one = |x: &[Vec<f64>]| attention(&x[0], [b, t, 1, h * d], &[true]);
        agree(&[&shape], seed, |x| ops::causal_attention_1h(&x[0], None), one);
    }
}
