//! What the code computes for every `check` in the pages.

mod adapters;
mod cause;
mod concept_heads;
mod concepts;
mod course;
mod cutting;
mod exercises;
mod from_one_layer;
mod from_zero;
mod gguf;
mod gpu;
mod hand;
mod head;
mod heads_by_hand;
mod inside;
mod many;
pub mod modern;
mod pages;
mod performance;
mod precision;
mod python;
mod readme;
mod rewards;
mod size_and_time;
mod speedrun;
mod teaching;
mod trace;
mod walkthrough;
pub mod why;
mod writing;

use llm_core::Tensor;
use std::collections::BTreeMap;

pub type Values = BTreeMap<&'static str, Vec<f64>>;

pub fn all() -> Values {
    let mut values = Values::new();
    walkthrough::add(&mut values);
    trace::add(&mut values);
    pages::add(&mut values);
    performance::add(&mut values);
    precision::add(&mut values);
    python::add(&mut values);
    readme::add(&mut values);
    writing::add(&mut values);
    many::add(&mut values);
    inside::add(&mut values);
    hand::add(&mut values);
    course::add(&mut values);
    why::add(&mut values);
    exercises::add(&mut values);
    cutting::add(&mut values);
    heads_by_hand::add(&mut values);
    adapters::add(&mut values);
    rewards::add(&mut values);
    cause::add(&mut values);
    concepts::add(&mut values);
    from_zero::add(&mut values);
    from_one_layer::add(&mut values);
    gguf::add(&mut values);
    gpu::add(&mut values);
    concept_heads::add(&mut values);
    modern::add(&mut values);
    size_and_time::add(&mut values);
    speedrun::add(&mut values);
    teaching::add(&mut values);
    values
}

/// A tensor whose elements are their own offsets.
fn offsets(shape: &[usize]) -> Tensor {
    let n = shape.iter().product::<usize>();
    Tensor::from_vec(shape, (0..n).map(|i| i as f32).collect()).unwrap()
}

/// Where an element lies, found in a tensor, not by formula.
fn offset(shape: &[usize], index: &[usize]) -> f64 {
    f64::from(offsets(shape).view()[index])
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| v.into()).collect()
}

/// Numbers as the pages print them, whole and computed ones mixed.
macro_rules! list {
    ($($value:expr),* $(,)?) => { vec![$(f64::from($value)),*] };
}
use list;
