//! A tile's sizes, and how the words of A lie.

/// Columns of a tile: two vectors.
pub(super) const NR: usize = 32;
/// Words of a vector.
pub(super) const WIDE: usize = 16;

/// Words of A for some rows and a depth: word q of row r is at `r·row + q·step`.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub row: usize,
    pub step: usize,
}
