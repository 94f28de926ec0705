//! docs/concepts/cause.md: what a head gives for one text, put into another; and what heads of the default run look
//! at and move while they learn.

use crate::docs::examples::{HEADS, qkv};
use llm_core::{Result, Tensor};
use llm_variant_mha::causal_attention_heads;
use serde_json::Value;

const D: usize = 2;
/// What both heads give at the last position, side by side.
pub type Given = [f32; 2 * D];

/// q, k and v of the walkthrough's text, and of its twin: the word at position 0 has other values.
pub fn texts() -> [Tensor; 2] {
    let mut twin = HEADS;
    twin.iter_mut().for_each(|[_, _, v]| v[0].swap(0, 1));
    [HEADS, twin].map(|heads| Tensor::from_vec(&[1, 3, 12], qkv(&heads)).unwrap())
}

/// Both heads at the last position of a text.
pub fn heads(qkv: &Tensor) -> Result<Given> {
    let y = causal_attention_heads(qkv, 2, &[], None)?; // [1, 3, 4]
    Ok(std::array::from_fn(|c| y.data()[8 + c]))
}

/// `into` with head h as it is in `from`.
pub fn patched(into: &Given, from: &Given, h: usize) -> Given {
    let mut heads = *into;
    let columns = h * D..(h + 1) * D; // those of head h, before the projection
    heads[columns.clone()].copy_from_slice(&from[columns]);
    heads
}

/// The score of the text's name less that of the twin's: each head says the one in its first column, the other in
/// its second, and the projection adds up.
pub fn d(heads: &Given) -> f32 {
    heads[0] + heads[2] - heads[1] - heads[3]
}

/// The shares of a head, put in and taken out.
pub fn shares(clean: &Given, twin: &Given, h: usize) -> [f32; 2] {
    let all = d(clean) - d(twin);
    [
        (d(clean) - d(&patched(clean, twin, h))) / all, // put in
        (d(&patched(twin, clean, h)) - d(twin)) / all,  // taken out
    ]
}

/// A moment of the default run: the step, for heads 1.0 to 1.3 the weight on the changed letters in percent, and
/// what they move in nats.
pub fn moments() -> Vec<[f64; 9]> {
    let measured: Value =
        serde_json::from_str(include_str!("../../../benches/measured.json")).unwrap();
    let rows = measured["causes"]["moments"].as_array().unwrap().iter();
    rows.map(|row| std::array::from_fn(|i| row[i].as_f64().unwrap())).collect()
}

#[test]
fn behind_the_heads_stands_a_sum_so_the_shares_are_those_of_a_sum() {
    let [clean, twin] = texts().map(|text| heads(&text).unwrap());
    let [first, second] = [0, 1].map(|h| shares(&clean, &twin, h));
    let taken_out = [first[1], second[1]].map(f64::from);
    workspace_tests::assert_close("put in", &[first[0], second[0]], &taken_out, 1e-6);
    workspace_tests::assert_close("both heads", &[first[0] + second[0]], &[1.0], 1e-6);
    // The walkthrough's own numbers.
    workspace_tests::assert_close(
        "att[2]",
        &clean,
        &[0.891617, 0.554192, 7.179731, 2.820269],
        1e-6,
    );
}
