//! What an attention may have beyond multi-head attention, as far as a walk needs to know it.

use crate::model::same_tensors;
use llm_core::kernels::attention::MASKED;
use llm_core::model::{Parameters, Rotary};
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, message};
use serde::Serialize;

/// What of a description a walk shows beyond multi-head attention. The default is that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HeadLayout {
    /// G, where it is not H.
    pub kv_heads: Option<usize>,
    /// D, where it is given.
    pub head_dim: Option<usize>,
    /// θ of rotary positions.
    pub theta: Option<f64>,
    /// R, where it is given.
    pub rotary_dim: Option<usize>,
    /// Positions that a query reads, where it is not all up to its own.
    pub window: Option<usize>,
    /// Whether queries and keys are normed.
    pub qk_norm: bool,
}

impl From<&AttentionSpec> for HeadLayout {
    fn from(spec: &AttentionSpec) -> HeadLayout {
        HeadLayout {
            kv_heads: spec.kv_heads.filter(|g| *g != spec.n_heads),
            head_dim: spec.head_dim,
            theta: spec.rotary.map(|rotary| rotary.theta),
            rotary_dim: spec.rotary.and_then(|rotary| rotary.width),
            window: spec.window,
            qk_norm: spec.qk_norm,
        }
    }
}

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

/// The first pair of channels of a query and of a key: its frequency is θ^0 = 1, unless it is scaled.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rotation {
    /// θ.
    pub theta: f64,
    /// R.
    pub width: usize,
    /// The pair's frequency, where frequencies are scaled for longer texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled: Option<f64>,
    /// The two channels, R/2 apart.
    pub pair: [usize; 2],
    /// The query's.
    pub query: Turn,
    /// The key's.
    pub key: Turn,
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
    j > i || window.is_some_and(|window| j + window <= i)
}

/// What is stored of a score.
pub(super) fn stored(window: Option<usize>, i: usize, j: usize, scaled: f64) -> f64 {
    if hides(window, i, j) { f64::from(MASKED) } else { scaled }
}

/// Refuses an attention with tensors of its own: a walk is that of the description's.
pub(super) fn check(attention: &dyn Attention, config: &Config) -> Result<()> {
    let spec = attention.spec();
    let own = attention.parameters(config);
    if spec.other.is_empty() && same_tensors(&own, &spec.parameters(config)) {
        return Ok(());
    }
    let name = spec.name.escape_default();
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
