//! Values of docs/variants/modern/soft_cap.md.

use super::whole;
use crate::docs::values::{Values, list};
use llm_core::kernels::attention::{Scoring, probs};
use llm_core::kernels::gemm::matrix;
use llm_core::{Config, Result, TinyGPT};
use llm_variant_modern::Modern;
use std::sync::Arc;

const SCORES: [f32; 4] = [0.0, 1.0, 2.0, 4.0];

/// The last query's shares of keys whose scores are these.
fn shares(cap: Option<f32>) -> Vec<f32> {
    let scoring = Scoring { soft_cap: cap, ..Scoring::from(1.0) };
    probs(matrix(&[1.0; 4], 4, 1), matrix(&SCORES, 4, 1), scoring).split_off(12)
}

fn capped(s: f64, c: f64) -> f64 {
    c * (s / c).tanh()
}

fn slope(s: f64, c: f64) -> f64 {
    1.0 - (s / c).tanh().powi(2)
}

pub fn add(values: &mut Values) {
    let (plain, bent) = (shares(None), shares(Some(2.0)));
    let rows = (0..4).flat_map(|j| {
        let s = f64::from(SCORES[j]);
        [s, capped(s, 2.0), slope(s, 2.0), plain[j].into(), bent[j].into()]
    });
    values.insert("cap.hand", rows.collect());
    let fifty = [2.0, 10.0, 50.0, 200.0].map(|s| [s, capped(s, 50.0)]);
    values.insert("cap.fifty", fifty.concat());
    values.insert("cap.gemma", whole(&[2, 50])); // the 2 of its name
    values.insert("cap.both", whole(&[2, 50, 30]));
    values.insert("cap.positions", whole(&[1024]));
    let most = |c: f64| [c, c.exp() / (c.exp() + 1023.0 * (-c).exp())];
    values.insert("cap.bound", [1.0, 3.0, 5.0, 10.0].map(most).concat());
    values.insert("cap.ex_given", list![2, 6]);
    values.insert("cap.ex", vec![2.0, 3.0, capped(6.0, 2.0), slope(6.0, 2.0)]);
}

#[test]
fn a_model_with_a_soft_cap() -> Result<()> {
    let config = Config::gpt2(256, 64, 64, 2);
    let attention = Modern::new(4).with_soft_cap(50.0);
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    assert_eq!(model.attention().spec().soft_cap, Some(50.0));
    Ok(())
}
