//! Grouped-query attention: H heads of queries share G heads of keys and values.
//!
//! ```text
//! q        = x·W_q + b_q                       [B, T, C], H heads of D = C/H channels
//! k, v     = x·W_kv + b_kv                     [B, T, G·D] each, G heads
//! Y_h[i]   = softmax(q_h[i]·k_gᵀ / √D)·v_g     over j ≤ i; head h reads group g = h·G/H
//! out      = concat_h(Y_h)·W_proj + b_proj
//! ```
//!
//! Reference: Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models".

use super::rotary::{THETA, rotate, rotate_row};
use llm_core::kernels::attention::{attend_one, head_view, head_views};
use llm_core::model::{Context, Decode, Param, ParamList, Parameters, Rotary};
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, ops};

/// H heads of queries, G of keys and values.
#[derive(Clone, Debug)]
pub struct Grouped {
    n_heads: usize,
    n_kv_heads: usize,
    /// Queries and keys are turned by their positions.
    rotary: bool,
}

impl Grouped {
    /// The name in checkpoints: must be unique.
    pub const NAME: &'static str = "grouped-query";

    /// H divides C, G divides H.
    pub fn new(n_heads: usize, n_kv_heads: usize) -> Grouped {
        Grouped { n_heads, n_kv_heads, rotary: false }
    }

    /// This attention with rotary positions.
    pub fn with_rotary(self) -> Grouped {
        Grouped { rotary: true, ..self }
    }

    /// Makes it again from what a checkpoint says.
    pub fn from_spec(spec: &AttentionSpec) -> Result<Grouped> {
        let rotary = spec.rotary.is_some();
        let made = Grouped { n_heads: spec.n_heads, n_kv_heads: spec.kv_heads(), rotary };
        // Whatever else it says would change what is computed.
        match made.spec() == *spec {
            true => Ok(made),
            false => Err(Error::config("attention", format!("no {} is {spec:?}", Grouped::NAME))),
        }
    }

    /// The group that head h reads.
    fn group(&self, h: usize) -> usize {
        h * self.n_kv_heads / self.n_heads
    }
}

/// The parameters of a block, by their names.
fn named(p: &Parameters) -> Result<[&Tensor; 6]> {
    p.named(["w_q", "b_q", "w_kv", "b_kv", "w_proj", "b_proj"])
}

impl Attention for Grouped {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec {
            kv_heads: (self.n_kv_heads != self.n_heads).then_some(self.n_kv_heads),
            rotary: self.rotary.then(|| Rotary::new(THETA)),
            ..AttentionSpec::new(Grouped::NAME, self.n_heads)
        }
    }

    fn parameters(&self, config: &Config) -> ParamList {
        let (c, kv) = (config.d_model, self.cache_row(config));
        vec![
            ("w_q".into(), Param::weight([c, c]).sensitive()),
            ("b_q".into(), Param::bias(c)),
            ("w_kv".into(), Param::weight([c, kv]).sensitive()),
            ("b_kv".into(), Param::bias(kv)),
            ("w_proj".into(), Param::into_stream([c, c])),
            ("b_proj".into(), Param::bias(c)),
        ]
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let [w_q, b_q, w_kv, b_kv, w_proj, b_proj] = named(p)?;
        let [b, t, c] = x.dims("grouped-query", "x of shape [B, T, C]")?;
        let d = c / self.n_heads;
        let q = ops::linear_lastdim(x, w_q, Some(b_q))?; // [B, T, C]
        let kv = ops::linear_lastdim(x, w_kv, Some(b_kv))?; // [B, T, 2·G·D]
        let masks = ctx.weight_masks(self.n_heads * t); // of dropout, if there is any
        let turned = |x: Tensor| if self.rotary { rotate(&x) } else { Ok(x) };
        let [mut qs, mut ks, mut vs, mut ys] = [const { Vec::new() }; 4];
        for h in 0..self.n_heads {
            let g = self.group(h);
            let q = turned(ops::slice_lastdim(&q, h * d, d)?)?; // [B, T, D]
            let k = turned(ops::slice_lastdim(&kv, g * d, d)?)?;
            let v = ops::slice_lastdim(&kv, (self.n_kv_heads + g) * d, d)?;
            // One head over D channels is the core's op; heads do not share masks.
            let qkv = ops::concat(&[&q, &k, &v], 2)?; // [B, T, 3D]
            ys.push(ops::causal_attention_1h(&qkv, masks.map(|masks| masks.skip(h * b * t)))?);
            qs.push(q);
            ks.push(k);
            vs.push(v);
        }
        let mut y = ops::concat(&ys.iter().collect::<Vec<_>>(), 2)?; // [B, T, C]
        if ctx.probe.is_some() {
            let all: Vec<_> = qs.iter().chain(&ks).chain(&vs).collect();
            y = ctx.show(&ops::concat(&all, 2)?, y, self.n_heads)?; // as if nothing were shared
        }
        ops::linear_lastdim(&y, w_proj, Some(b_proj)) // [B, T, C]
    }

    /// A key and a value for each group: 2·G·D numbers in place of 2·C.
    fn cache_row(&self, config: &Config) -> usize {
        self.spec().cache_row(config.d_model)
    }

    fn decode(&self, mut step: Decode<'_>) -> Result<()> {
        let [w_q, b_q, w_kv, b_kv, w_proj, b_proj] = named(step.p)?;
        let (c, groups) = (step.d_model, self.n_kv_heads);
        let (d, row) = (c / self.n_heads, 2 * groups * (c / self.n_heads));
        let mut q = step.linear(w_q, Some(b_q))?; // [n, C]
        let mut kv = step.linear(w_kv, Some(b_kv))?; // [n, 2·G·D]
        let mut y = vec![0.0; q.len()];
        step.each([&mut q, &mut kv, &mut y], |text, [q, kv, y]| {
            let before = text.before;
            if self.rotary {
                let rows = q.chunks_exact_mut(c).zip(kv.chunks_exact_mut(row));
                for (i, (q, kv)) in rows.enumerate() {
                    let heads = q.chunks_exact_mut(d).chain(kv[..row / 2].chunks_exact_mut(d));
                    heads.for_each(|x| rotate_row(x, before + i));
                }
            }
            let kept = text.keep(kv)?; // [before + new, 2·G·D]
            for (i, (q, y)) in q.chunks_exact(c).zip(y.chunks_exact_mut(c)).enumerate() {
                let so_far = before + i + 1;
                let parts = head_views(&kept[..so_far * row], [1, so_far, 2 * groups, d]);
                let mut scores = vec![0.0; so_far];
                for (h, (q, y)) in q.chunks_exact(d).zip(y.chunks_exact_mut(d)).enumerate() {
                    let group = self.group(h);
                    let [k, v] = [0, groups].map(|first| head_view(&parts, 0, first + group));
                    attend_one(q, k, v, 1.0 / (d as f32).sqrt(), &mut scores, y);
                }
            }
            Ok(())
        })?;
        step.add_linear(&y, w_proj, Some(b_proj))
    }
}
