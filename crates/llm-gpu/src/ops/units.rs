//! Products by a device's matrix units.

use super::matmul::Tiles;
use crate::plan::Kernel;

/// Matrix units of a device: edge × edge numbers of f16 at a time, summed in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Rows and columns of all three matrices.
    pub edge: usize,
    /// The most threads that work on one together.
    pub subgroup: usize,
}

macro_rules! text {
    ($edge:literal, $n:literal, $depth:literal, $subgroup:literal, $reads:literal) => {
        Kernel {
            entry: "product",
            text: &[
                concat!(
                    "enable f16;\nenable wgpu_cooperative_matrix;\nconst UNIT: u32 = ",
                    $edge,
                    "u; const N: u32 = ",
                    $n,
                    "u; const DEPTH: u32 = ",
                    $depth,
                    "u; const SUBGROUP: u32 = ",
                    $subgroup,
                    "u;\nalias Left = coop_mat",
                    $edge,
                    "x",
                    $edge,
                    "<f16, A>; alias Right = coop_mat",
                    $edge,
                    "x",
                    $edge,
                    "<f16, B>; alias Sums = coop_mat",
                    $edge,
                    "x",
                    $edge,
                    "<f32, C>;\n",
                ),
                include_str!("product.wgsl"),
                include_str!($reads),
                include_str!("units.wgsl"),
            ],
        }
    };
}

macro_rules! texts {
    ($($edge:literal, $subgroup:literal: $($tile:literal = $n:literal, $depth:literal)|+;)+) => {
        &[$((
            Units { edge: $edge, subgroup: $subgroup },
            &[$((
                $tile,
                [
                    text!($edge, $n, $depth, $subgroup, "by_one.wgsl"),
                    text!($edge, $n, $depth, $subgroup, "by_four.wgsl"),
                ],
            )),+],
        )),+]
    };
}

const TEXTS: &[(Units, &Tiles)] = texts! {
    16, 16: 128 = 4, 16 | 64 = 2, 32;
    16, 32: 128 = 4, 16 | 64 = 2, 32;
    16, 64: 128 = 4, 16 | 64 = 2, 32;
    8, 8: 64 = 4, 32;
    8, 16: 64 = 4, 32;
    8, 32: 64 = 4, 32;
    8, 64: 64 = 4, 32;
};

impl Units {
    /// Whether there are kernels for them.
    #[cfg(feature = "native")]
    pub(crate) fn have_kernels(self) -> bool {
        tiles(self).is_some()
    }
}

/// The kernels for such units.
pub(super) fn tiles(units: Units) -> Option<&'static Tiles> {
    TEXTS.iter().find(|(of, _)| *of == units).map(|(_, tiles)| *tiles)
}
