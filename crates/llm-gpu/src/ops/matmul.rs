//! Products of matrices that lie anywhere in a room, many at once.

use crate::maker::Maker;
use crate::plan::{Kernel, Room};

const TEXT: &str = include_str!("matmul.wgsl");

/// The kernel whose threads have R × R numbers each, and a tile 16·R.
const fn kernel(text: &'static [&'static str]) -> Kernel {
    Kernel { entry: "product", text }
}

const TILES: [(usize, Kernel); 4] = [
    (8, kernel(&["const R: u32 = 8u; const DEPTH: u32 = 8u;\n", TEXT])),
    (4, kernel(&["const R: u32 = 4u; const DEPTH: u32 = 16u;\n", TEXT])),
    (2, kernel(&["const R: u32 = 2u; const DEPTH: u32 = 16u;\n", TEXT])),
    (1, kernel(&["const R: u32 = 1u; const DEPTH: u32 = 16u;\n", TEXT])),
];

/// A matrix in a room, or one for each outer and inner number.
#[derive(Clone, Copy)]
pub(crate) struct View {
    room: Room,
    at: usize,
    /// From a row to the next, from a column to the next.
    strides: [usize; 2],
    /// From an outer number to the next, from an inner one to the next.
    steps: [usize; 2],
}

impl View {
    /// A row-major matrix of `columns` columns that begins at `at`.
    pub(crate) fn of(room: Room, at: usize, columns: usize) -> View {
        View { room, at, strides: [columns, 1], steps: [0, 0] }
    }

    pub(crate) fn stepping(self, steps: [usize; 2]) -> View {
        View { steps, ..self }
    }

    /// The transpose.
    pub(crate) fn t(self) -> View {
        let [row, column] = self.strides;
        View { strides: [column, row], ..self }
    }
}

/// What is known to be 0, and is not computed or not read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Causal {
    No = 0,
    /// Of C only the lower triangle is wanted.
    Result = 1,
    /// A is a lower triangle.
    Left = 2,
    /// A is the transpose of one.
    LeftTransposed = 3,
}

/// What is added to a product.
#[derive(Clone, Copy)]
pub(crate) enum Plus {
    Nothing,
    /// A number for each column, which begin here in θ.
    Bias(u32),
    /// β times a matrix of another room, which lies there as the result does in its own.
    Matrix(Room, f32),
}

/// c (+)= α·a·b (+ bias, or + β·d).
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub c: View,
    pub a: View,
    pub b: View,
    /// M, N, K.
    pub sizes: [usize; 3],
    /// How many outer and inner ones.
    pub batch: [usize; 2],
    pub alpha: f32,
    pub causal: Causal,
    pub plus: Plus,
    pub add: u32,
    /// Not 0: the outer numbers are chunks of so much of K.
    pub chunk: usize,
}

impl Product {
    pub(crate) fn new(c: View, a: View, b: View, sizes: [usize; 3]) -> Product {
        let (batch, causal, plus) = ([1, 1], Causal::No, Plus::Nothing);
        Product { c, a, b, sizes, batch, alpha: 1.0, causal, plus, add: 0, chunk: 0 }
    }

    pub(crate) fn call(self, maker: &mut Maker<'_>) {
        let Product { c, a, b, sizes: [m, n, k], batch, alpha, causal, plus, add, chunk } = self;
        let z = batch[0] * batch[1];
        let tiles = |r: usize| [n.div_ceil(16 * r), m.div_ceil(16 * r)];
        // The largest tile that leaves enough of them for a device's many units.
        let fits = |r: usize| r == 1 || tiles(r).iter().product::<usize>() * z >= 128;
        let narrow = m.min(n) <= 16;
        let (r, kernel) =
            TILES.iter().find(|(r, _)| fits(*r) && !(narrow && *r > 1)).unwrap_or(&TILES[3]);
        let [c_row, c_column] = c.strides;
        debug_assert_eq!(c_column, 1, "a result is row-major");
        let view = |v: View| [v.at, v.strides[0], v.strides[1], v.steps[0], v.steps[1]];
        let mut all: Vec<u32> = [m, n, k, batch[1]].map(|n| n as u32).to_vec();
        all.extend(view(a).into_iter().chain(view(b)).map(|n| n as u32));
        all.extend([c.at, c_row, c.steps[0], c.steps[1]].map(|n| n as u32));
        let (kind, at, beta, plus) = match plus {
            Plus::Nothing => (0, 0, 0.0f32, maker.fixed.theta),
            Plus::Bias(at) => (1, at, 0.0, maker.fixed.theta),
            Plus::Matrix(room, beta) => (2, 0, beta, room),
        };
        all.extend([alpha.to_bits(), kind, at, beta.to_bits()]);
        all.extend([add, causal as u32, chunk as u32]);
        let [x, y] = tiles(*r).map(|n| n as u32);
        let rooms = [a.room, b.room, plus, c.room];
        maker.call(*kernel, &all, &rooms, [x, y, z as u32]);
    }
}
