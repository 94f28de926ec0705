//! Products of every small and odd shape, and views of every kind, against plain loops in f64.

use super::*;
use ndarray::s;

/// The meaning of [`gemm`], in f64.
fn naive(alpha: f32, a: &Array2<f32>, b: &Array2<f32>, beta: f32, c: &Array2<f32>) -> Array2<f32> {
    Array2::from_shape_fn(c.dim(), |(i, j)| {
        let dot: f64 = (0..a.ncols()).map(|k| f64::from(a[[i, k]]) * f64::from(b[[k, j]])).sum();
        let old = if beta == 0.0 { 0.0 } else { f64::from(beta) * f64::from(c[[i, j]]) };
        (f64::from(alpha) * dot + old) as f32
    })
}

fn filled(rows: usize, cols: usize, salt: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, cols), |(i, j)| {
        ((i * 31 + j * 17 + salt * 7) % 19) as f32 / 9.5 - 1.0
    })
}

fn check(m: usize, n: usize, k: usize) {
    // Operands are the middle columns of wider arrays, as heads are; C is NaN where β = 0.
    let (wide_a, wide_b) = (filled(m, k + 5, 1), filled(k, n + 3, 2));
    let (a, b) = (wide_a.slice(s![.., 2..k + 2]), wide_b.slice(s![.., 1..n + 1]));
    let (at, bt) = (a.t().to_owned(), b.t().to_owned());
    for (alpha, beta) in [(1.0, 0.0), (0.5, 1.0), (2.0, -0.5)] {
        let c = if beta == 0.0 { Array2::from_elem((m, n), f32::NAN) } else { filled(m, n, 3) };
        let want = naive(alpha, &a.to_owned(), &b.to_owned(), beta, &c);
        for threads in [Threads::One, Threads::Pool] {
            let bias = &filled(1, n, 4);
            let mut got = Array2::from_elem((m, n), f32::NAN);
            gemm_bias(a, b, bias.as_slice().unwrap(), got.view_mut(), threads);
            let rows = bias.broadcast((m, n)).unwrap().to_owned();
            let want_bias = naive(1.0, &a.to_owned(), &b.to_owned(), 1.0, &rows);
            for (g, w) in got.iter().zip(&want_bias) {
                assert!((g - w).abs() <= 1e-5 * (1.0 + k as f32).sqrt(), "bias {m}x{n}x{k}");
            }
            for (a, b) in [(a, b), (at.t(), b), (a, bt.t())] {
                let mut got = c.clone();
                gemm(alpha, a, b, beta, got.view_mut(), threads);
                for (g, w) in got.iter().zip(&want) {
                    assert!(
                        (g - w).abs() <= 1e-5 * (1.0 + k as f32).sqrt(),
                        "{m}x{n}x{k}: {g} {w}"
                    );
                }
            }
        }
    }
}

/// The tiles of all instruction sets up to that in use, operands in place and turned.
#[test]
fn every_tile_of_this_machine() {
    let small = (1..=9).flat_map(|m| (1..=35).map(move |n| (m, n, 1 + (m * 7 + n * 3) % 23)));
    let large = [(13, 33, 70), (7, 545, 20), (14, 40, 800), (75, 530, 390), (700, 20, 400)];
    for (m, n, k) in small.chain(large) {
        let (a, b, bias) = (filled(m, k, 1), filled(k, n, 2), filled(1, n, 4));
        let [turned_a, turned_b] = [&a, &b].map(|x| x.t().as_standard_layout().into_owned());
        for (a, b, beta) in [
            (a.view(), b.view(), 0.0),
            (a.view(), turned_b.t(), 0.0),
            (turned_a.t(), b.view(), -0.5),
        ] {
            let old =
                if beta == 0.0 { Array2::from_elem((m, n), f32::NAN) } else { filled(m, n, 3) };
            let want = naive(1.0, &a.to_owned(), &b.to_owned(), beta, &old) + &bias;
            let levels = Level::HERE.iter().filter(|of| **of <= level());
            for (&of, threads) in levels.flat_map(|of| [(of, 1), (of, 3)]) {
                let mut c = old.clone();
                by_tile(of, [1.0, beta], &a, &b, bias.as_slice(), &mut c.view_mut(), threads);
                let near = |(g, w): (&f32, &f32)| (g - w).abs() <= 1e-5 * (1.0 + k as f32).sqrt();
                assert!(c.iter().zip(&want).all(near), "{of:?} {m}x{n}x{k}");
            }
        }
    }
}

#[test]
fn every_small_and_odd_shape() {
    // Every remainder of a tile's rows (8, 6 or 2) and columns (48 or 16), and some depths.
    for m in 1..=26 {
        for n in 1..=35 {
            check(m, n, 1 + (m * 7 + n * 3) % 23);
        }
    }
    for k in 1..=70 {
        check(13, 33, k);
        check(2, 17, k);
    }
}

#[test]
fn shapes_that_cross_a_block() {
    // Columns beyond one packed block, depth beyond one block, rows enough for several pieces, and
    // so many that a column of A is longer than a cache.
    let small = [(70, 65, 129), (7, 545, 20), (14, 40, 800), (75, 530, 390), (256, 192, 64)];
    for (m, n, k) in small.into_iter().chain([(700, 20, 400)]) {
        check(m, n, k);
    }
}

/// A B that is kept in bf16 comes to the bits of the same numbers in f32, as it lies and turned, in part of a wider
/// matrix, on any number of threads, and where the product is another's.
#[test]
fn halves_have_the_bits_of_singles() {
    let small = (1..=9).flat_map(|m| (1..=35).map(move |n| (m, n, 1 + (m * 7 + n * 3) % 23)));
    let large =
        [(13, 33, 70), (7, 545, 20), (14, 40, 800), (75, 530, 390), (700, 96, 400), (4, 48, 0)];
    for (m, n, k) in small.chain(large) {
        let (a, bias) = (filled(m, k, 1), filled(1, n, 4));
        let bits = filled(k, n + 3, 2).mapv(bf16::number::round);
        let wide = bits.mapv(bf16::number::widen);
        let turned = [bits.t().as_standard_layout().into_owned()];
        let turned_wide = turned[0].mapv(bf16::number::widen);
        let columns = s![.., 1..n + 1];
        for (half, single) in [
            (bits.slice(columns), wide.slice(columns)),
            (turned[0].t().slice_move(columns), turned_wide.t().slice_move(columns)),
        ] {
            for (factors, bias) in [([1.0, 0.0], bias.as_slice()), ([0.5, -1.0], None)] {
                for precision in Precision::ALL {
                    let found = [Factor::Half(half), Factor::Single(single)].map(|b| {
                        let mut c = filled(m, n, 3);
                        let work = Execution { precision, ..Threads::Pool.into() };
                        multiply(factors, a.view(), b, bias, c.view_mut(), work);
                        c.mapv(f32::to_bits)
                    });
                    assert!(found[0] == found[1], "{m}x{n}x{k} in {precision:?}");
                }
            }
        }
    }
}

/// The pieces that a product is cut into do not show in the result.
#[test]
fn the_same_bits_with_any_number_of_threads() {
    for (m, n, k) in [(256, 700, 401), (301, 64, 500), (97, 1030, 130)] {
        let (a, b) = (filled(m, k, 1), filled(k, n, 2));
        let product = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut c = Array2::from_elem((m, n), f32::NAN);
            pool.install(|| gemm(1.0, a.view(), b.view(), 0.0, c.view_mut(), Threads::Pool));
            c
        };
        let one = product(1);
        assert!([2, 3, 5, 8].into_iter().all(|threads| product(threads) == one));
    }
}

/// A C with columns that lie apart, and rows that lie together, or neither.
#[test]
fn outputs_of_any_layout() {
    let (a, b) = (filled(9, 20, 1), filled(20, 37, 2));
    let want = naive(1.0, &a, &b, 0.0, &Array2::zeros((9, 37)));
    let mut columns = Array2::from_elem((37, 9), f32::NAN);
    gemm(1.0, a.view(), b.view(), 0.0, columns.view_mut().reversed_axes(), Threads::One);
    let mut apart = Array2::from_elem((9, 74), f32::NAN);
    gemm(1.0, a.view(), b.view(), 0.0, apart.slice_mut(s![.., ..;2]), Threads::One);
    for ((i, j), w) in want.indexed_iter() {
        assert!((columns[[j, i]] - w).abs() < 1e-4 && (apart[[i, 2 * j]] - w).abs() < 1e-4);
        assert!(apart[[i, 2 * j + 1]].is_nan(), "written between the columns");
    }
}

/// Operands and results whose rows or columns, or both, are read from their ends.
#[test]
fn views_that_run_backwards() {
    let turn = |x: &Array2<f32>, way: usize| {
        // Stored the other way round, so that the view has the numbers of x.
        let steps = [1, -1];
        let (rows, cols) = (steps[way & 1], steps[way >> 1]);
        let stored = x.slice(s![..;rows, ..;cols]).as_standard_layout().into_owned();
        (stored, rows, cols)
    };
    for (m, n, k) in [(1, 1, 1), (5, 7, 3), (30, 40, 50)] {
        let (a, b, c) = (filled(m, k, 1), filled(k, n, 2), filled(m, n, 3));
        let want = naive(2.0, &a, &b, 0.5, &c);
        for ways in 0..64 {
            let (a, a_rows, a_cols) = turn(&a, ways & 3);
            let (b, b_rows, b_cols) = turn(&b, ways >> 2 & 3);
            let (a, b) = (a.slice(s![..;a_rows, ..;a_cols]), b.slice(s![..;b_rows, ..;b_cols]));
            let (mut stored, rows, cols) = turn(&c, ways >> 4);
            let mut got = stored.slice_mut(s![..;rows, ..;cols]);
            gemm(2.0, a, b, 0.5, got.view_mut(), Threads::One);
            assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-4), "{ways}");
            // Columns that lie apart.
            let mut apart = Array2::from_elem((m, 2 * n), f32::NAN);
            let mut apart = apart.slice_mut(s![..;rows, ..;2 * cols]);
            gemm(2.0, a, b, 0.0, apart.view_mut(), Threads::One);
            let want = naive(2.0, &a.to_owned(), &b.to_owned(), 0.0, &c);
            assert!(apart.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-4), "{ways}");
            let mut plain = Array2::from_elem((m, n), f32::NAN);
            let bias = vec![1.0; n];
            gemm_bias(a, b, &bias, plain.view_mut(), Threads::One);
            let half = plain.iter().zip(&want).all(|(g, w)| (2.0 * (g - 1.0) - w).abs() < 1e-4);
            assert!(half, "{ways}");
        }
    }
}

#[test]
fn zero_inner_dimension_is_an_empty_sum() {
    let mut c = filled(2, 3, 1);
    gemm(1.0, filled(2, 0, 1).view(), filled(0, 3, 1).view(), 0.0, c.view_mut(), Threads::One);
    assert!(c.iter().all(|&x| x == 0.0));
}
