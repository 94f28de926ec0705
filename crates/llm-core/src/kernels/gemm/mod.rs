//! C ← α·A·B + β·C: the one door to matrix products.
//!
//! `blocked` cuts, for every kind of numbers; of f32 (`single`) `pack` rearranges B, and A where that pays, and
//! `microkernel` multiplies, by a tile for each instruction set. No memory is taken after the first use, and every element is summed in the same
//! order for any number of threads. Views may have any strides, so a transposed operand is a view
//! (`w.t()`), never a copy. (In f16 all this is emulated, on rounded copies.)

#[cfg(target_os = "macos")]
mod accelerate;
pub mod bf16;
mod blocked;
pub mod engine;
mod microkernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
pub(super) mod plain;
mod precision;
mod single;
mod triangle;

pub use precision::{Precision, precision, within};
pub use triangle::Triangle;

#[cfg(test)]
use crate::kernels::simd::Level;
use crate::kernels::simd::level;
use microkernel::{Factors, Operand, Output};
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2};

/// The threads that may work on a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone: inside a task that is itself one of many.
    One,
    /// The Rayon pool that the caller runs in.
    Pool,
}

impl Threads {
    fn number(self) -> usize {
        match self {
            Threads::One => 1,
            Threads::Pool => rayon::current_num_threads(),
        }
    }
}

/// How a product is computed. From [`Threads`] alone: in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The threads that work on it.
    pub threads: Threads,
    /// What the numbers of A and B are rounded to.
    pub precision: Precision,
    /// Which numbers count; others than all in f32 alone.
    pub triangle: Triangle,
}

impl Execution {
    /// On the pool, with the precision of the caller's scope: what an op does.
    pub fn here() -> Execution {
        Execution { precision: precision(), ..Threads::Pool.into() }
    }
}

impl From<Threads> for Execution {
    fn from(threads: Threads) -> Execution {
        Execution { threads, precision: Precision::F32, triangle: Triangle::Whole }
    }
}

/// On the calling thread, in f32.
impl From<Triangle> for Execution {
    fn from(triangle: Triangle) -> Execution {
        Execution { triangle, ..Threads::One.into() }
    }
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
    c: ArrayViewMut2<'_, f32>,
    work: impl Into<Execution>,
) {
    any([alpha, beta], a, b, None, c, work.into());
}

/// C ← A·B + 1·biasᵀ: [`gemm`] that adds `bias [N]` to every row of C while it is in registers.
///
/// # Panics
/// When the shapes do not fit or C is not row-major: callers have checked them.
pub fn gemm_bias(
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    bias: &[f32],
    c: ArrayViewMut2<'_, f32>,
    work: impl Into<Execution>,
) {
    assert!(bias.len() == c.ncols() && c.is_standard_layout());
    any([1.0, 0.0], a, b, Some(bias), c, work.into());
}

/// B of a product as it is kept.
#[derive(Clone, Copy)]
pub(crate) enum Factor<'a> {
    /// In f32.
    Single(ArrayView2<'a, f32>),
    /// In bf16, each by its 16 bits.
    Half(ArrayView2<'a, u16>),
}

impl Factor<'_> {
    /// The transpose.
    pub(crate) fn t(self) -> Self {
        match self {
            Factor::Single(b) => Factor::Single(b.reversed_axes()),
            Factor::Half(b) => Factor::Half(b.reversed_axes()),
        }
    }

    /// Rows and columns.
    pub(crate) fn dim(&self) -> (usize, usize) {
        match self {
            Factor::Single(b) => b.dim(),
            Factor::Half(b) => b.dim(),
        }
    }
}

/// [`gemm`], or with a bias [`gemm_bias`], by a B that may be kept in bf16: the bits are those of the same numbers in
/// f32.
///
/// # Panics
/// As those.
#[allow(unsafe_code)]
pub(crate) fn multiply(
    factors: [f32; 2],
    a: ArrayView2<'_, f32>,
    b: Factor<'_>,
    bias: Option<&[f32]>,
    mut c: ArrayViewMut2<'_, f32>,
    work: Execution,
) {
    assert!(bias.is_none_or(|bias| bias.len() == c.ncols() && c.is_standard_layout()));
    let b = match b {
        Factor::Single(b) => return any(factors, a, b, bias, c, work),
        Factor::Half(b) => b,
    };
    let ((m, k), (k2, n)) = (a.dim(), b.dim());
    assert!(k == k2 && c.dim() == (m, n), "gemm: [{m}, {k}]·[{k2}, {n}] into {:?}", c.dim());
    let forwards = a.strides().iter().chain(b.strides()).all(|&step| step >= 0);
    let ours = engine::engine() == engine::Engine::Own && work.precision == Precision::F32;
    if !(ours && forwards && c.is_standard_layout() && m * n * k > 0) {
        return any(factors, a, b.mapv(bf16::number::widen).view(), bias, c, work);
    }
    let product = product(factors, &a, &b, bias, &mut c);
    let product = blocked::Product { triangle: work.triangle, ..product };
    // SAFETY: as in `own`.
    unsafe { product.run(single::Single::of(level()), work.threads.number()) }
}

/// A product of any shapes and layouts; with a bias C is row-major.
fn any(
    [alpha, beta]: [f32; 2],
    mut a: ArrayView2<'_, f32>,
    mut b: ArrayView2<'_, f32>,
    bias: Option<&[f32]>,
    mut c: ArrayViewMut2<'_, f32>,
    work: Execution,
) {
    let ((m, k), (k2, n)) = (a.dim(), b.dim());
    assert!(k == k2 && c.dim() == (m, n), "gemm: [{m}, {k}]·[{k2}, {n}] into {:?}", c.dim());
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        return match bias {
            Some(bias) => c.assign(&ArrayView1::from(bias)),
            None if beta == 0.0 => c.fill(0.0),
            None => c.mapv_inplace(|x| x * beta),
        };
    }
    if work.precision == Precision::F16 {
        let [a, b] = [a, b].map(|x| x.mapv(precision::to_f16));
        return any([alpha, beta], a.view(), b.view(), bias, c, work.threads.into());
    }
    let turns_around = c.strides().iter().any(|&step| step < 0);
    if c.strides()[0] < 0 {
        c.invert_axis(Axis(0));
        a.invert_axis(Axis(0));
    }
    if c.strides()[1] < 0 {
        c.invert_axis(Axis(1));
        b.invert_axis(Axis(1));
    }
    // A triangle has its rows and columns where the caller sees them.
    let whole = Execution { triangle: Triangle::Whole, ..work };
    let work = if turns_around { whole } else { work };
    // A C whose columns lie apart is computed as Cᵀ = Bᵀ·Aᵀ where its rows lie together, else beside.
    if c.strides()[1] == 1 || n == 1 {
        own([alpha, beta], [a, b], bias, &mut c, work);
    } else if work.precision == Precision::F32 && (c.strides()[0] == 1 || m == 1) {
        let turned = [b.reversed_axes(), a.reversed_axes()];
        own([alpha, beta], turned, None, &mut c.reversed_axes(), whole);
    } else {
        let mut together = c.as_standard_layout().into_owned();
        own([alpha, beta], [a, b], None, &mut together.view_mut(), work);
        c.assign(&together);
    }
}

/// The operand itself, or a copy: the kernels step forwards, and packing pairs reads lines in which
/// numbers lie side by side, in either direction.
fn readable(x: ArrayView2<'_, f32>, precision: Precision) -> CowArray<'_, f32, Ix2> {
    let forwards = x.strides().iter().all(|&step| step >= 0);
    match forwards && (precision != Precision::Bf16 || x.strides().contains(&1)) {
        true => x.into(),
        false => Array2::from_shape_fn(x.dim(), |at| x[at]).into(),
    }
}

/// A product whose C has its columns side by side.
#[allow(unsafe_code)]
fn own(
    factors: [f32; 2],
    [a, b]: [ArrayView2<'_, f32>; 2],
    bias: Option<&[f32]>,
    c: &mut ArrayViewMut2<'_, f32>,
    Execution { threads, precision, triangle }: Execution,
) {
    let [a, b] = [a, b].map(|x| readable(x, precision));
    let threads = threads.number();
    // SAFETY: pointers and strides come from ndarray views of exactly these dimensions, which
    // borrow their memory for the whole call, the bias has n numbers; C is borrowed mutably by the caller, so it overlaps
    // neither A nor B, and no other thread reads it.
    unsafe {
        let product =
            blocked::Product { triangle, ..product(factors, &a.view(), &b.view(), bias, c) };
        if precision == Precision::Bf16 {
            return bf16::run(product, threads);
        }
        #[cfg(target_os = "macos")]
        if engine::engine() == engine::Engine::Accelerate && accelerate::multiply(&product) {
            return;
        }
        product.run(single::Single::of(level()), threads);
    }
}

/// Where the numbers of a product lie.
fn product<T>(
    [alpha, beta]: [f32; 2],
    a: &ArrayView2<'_, f32>,
    b: &ArrayView2<'_, T>,
    bias: Option<&[f32]>,
    c: &mut ArrayViewMut2<'_, f32>,
) -> blocked::Product<T> {
    debug_assert!(c.strides()[1] == 1 || c.ncols() == 1);
    let ((m, k), n) = (a.dim(), b.ncols());
    blocked::Product {
        m,
        n,
        k,
        a: operand(a),
        b: operand(b),
        c: Output { ptr: c.as_mut_ptr(), rs: c.strides()[0] },
        f: Factors { alpha, beta, bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr) },
        triangle: Triangle::Whole,
    }
}

/// Where a matrix lies.
fn operand<T>(x: &ArrayView2<'_, T>) -> Operand<T> {
    Operand { ptr: x.as_ptr(), rs: x.strides()[0], cs: x.strides()[1] }
}

/// A product by the tile of an instruction set that this machine has, for the tests.
#[cfg(test)]
#[allow(unsafe_code)]
fn by_tile(
    level: Level,
    factors: [f32; 2],
    a: &ArrayView2<'_, f32>,
    b: &ArrayView2<'_, f32>,
    bias: Option<&[f32]>,
    c: &mut ArrayViewMut2<'_, f32>,
    threads: usize,
) {
    // SAFETY: as in `own`; the machine has this tile.
    unsafe { product(factors, a, b, bias, c).run(single::Single::of(level), threads) }
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
mod tests;
