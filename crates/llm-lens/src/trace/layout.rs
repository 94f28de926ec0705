//! What an attention may have beyond multi-head attention, as far as a walk needs to know it.

use crate::model::same_tensors;
use llm_core::kernels::attention::MASKED;
use llm_core::model::{Parameters, Rotary};
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, message};
use serde::Serialize;

/// Settings that a walk explains; an attention with others is refused.
const EXPLAINED: &[&str] = &[
    "kv_heads",
    "head_dim",
    "rotary",
    "window",
    "soft_cap",
    "qk_norm",
    "qkv_bias",
    "proj_bias",
    "head_mask",
];

/// A pair of channels of one row, turned.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn {
    /// The row's position.
    pub position: usize,
    /// Position · frequency, in radians.
    pub angle: f64,
    /// The two numbers before.
    pub before: [f64; 2],
    /// a·cos − b·sin and a·sin + b·cos.
    pub after: [f64; 2],
}

/// How the first pair of channels of a query and of a key is turned: its frequency is θ^0 = 1, unless it is
/// scaled.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rotation {
    /// θ: the base of the frequencies.
    pub theta: f64,
    /// R: channels that are turned.
    pub width: usize,
    /// The pair's frequency, where frequencies are scaled for longer texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled: Option<f64>,
    /// The two channels, R/2 apart.
    pub pair: [usize; 2],
    /// The query's pair.
    pub query: Turn,
    /// The key's pair.
    pub key: Turn,
}

impl Rotation {
    /// The first pair of the query's row at position i and of the key's at position j, `[row, its first
    /// number, position]` each, before they are turned.
    pub(super) fn new(rotary: &Rotary, head_dim: usize, rows: [(&[f32], usize, usize); 2]) -> Self {
        let (theta, frequencies) = (rotary.theta, rotary.frequencies(head_dim));
        let (width, first) = (2 * frequencies.len(), frequencies.first().copied());
        let scaled = first.filter(|_| rotary.scaling.is_some());
        let pair = [0, width / 2];
        let [query, key] = rows.map(|(row, at, position)| {
            let before = pair.map(|i| f64::from(row[at + i]));
            let angle = position as f64 * first.unwrap_or(1.0);
            Turn { position, angle, before, after: turned(before, angle) }
        });
        Rotation { theta, width, scaled, pair, query, key }
    }
}

/// a and b turned by an angle.
pub(super) fn turned([a, b]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [a * cos - b * sin, a * sin + b * cos]
}

/// Every row of `head_dim` numbers normed and rotated, as far as the description says; `norm` has the
/// gain and ε; `rows` of a position stand next to each other. Gives the rows before the rotation, and
/// after.
pub(super) fn prepared(
    rotary: Option<&Rotary>,
    x: &[f32],
    [seq_len, rows, head_dim]: [usize; 3],
    norm: Option<(&Tensor, f32)>,
) -> [Vec<f32>; 2] {
    let mut normed = x.to_vec();
    if let Some((gain, eps)) = norm {
        for row in normed.chunks_exact_mut(head_dim) {
            let squares: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
            let root = (squares / head_dim as f64 + f64::from(eps)).sqrt();
            let by = |(x, g): (&mut f32, &f32)| *x = (f64::from(*x) / root) as f32 * g;
            row.iter_mut().zip(gain.data()).for_each(by);
        }
    }
    let Some(rotary) = rotary else { return [normed.clone(), normed] };
    let (mut after, frequencies) = (normed.clone(), rotary.frequencies(head_dim));
    for (n, row) in after.chunks_exact_mut(head_dim).enumerate() {
        let position = n / rows % seq_len;
        for (i, frequency) in frequencies.iter().enumerate() {
            let pair = [i, i + frequencies.len()];
            let rotated = turned(pair.map(|c| f64::from(row[c])), position as f64 * frequency);
            [row[pair[0]], row[pair[1]]] = rotated.map(|x| x as f32);
        }
    }
    [normed, after]
}

/// Whether position j is hidden from i.
pub(super) fn hides(window: Option<usize>, i: usize, j: usize) -> bool {
    j > i || window.is_some_and(|window| j.saturating_add(window) <= i)
}

/// c·tanh(s/c) with a soft cap c.
pub(super) fn capped(spec: &AttentionSpec, scaled: f64) -> f64 {
    spec.soft_cap.map_or(scaled, |c| c * (scaled / c).tanh())
}

/// What is stored of a score.
pub(super) fn stored(spec: &AttentionSpec, i: usize, j: usize, scaled: f64) -> f64 {
    if hides(spec.window, i, j) { f64::from(MASKED) } else { capped(spec, scaled) }
}

/// Refuses an attention that a walk would not explain: one with a setting that is not known here, or with
/// tensors of its own.
pub(super) fn check(attention: &dyn Attention, config: &Config) -> Result<()> {
    let spec = attention.spec();
    let name = spec.name.escape_default();
    if let Err(key) = spec.only(EXPLAINED) {
        let reason = message!("'{}' has '{}', of which no walk is known", name, key);
        return Err(Error::config("attention", reason));
    }
    if same_tensors(&attention.parameters(config), &spec.parameters(config)) {
        return Ok(());
    }
    Err(Error::config("attention", message!("'{}' has tensors of its own, no walk is known", name)))
}

/// A layer's own parameters; a bias that is not there is zeros.
pub(super) fn own(p: &Parameters) -> Result<([Tensor; 4], Option<[Tensor; 2]>)> {
    let [w_qkv, w_proj] = p.named(["w_qkv", "w_proj"])?;
    let bias = |name: &str, w: &Tensor| match p.get(name) {
        Some(bias) => Ok(bias.detach()),
        None => {
            let width = w.shape().last().copied().unwrap_or(0);
            Tensor::from_vec(&[width], vec![0.0; width])
        }
    };
    let weights = [w_qkv.detach(), bias("b_qkv", w_qkv)?, w_proj.detach(), bias("b_proj", w_proj)?];
    let gains = p.named(["q_g", "k_g"]).ok().map(|gains| gains.map(Tensor::detach));
    Ok((weights, gains))
}
