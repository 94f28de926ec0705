//! The instruction, the emulation and plain loops: the same bits.

use super::super::{Execution, Precision, Threads, gemm, gemm_bias};
use super::number::{GROUP, add_pair, add_tile, round, widen};
use super::*;
use crate::base::rng;
use ndarray::{Array1, Array2, s};
use ndarray_rand::rand::Rng;
use std::array::from_fn;

/// All NaNs count as equal; everything else is distinguished by its bits.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Numbers of one kind: ordinary ones, huge, tiny, around the smallest normal one, or anything.
fn number(kind: usize, random: &mut impl Rng) -> f32 {
    let x: f32 = random.random_range(-1.0..1.0);
    match kind {
        0 => x,
        1 => x * f32::MAX,
        2 => x * f32::MIN_POSITIVE * 4.0,
        3 => x * 2f32.powi(random.random_range(-70..-55)),
        4 => f32::from_bits(random.random()),
        5 => [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, f32::MAX, x]
            [random.random_range(0..7)],
        _ => x * 2f32.powi(random.random_range(-30..30)),
    }
}
const KINDS: usize = 7;
const KC: usize = <Rounded<Emulated<true>> as blocked::Unit>::KC;

#[test]
fn rounding_finds_the_nearest() {
    let random = &mut rng::stream(1, b"bf16 num", 0, 0);
    for i in 0..500_000 {
        let x = number(i % KINDS, random);
        let got = widen(round(x));
        if x.is_nan() || x.abs() < f32::MIN_POSITIVE {
            assert!(if x.is_nan() { got.is_nan() } else { same(got, 0f32.copysign(x)) }, "{x:e}");
            continue;
        }
        // The two that enclose it: the same bits cut off, and the next.
        let (below, above) = (x.to_bits() >> 16, (x.to_bits() >> 16) + 1);
        let [low, high] = [below, above].map(|bits| f32::from_bits(bits << 16));
        // Beyond the largest bf16 comes what would be the next: 2¹²⁸.
        let size = |x: f32| if x.is_infinite() { 2f64.powi(128) } else { f64::from(x.abs()) };
        let [to_low, to_high] = [low, high].map(|y| (size(x) - size(y)).abs());
        let want = match to_low.total_cmp(&to_high) {
            std::cmp::Ordering::Less => low,
            std::cmp::Ordering::Greater => high,
            std::cmp::Ordering::Equal => {
                if below.is_multiple_of(2) {
                    low
                } else {
                    high
                }
            }
        };
        let want = if x.is_infinite() { x } else { want };
        assert!(same(got, want), "{x:e}: {got:e}, not {want:e}");
    }
}

/// By hand: 1 + 2⁻⁸ lies between 1 and 1 + 2⁻⁷, and the even one is 1.
#[test]
fn numbers_by_hand() {
    let pairs = [
        (1.0, 0x3f80),
        (1.0 + 1.0 / 256.0, 0x3f80),
        (1.0 + 3.0 / 256.0, 0x3f82),
        (-0.1, 0xbdcd),
        (3.4e38, 0x7f80),
    ];
    for (x, bits) in pairs {
        assert_eq!(round(x), bits, "{x}");
    }
}

/// One number: the instructions of this processor, `vdpbf16ps` and `tdpbf16ps` with what rounds for
/// them, against their emulation.
#[test]
fn the_instruction_does_what_the_emulation_does() {
    let random = &mut rng::stream(2, b"bf16 num", 0, 0);
    for round in 0..200_000 {
        let kinds: [usize; 2] = from_fn(|_| random.random_range(0..KINDS));
        let depth = random.random_range(1..6) + if round % 8 == 0 { 60 } else { 0 };
        let a: Vec<f32> = (0..depth).map(|_| number(kinds[0], random)).collect();
        let b: Vec<f32> = (0..depth).map(|_| number(kinds[1], random)).collect();
        the_same_on_every_unit(&a, &b);
    }
}

/// Sums that end just above, at, or just below the smallest normal number.
#[test]
fn the_edge_of_the_smallest_number() {
    let two = |power: i32| 2f32.powi(power);
    for sign in [1.0, -1.0] {
        for power in [-160, -152, -151, -150, -149, -148, -140, -127, -126] {
            for (mantissa, and) in
                [(1.0, 0.0), (1.0, 1.0), (1.5, 0.0), (1.0078125, 0.0), (1.9921875, 0.5)]
            {
                // ±2⁻¹²⁶ first (the second of the first pair), then a little less or more.
                let (half, rest) = (power / 2, power - power / 2);
                let a = [and * two(-75), two(-63), sign * mantissa * two(half), 0.0];
                let b = [two(-76), two(-63), two(rest), 0.0];
                for minus in [1.0, -1.0] {
                    let a = a.map(|x| x * minus);
                    the_same_on_every_unit(&a, &b);
                }
            }
        }
    }
}

#[test]
fn a_group_that_is_not_full_makes_minus_zero_to_zero() {
    let two = |power: i32| 2f32.powi(power);
    let mut a = vec![0.0; 66];
    let mut b = a.clone();
    (a[0], b[0]) = (1.5 * two(-63), two(-63));
    (a[32], b[32]) = (-two(-63), two(-62));
    (a[64], b[64]) = (-two(-70), two(-70));
    (a[65], b[65]) = (-two(-70), two(-70));
    the_same_on_every_unit(&a, &b);
    let of =
        |x: &[f32], k: usize| u32::from(round(x[2 * k])) | u32::from(round(x[2 * k + 1])) << 16;
    let sum = [0..16, 16..32, 32..33]
        .into_iter()
        .fold(0.0, |sum, group| add_tile(sum, group.map(|k| (of(&a, k), of(&b, k)))));
    assert_eq!(sum.to_bits(), 0, "{sum:?}");
    let mut c = [1.0];
    let view = ArrayViewMut2::from_shape((1, 1), &mut c).unwrap();
    let row = |x| ArrayView2::from_shape((1, 66), x).unwrap();
    let (a, b) = (row(&a), row(&b).reversed_axes());
    on::<Emulated<true>>([1.0, 0.0], a, b, view);
    assert_eq!(c[0].to_bits(), 0, "{c:?}");
}

/// A row times a column, by every instruction that this processor has and by its emulation.
fn the_same_on_every_unit(a: &[f32], b: &[f32]) {
    for order in Order::ALL {
        let found = units(order).map(|run| {
            let mut c = [0.0];
            let of = |x| ArrayView2::from_shape((1, a.len()), x).unwrap();
            let view = ArrayViewMut2::from_shape((1, 1), &mut c).unwrap();
            let (a, b) = (of(a), of(b).reversed_axes());
            run([1.0, 0.0], a, b, view);
            c[0]
        });
        assert!(same(found[0], found[1]), "{order:?}: {a:?} · {b:?} = {found:?}");
    }
}

/// A function that computes C ← alpha·A·B + beta·C.
type Run = fn([f32; 2], ArrayView2<'_, f32>, ArrayView2<'_, f32>, ArrayViewMut2<'_, f32>);

/// What makes products in this order: the processor if it can, plain arithmetic in any case.
fn units(order: Order) -> [Run; 2] {
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::simd::level() == crate::kernels::simd::Level::Avx512 && choice::has(order) {
        return match order {
            Order::Pairs => [on::<avx512::Avx512>, on::<Emulated<false>>],
            Order::Tiles => [on::<amx::Amx>, on::<Emulated<true>>],
        };
    }
    match order {
        Order::Pairs => [on::<Emulated<false>>; 2],
        Order::Tiles => [on::<Emulated<true>>; 2],
    }
}

/// The meaning of the whole: pairs in rising order, one after the other or in groups, cut at `KC`.
fn naive(
    order: Order,
    [alpha, beta]: [f32; 2],
    a: &ArrayView2<'_, f32>,
    b: &ArrayView2<'_, f32>,
    bias: Option<&[f32]>,
    c: &Array2<f32>,
) -> Array2<f32> {
    let k = a.ncols();
    Array2::from_shape_fn(c.dim(), |(i, j)| {
        let mut c = c[[i, j]];
        for from in (0..k).step_by(KC) {
            let to = (from + KC).min(k);
            let pair = |at: &dyn Fn(usize) -> f32, p: usize| {
                number::pair(at(p), if p + 1 < to { at(p + 1) } else { 0.0 })
            };
            let pairs: Vec<(u32, u32)> = (from..to)
                .step_by(2)
                .map(|p| (pair(&|p| a[[i, p]], p), pair(&|p| b[[p, j]], p)))
                .collect();
            let sum = match order {
                Order::Pairs => pairs.iter().fold(0.0, |sum, (a, b)| add_pair(sum, *a, *b)),
                Order::Tiles => {
                    pairs.chunks(GROUP).fold(0.0, |sum, group| add_tile(sum, group.iter().copied()))
                }
            };
            let first = from == 0;
            let sum = if let (Some(bias), true) = (bias, first) { sum + bias[j] } else { sum };
            let beta = if first { beta } else { 1.0 };
            c = if beta == 0.0 { alpha * sum } else { alpha * sum + beta * c };
        }
        c
    })
}

fn filled(kind: usize, rows: usize, cols: usize, salt: u64) -> Array2<f32> {
    let random = &mut rng::stream(salt, b"bf16 mat", rows as u64, cols as u64);
    Array2::from_shape_fn((rows, cols), |_| number(kind, random))
}

/// All layouts, with and without bias, one thread and several, through the door.
fn check(m: usize, n: usize, k: usize, kind: usize) {
    let (wide_a, wide_b) = (filled(kind, m, k + 5, 1), filled(kind, k, n + 3, 2));
    let (a, b) = (wide_a.slice(s![.., 2..k + 2]), wide_b.slice(s![.., 1..n + 1]));
    let (at, bt) = (a.t().to_owned(), b.t().to_owned());
    let bf16 = |threads| Execution { precision: Precision::Bf16, ..Threads::into(threads) };
    let equal = |got: &Array2<f32>, want: &Array2<f32>, what: &str| {
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            assert!(same(*g, *w), "{what} {m}x{n}x{k} kind {kind}, number {i}: {g:e}, not {w:e}");
        }
    };
    let bias = filled(kind, 1, n, 4).into_raw_vec_and_offset().0;
    let with_bias = naive(order(), [1.0, 0.0], &a, &b, Some(&bias), &Array2::zeros((m, n)));
    for (alpha, beta) in [(1.0, 0.0), (0.5, 1.0), (1.0, 1.0), (2.0, -0.5)] {
        let c = if beta == 0.0 { Array2::from_elem((m, n), f32::NAN) } else { filled(0, m, n, 3) };
        let want = naive(order(), [alpha, beta], &a, &b, None, &c);
        for threads in [Threads::One, Threads::Pool] {
            for (a, b) in [(a, b), (at.t(), b), (a, bt.t()), (at.t(), bt.t())] {
                let mut got = c.clone();
                gemm(alpha, a, b, beta, got.view_mut(), bf16(threads));
                equal(&got, &want, "product");
                let mut got = Array2::from_elem((m, n), f32::NAN);
                gemm_bias(a, b, &bias, got.view_mut(), bf16(threads));
                equal(&got, &with_bias, "with a bias");
            }
        }
        for order in Order::ALL {
            let want = naive(order, [alpha, beta], &a, &b, None, &c);
            for run in units(order) {
                for (a, b) in [(a, b), (at.t(), b), (a, bt.t()), (at.t(), bt.t())] {
                    let mut got = c.clone();
                    run([alpha, beta], a, b, got.view_mut());
                    equal(&got, &want, order.name());
                }
            }
        }
    }
}

#[test]
fn every_small_and_odd_shape() {
    for m in 1..=26 {
        for n in 1..=35 {
            check(m, n, 1 + (m * 7 + n * 3) % 23, (m + n) % KINDS);
        }
    }
    for k in 1..=70 {
        check(13, 33, k, k % KINDS);
        check(2, 17, k, (k + 1) % KINDS);
        check(33, 5, k, (k + 2) % KINDS);
    }
}

#[test]
fn shapes_that_cross_a_block() {
    for (m, n, k) in [(70, 65, 129), (7, 545, 20), (14, 40, 1100), (50, 530, 513), (256, 192, 64)] {
        check(m, n, k, 6);
    }
}

#[test]
fn the_same_bits_with_any_number_of_threads() {
    for (m, n, k) in [(256, 700, 401), (301, 64, 600), (97, 1030, 130)] {
        let (a, b) = (filled(0, m, k, 1), filled(0, k, n, 2));
        let product = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut c = Array2::from_elem((m, n), f32::NAN);
            let work = Execution { precision: Precision::Bf16, ..Threads::Pool.into() };
            pool.install(|| gemm(1.0, a.view(), b.view(), 0.0, c.view_mut(), work));
            c
        };
        let one = product(1);
        assert!([2, 3, 5, 8].into_iter().all(|threads| product(threads) == one));
    }
}

/// Rounding costs a relative error of 2⁻⁹ a factor: a random product stays near the exact one.
#[test]
fn rounding_costs_what_it_must() {
    let (a, b) = (filled(0, 40, 300, 1), filled(0, 300, 50, 2));
    let mut got = Array2::zeros((40, 50));
    let work = Execution { precision: Precision::Bf16, ..Threads::One.into() };
    gemm(1.0, a.view(), b.view(), 0.0, got.view_mut(), work);
    let exact = a.dot(&b);
    let worst = got.iter().zip(&exact).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
    // Of 300 terms of about 1/3 · 2⁻⁸, of either sign.
    assert!((1e-3..0.1).contains(&worst), "{worst}");
    let flat = Array1::from_iter(got.iter().copied());
    assert!(flat.iter().any(|x| *x != 0.0));
}

/// Views that run backwards, a C whose columns lie apart, an empty depth.
#[test]
fn views_of_every_kind() {
    let (a, b) = (filled(0, 9, 21, 1), filled(0, 21, 37, 2));
    let want = naive(order(), [1.0, 0.0], &a.view(), &b.view(), None, &Array2::zeros((9, 37)));
    let work = Execution { precision: Precision::Bf16, ..Threads::One.into() };
    let mut apart = Array2::from_elem((9, 74), f32::NAN);
    gemm(1.0, a.view(), b.view(), 0.0, apart.slice_mut(s![.., ..;2]), work);
    let mut columns = Array2::from_elem((37, 9), f32::NAN);
    gemm(1.0, a.view(), b.view(), 0.0, columns.view_mut().reversed_axes(), work);
    let (back_a, back_b) = (a.slice(s![.., ..;-1]).to_owned(), b.slice(s![..;-1, ..]).to_owned());
    let mut backwards = Array2::from_elem((9, 37), f32::NAN);
    let (back_a, back_b) = (back_a.slice(s![.., ..;-1]), back_b.slice(s![..;-1, ..]));
    gemm(1.0, back_a, back_b, 0.0, backwards.slice_mut(s![..;-1, ..]), work);
    for ((i, j), w) in want.indexed_iter() {
        assert!(same(apart[[i, 2 * j]], *w) && same(columns[[j, i]], *w));
        assert!(same(backwards[[8 - i, j]], *w) && apart[[i, 2 * j + 1]].is_nan());
    }
    let mut c = filled(0, 2, 3, 1);
    gemm(1.0, Array2::zeros((2, 0)).view(), Array2::zeros((0, 3)).view(), 0.0, c.view_mut(), work);
    assert!(c.iter().all(|&x| x == 0.0));
}
