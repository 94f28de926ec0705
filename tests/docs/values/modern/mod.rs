//! Values of docs/variants/modern/, a file for each page; the pages quote lines of these files.

pub mod family;
mod gates;
pub mod groups;
mod measured;
mod ngrams;
mod qk_norm;
mod rms_norm;
pub mod rotary;
mod soft_cap;
pub mod windows;

use super::Values;

pub fn add(values: &mut Values) {
    rms_norm::add(values);
    gates::add(values);
    rotary::add(values);
    groups::add(values);
    windows::add(values);
    qk_norm::add(values);
    soft_cap::add(values);
    family::add(values);
    measured::add(values);
    ngrams::add(values);
    values.insert("modern.papers", vec![22.0]); // a number in a title
}

fn whole(numbers: &[usize]) -> Vec<f64> {
    numbers.iter().map(|&n| n as f64).collect()
}
