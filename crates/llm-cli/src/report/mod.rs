//! `report.html`: one self-contained page about a run, a model or a comparison.

mod data;

pub use data::{
    AttentionMaps, Bilingual, Compared, Comparison, Curves, Fact, HeadRow, Page, Pruned, Pruning,
    Sample,
};
