//! What an attention may have beyond multi-head attention, as far as a walk needs to know it.

use llm_core::kernels::attention::MASKED;
use llm_core::model::Parameters;
use llm_core::{Attention, Config, Error, Result, Tensor, message};
use serde::Serialize;

/// How an attention's heads lie beside each other, and what becomes of queries and keys. The default
/// is multi-head attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HeadLayout {
    /// G: heads of keys and values; none: as many as of queries.
    pub kv_heads: Option<usize>,
    /// D; none: C/H.
    pub head_dim: Option<usize>,
    /// θ of rotary positions; none: nothing is turned.
    pub theta: Option<f64>,
    /// R: channels of a head that are turned; none: all.
    pub rotary_dim: Option<usize>,
    /// Positions that a query sees, its own among them; none: all up to its own.
    pub window: Option<usize>,
    /// Are queries and keys normed?
    pub qk_norm: bool,
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

/// The first pair of channels of a query and of a key: its frequency is θ^0 = 1.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rotation {
    /// θ.
    pub theta: f64,
    /// R.
    pub width: usize,
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

impl HeadLayout {
    /// R of heads of D channels.
    pub(super) fn width(&self, head_dim: usize) -> usize {
        self.rotary_dim.unwrap_or(head_dim)
    }

    /// Every row of `head_dim` numbers normed and turned, as far as the layout says; `norm` has the gain and ε; `rows` of a
    /// position stand beside each other. Gives the rows before they are turned, and after.
    pub(super) fn prepared(
        &self,
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
        let Some(theta) = self.theta else { return [normed.clone(), normed] };
        let (mut after, width) = (normed.clone(), self.width(head_dim));
        for (n, row) in after.chunks_exact_mut(head_dim).enumerate() {
            let position = n / rows % seq_len;
            for i in 0..width / 2 {
                let angle = position as f64 * theta.powf(-2.0 * i as f64 / width as f64);
                let pair = [row[i], row[i + width / 2]].map(f64::from);
                [row[i], row[i + width / 2]] = turned(pair, angle).map(|x| x as f32);
            }
        }
        [normed, after]
    }

    /// Is the position j hidden from i?
    pub(super) fn hides(&self, i: usize, j: usize) -> bool {
        j > i || self.window.is_some_and(|window| j + window <= i)
    }

    /// What is stored of a score.
    pub(super) fn stored(&self, i: usize, j: usize, scaled: f64) -> f64 {
        if self.hides(i, j) { f64::from(MASKED) } else { scaled }
    }

    /// A walk is that of `w_qkv` and `w_proj`, with or without biases and gains.
    pub(super) fn check(&self, attention: &dyn Attention, config: &Config) -> Result<()> {
        let (c, h) = (config.d_model, attention.spec().n_heads);
        let d = self.head_dim.unwrap_or(c / h.max(1));
        let g = self.kv_heads.unwrap_or(h);
        let known = attention.parameters(config).iter().all(|(name, p)| match name.as_str() {
            "w_qkv" => p.shape == [c, (h + 2 * g) * d],
            "w_proj" => p.shape == [h * d, c],
            "q_g" | "k_g" => self.qk_norm && p.shape == [d],
            name => ["b_qkv", "b_proj"].contains(&name),
        });
        if known && g > 0 && h.is_multiple_of(g) {
            return Ok(());
        }
        let name = attention.spec().name;
        let reason =
            message!("'{}' has tensors of its own, no walk is known", name.escape_default());
        Err(Error::config("attention", reason))
    }
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
