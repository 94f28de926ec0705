//! In which order a product adds up. Two kinds of processor have a unit for bf16, and each fixes an order of its own.

use crate::base::choices;

/// An order of the sum of an element of C over neighbouring pairs of its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// One chain: the second of each pair first ([`add_pair`](super::number::add_pair)). What processors do
    /// that have `avx512bf16`, and what is emulated where there is no unit.
    Pairs,
    /// Groups of 32 terms, in each the first of all pairs and the second of all pairs for themselves
    /// ([`add_tile`](super::number::add_tile)). What processors do that have AMX, Intel's since 2023.
    Tiles,
}

choices!(Order, Pairs = "pairs", Tiles = "tiles");
