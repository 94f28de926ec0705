//! C ← α·A·B + β·C: the one door to matrix products.
//!
//! On x86-64 with AVX2 or AVX-512 the work is done by our own kernel: `blocked` cuts, `pack`
//! rearranges B, `microkernel` multiplies. It reads A where it lies, takes no memory after its
//! first use, and sums every element in the same order for any number of threads. Everywhere else
//! the f32 part of the `gemm` crate does it (NEON, plain code). Views may have any strides, so a
//! transposed operand is a view (`w.t()`), never a copy.

#[cfg(target_arch = "x86_64")]
mod blocked;
#[cfg(target_arch = "x86_64")]
mod microkernel;
#[cfg(target_arch = "x86_64")]
mod pack;

use gemm_common::Parallelism;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2};

/// Who may work on a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone: inside a task that is itself one of many.
    One,
    /// The Rayon pool that the caller runs in.
    Pool,
}

/// C ← α·A·B + β·C.
///
/// # Shapes
/// `a [M, K]`, `b [K, N]`, `c [M, N]`, any strides. With β = 0 the old content of C is never read,
/// so it may be anything.
///
/// # Panics
/// When the shapes do not fit: callers have checked them.
pub fn gemm(
    alpha: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    beta: f32,
    mut c: ArrayViewMut2<'_, f32>,
    threads: Threads,
) {
    let ((m, k), (k2, n)) = (a.dim(), b.dim());
    assert!(k == k2 && c.dim() == (m, n), "gemm: [{m}, {k}]·[{k2}, {n}] into {:?}", c.dim());
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        return if beta == 0.0 { c.fill(0.0) } else { c.mapv_inplace(|x| x * beta) };
    }
    let (mut a, mut b) = (a, b);
    if c.strides()[0] < 0 {
        c.invert_axis(Axis(0));
        a.invert_axis(Axis(0));
    }
    if c.strides()[1] < 0 {
        c.invert_axis(Axis(1));
        b.invert_axis(Axis(1));
    }
    let (a, b) = (forwards(a), forwards(b));
    let (a, b) = (a.view(), b.view());
    // A C whose columns lie apart is computed as Cᵀ = Bᵀ·Aᵀ.
    let (a, b, mut c) = match c.strides()[1] != 1 && c.strides()[0] == 1 {
        true => (b.reversed_axes(), a.reversed_axes(), c.reversed_axes()),
        false => (a, b, c),
    };
    #[cfg(target_arch = "x86_64")]
    if own([alpha, beta], &a, &b, None, &mut c, threads) {
        return;
    }
    engine(alpha, a, b, beta, c, threads);
}

/// C ← A·B + 1·biasᵀ: [`gemm`] that adds `bias [N]` to every row of C while it is in registers.
///
/// # Panics
/// When the shapes do not fit or C is not row-major: callers have checked them.
pub fn gemm_bias(
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    bias: &[f32],
    mut c: ArrayViewMut2<'_, f32>,
    threads: Threads,
) {
    let (m, n) = c.dim();
    assert!(
        a.dim() == (m, b.nrows()) && b.ncols() == n && bias.len() == n && c.is_standard_layout()
    );
    let (a, b) = (forwards(a), forwards(b));
    let (a, b) = (a.view(), b.view());
    #[cfg(target_arch = "x86_64")]
    if m > 0 && n > 0 && a.ncols() > 0 && own([1.0, 0.0], &a, &b, Some(bias), &mut c, threads) {
        return;
    }
    c.rows_mut().into_iter().for_each(|mut row| row.assign(&ArrayView1::from(bias)));
    gemm(1.0, a, b, 1.0, c, threads);
}

/// The operand itself, or a copy of one that runs backwards: the kernels step forwards.
fn forwards(x: ArrayView2<'_, f32>) -> CowArray<'_, f32, Ix2> {
    match x.strides().iter().all(|&step| step >= 0) {
        true => x.into(),
        false => Array2::from_shape_fn(x.dim(), |at| x[at]).into(),
    }
}

/// Our kernel; false when this machine or these strides are not for it.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn own(
    [alpha, beta]: [f32; 2],
    a: &ArrayView2<'_, f32>,
    b: &ArrayView2<'_, f32>,
    bias: Option<&[f32]>,
    c: &mut ArrayViewMut2<'_, f32>,
    threads: Threads,
) -> bool {
    use microkernel::{Factors, Operand, Output};
    if c.strides()[1] != 1 && c.ncols() > 1 {
        return false;
    }
    let operand = |x: &ArrayView2<'_, f32>| {
        let (rs, cs) = (x.strides()[0], x.strides()[1]);
        Operand { ptr: x.as_ptr(), rs, cs }
    };
    let ((m, k), n) = (a.dim(), b.ncols());
    let product = blocked::Product {
        m,
        n,
        k,
        a: operand(a),
        b: operand(b),
        c: Output { ptr: c.as_mut_ptr(), rs: c.strides()[0] },
        f: Factors { alpha, beta, bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr) },
    };
    let threads = match threads {
        Threads::One => 1,
        Threads::Pool => rayon::current_num_threads(),
    };
    // SAFETY: pointers and strides come from ndarray views of exactly these dimensions, which
    // borrow their memory for the whole call, the bias has n numbers; C is borrowed mutably by the caller, so it overlaps
    // neither A nor B, and nobody else looks at it.
    unsafe { product.run(threads) }
}

/// The `gemm` crate.
#[allow(unsafe_code)]
fn engine(
    alpha: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    beta: f32,
    c: ArrayViewMut2<'_, f32>,
    threads: Threads,
) {
    // It wants the columns of C to lie together. For a row-major C that is Cᵀ = Bᵀ·Aᵀ.
    let (a, b, mut c) = match c.strides()[0] > c.strides()[1] {
        true => (b.reversed_axes(), a.reversed_axes(), c.reversed_axes()),
        false => (a, b, c),
    };
    let strides = |view: &[isize]| (view[1], view[0]);
    let ((c_cs, c_rs), (a_cs, a_rs), (b_cs, b_rs)) =
        (strides(c.strides()), strides(a.strides()), strides(b.strides()));
    let ((m, n), k) = (c.dim(), a.ncols());
    let parallelism = match threads {
        Threads::Pool if rayon::current_num_threads() > 1 => Parallelism::Rayon(0),
        _ => Parallelism::None,
    };
    let engine = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: as in `own`. The engine's factors are the other way round:
    // dst ← alpha·dst + beta·lhs·rhs.
    unsafe {
        engine(
            m,
            n,
            k,
            c.as_mut_ptr(),
            c_cs,
            c_rs,
            beta != 0.0,
            a.as_ptr(),
            a_cs,
            a_rs,
            b.as_ptr(),
            b_cs,
            b_rs,
            beta,
            alpha,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// A row-major slice seen as a matrix `[rows, cols]`.
///
/// # Panics
/// When `data` has not `rows · cols` elements: callers have checked shapes.
pub fn matrix(data: &[f32], rows: usize, cols: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, cols), data).expect("length was checked by the op")
}

/// [`matrix`], for writing.
///
/// # Panics
/// When `data` has not `rows · cols` elements: callers have checked shapes.
pub fn matrix_mut(data: &mut [f32], rows: usize, cols: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((rows, cols), data).expect("length was checked by the op")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::s;

    /// The meaning of [`gemm`], in f64.
    fn naive(
        alpha: f32,
        a: &Array2<f32>,
        b: &Array2<f32>,
        beta: f32,
        c: &Array2<f32>,
    ) -> Array2<f32> {
        Array2::from_shape_fn(c.dim(), |(i, j)| {
            let dot: f64 =
                (0..a.ncols()).map(|k| f64::from(a[[i, k]]) * f64::from(b[[k, j]])).sum();
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

    #[test]
    fn every_small_and_odd_shape() {
        // Every remainder of a tile's rows (12 or 6) and columns (32 or 16), and some depths.
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
        // Columns beyond one packed block, depth beyond one block, rows enough for several pieces.
        for (m, n, k) in
            [(70, 65, 129), (7, 545, 20), (14, 40, 800), (75, 530, 390), (256, 192, 64)]
        {
            check(m, n, k);
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
                // Columns that lie apart are for the engine.
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
}
