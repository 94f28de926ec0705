//! Products of matrices that lie anywhere in a room, many at once.

use crate::maker::Maker;
use crate::plan::{Kernel, Room};

/// Edge of a tile, and its kernels: for operands that begin anywhere, and for those that are read four numbers
/// at a time.
macro_rules! tiles {
    ($($tile:literal: $side:literal, $q:literal, $depth:literal;)+) => {
        [$(($tile, [tiles!(@ $side, $q, $depth, "by_one.wgsl"), tiles!(@ $side, $q, $depth, "by_four.wgsl")])),+]
    };
    (@ $side:literal, $q:literal, $depth:literal, $reads:literal) => {
        Kernel {
            entry: "product",
            text: &[
                concat!("const SIDE: u32 = ", $side, "u; const Q: u32 = ", $q, "u; const DEPTH: u32 = ", $depth, "u;\n"),
                include_str!("product.wgsl"),
                include_str!($reads),
                include_str!("matmul.wgsl"),
            ],
        }
    };
}

const TILES: [(usize, [Kernel; 2]); 3] = tiles! {
    128: 16, 2, 8;
    64: 16, 1, 16;
    32: 8, 1, 16;
};

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

    /// Whether its numbers can be read four at a time, `[rows, columns]` of them.
    fn by_four(self, [rows, columns]: [usize; 2]) -> bool {
        let [row, column] = self.strides;
        let (along, across) = if column == 1 { (columns, row) } else { (rows, column) };
        let [outer, inner] = self.steps;
        [self.at, along, across, outer, inner].iter().all(|n| n % 4 == 0)
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
        let tiles = |tile: usize| [n.div_ceil(tile), m.div_ceil(tile)];
        // The largest tile that leaves enough of them for a device's many units.
        let fits = |tile: usize| tiles(tile).iter().product::<usize>() * z >= 128;
        let (tile, kernels) = TILES.iter().find(|(tile, _)| fits(*tile)).unwrap_or(&TILES[2]);
        let kernel = kernels[usize::from(a.by_four([m, k]) && b.by_four([k, n]))];
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
        let [x, y] = tiles(*tile).map(|n| n as u32);
        let rooms = [a.room, b.room, plus, c.room];
        maker.call(kernel, &all, &rooms, [x, y, z as u32]);
    }
}
