//! The contract of an attention, held by every one here and broken on purpose: an ALiBi attention with a
//! sink, from ops alone, in which faults are planted.

use crate::docs::lessons::grouped_queries::attention::Grouped;
use crate::docs::lessons::own_attention::Average;
use llm_core::model::{
    Clause, Context, Decode, Mlp, Norm, Parameters, Position, Positions, Rotary, SingleHead,
    check_contract,
};
use llm_core::ndarray::Axis;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, TinyGPT, ops};
use llm_lens::attention_maps;
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::sync::Arc;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The description has a key of a field of core's.
    Description,
    /// A position too few.
    Shape,
    /// Scores of later positions are not hidden.
    Future,
    /// The slope depends on the length of the text.
    Length,
    /// A new position does not see the sink.
    Decode,
    /// Dropout is forgotten.
    Dropout,
    /// Shows softmax attention, which it is not.
    Maps,
    /// Shows outputs of the heads that are others.
    Outputs,
    /// Projects what the heads gave, whatever a probe puts in its place.
    Patch,
    /// Has a bias that it does not add.
    Unread,
    /// Values give no gradient.
    Gradient,
}

/// Heads whose scores fall with the distance, by a slope each, beside a sink: a score of 0 that takes a
/// part of every row and gives nothing.
///
/// ```text
/// S_h[i,j] = q_h[i]·k_h[j]/√D − (i − j)·2^(−h−1)     P = e^S / (1 + Σⱼ e^S)
/// ```
#[derive(Clone, Copy, Debug)]
struct AlibiWithSink(usize, Fault);

fn slope(h: usize) -> f32 {
    0.5f32.powi(h as i32 + 1)
}

impl Attention for AlibiWithSink {
    fn spec(&self) -> AttentionSpec {
        let mut spec = AttentionSpec::new("alibi-sink", self.0);
        if self.1 == Fault::Description {
            spec.other.insert("window", llm_core::settings::Value::Whole(3)).unwrap();
        }
        spec
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let AlibiWithSink(h, fault) = *self;
        let [b, t, c] = x.dims("alibi", "x of shape [B, T, C]")?;
        let d = c / h;
        let [w_qkv, b_qkv, w_proj, b_proj] = p.named(["w_qkv", "b_qkv", "w_proj", "b_proj"])?;
        let qkv = ops::linear_lastdim(x, w_qkv, (fault != Fault::Unread).then_some(b_qkv))?;
        let heads = ops::transpose(&ops::reshape(&qkv, &[b, t, 3 * h, d])?, 1, 2)?; // [B, 3H, T, D]
        let part = |n: usize| {
            ops::reshape(&ops::slice(&heads, 1, n * h, h)?, &[b * h, t, d]) // [B·H, T, D]
        };
        let (q, k, mut v) = (part(0)?, part(1)?, part(2)?);
        if fault == Fault::Gradient {
            v = v.detach();
        }
        let scores =
            ops::mul_scalar(&ops::bmm(&q, &ops::transpose(&k, 1, 2)?)?, 1.0 / (d as f32).sqrt())?;
        let bias = |n: usize| {
            let (h, i, j) = (n / (t * t) % h, n / t % t, n % t);
            let slope = if fault == Fault::Length { slope(h) * t as f32 } else { slope(h) };
            match i.checked_sub(j) {
                Some(distance) => -slope * distance as f32,
                None if fault == Fault::Future => 0.0,
                None => -1e9,
            }
        };
        let bias = Tensor::from_vec(&[b * h, t, t], (0..b * h * t * t).map(bias).collect())?;
        let sink = Tensor::from_vec(&[b * h, t, 1], vec![0.0; b * h * t])?;
        let scores = ops::concat(&[&ops::add(&scores, &bias)?, &sink], 2)?; // [B·H, T, T + 1]
        let weights = ops::slice_lastdim(&ops::softmax_lastdim(&scores)?, 0, t)?; // [B·H, T, T]
        let masks = ctx.weight_masks(h * t).filter(|_| fault != Fault::Dropout);
        let y = ops::bmm(&ops::dropout(&weights, masks)?, &v)?; // [B·H, T, D]
        let y = ops::transpose(&ops::reshape(&y, &[b, h, t, d])?, 1, 2)?;
        let y = ops::reshape(&y, &[b, t, c])?;
        let maps = || ops::reshape(&weights, &[b, h, t, t]);
        let y = match fault {
            Fault::Maps => ctx.show(&qkv, y, h)?,
            Fault::Outputs => {
                ctx.show_weights(&maps()?, ops::mul_scalar(&y, 2.0)?)?;
                y
            }
            Fault::Patch => {
                ctx.show_weights(&maps()?, y.clone())?;
                y
            }
            _ => ctx.show_weights(&maps()?, y)?,
        };
        let out = ops::linear_lastdim(&y, w_proj, Some(b_proj))?;
        if fault == Fault::Shape { ops::slice(&out, 1, 0, 1) } else { Ok(out) }
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.spec().cache_row(config.d_model)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        let AlibiWithSink(n_heads, fault) = *self;
        step.with_keys_and_values(n_heads, |Position { q, keys, values, y, .. }| {
            let (d, i) = (q.len() / n_heads, keys.nrows() - 1);
            for h in 0..n_heads {
                let columns = h * d..(h + 1) * d;
                let score = |j: usize| {
                    let k = keys.index_axis(Axis(0), j);
                    let dot: f32 = columns.clone().map(|c| q[c] * k[c]).sum();
                    (dot / (d as f32).sqrt() - slope(h) * (i - j) as f32).exp()
                };
                let scores: Vec<f32> = (0..=i).map(score).collect();
                let sink = if fault == Fault::Decode { 0.0 } else { 1.0 };
                let sum = scores.iter().sum::<f32>() + sink;
                for c in columns {
                    y[c] = scores.iter().enumerate().map(|(j, s)| s / sum * values[[j, c]]).sum();
                }
            }
        })
    }
}

fn config() -> Config {
    Config::new(256, 16, 12, 2)
}

#[test]
fn every_attention_here_keeps_the_contract() {
    let modern =
        Config { norm: Norm::Rms, mlp: Mlp::SwiGlu, positions: Positions::Rotary, ..config() };
    let rotary = || Modern::grouped(6, 2).with_head_dim(4).with_rotary(Rotary::partial(100.0, 2));
    let attentions: [(Arc<dyn Attention>, Config); 12] = [
        (Arc::new(SingleHead), config()),
        (Arc::new(MultiHead::new(3)), config()),
        (Arc::new(MultiHead::with_head_mask(2, vec![true, false, true, true])), config()),
        (Arc::new(Modern::new(4)), config()),
        (Arc::new(Modern::grouped(4, 2).with_window(3).with_biases(true, false)), config()),
        (Arc::new(Modern::grouped(4, 2).with_window(3).with_soft_cap(0.2)), config()),
        (Arc::new(rotary().with_qk_norm().without_biases()), modern.clone()),
        (Arc::new(rotary().with_window(2).with_head_mask(vec![true; 12])), modern.clone()),
        (Arc::new(Grouped::new(4, 2)), Config { d_model: 16, ..config() }),
        (Arc::new(Grouped::new(4, 2).with_rotary()), Config { d_model: 16, ..modern }),
        (Arc::new(Average), config()),
        (Arc::new(AlibiWithSink(3, Fault::None)), config()),
    ];
    for (attention, config) in attentions {
        assert_eq!(check_contract(attention.as_ref(), &config), [], "{attention:?}");
    }
}

#[test]
fn every_fault_breaks_its_clause() {
    for (fault, clause) in [
        (Fault::Description, Clause::Description),
        (Fault::Shape, Clause::Shapes),
        (Fault::Future, Clause::Causality),
        (Fault::Length, Clause::Causality),
        (Fault::Decode, Clause::Decode),
        (Fault::Dropout, Clause::Dropout),
        (Fault::Maps, Clause::Probe),
        (Fault::Outputs, Clause::Probe),
        (Fault::Patch, Clause::Probe),
        (Fault::Unread, Clause::Gradients),
        (Fault::Gradient, Clause::Gradients),
    ] {
        let broken = check_contract(&AlibiWithSink(3, fault), &config());
        assert!(broken.iter().any(|breach| breach.clause == clause), "{fault:?}: {broken:?}");
    }
    let misfit = check_contract(&MultiHead::new(5), &config());
    assert!(misfit[0].to_string().starts_with("Description: heads: 5 heads do not divide"));
}

/// The map is that of the weights that were used: a sink and a slope are in it; one of softmax without
/// them is refused.
#[test]
fn maps_are_those_of_the_weights_that_were_used() {
    let model = |fault| {
        let attention = Arc::new(AlibiWithSink(3, fault));
        TinyGPT::with_attention(config(), attention, 1).unwrap()
    };
    let maps = attention_maps(&model(Fault::None), &[1, 2, 3, 4, 5], 5).unwrap();
    for map in maps.layers.iter().flatten() {
        let last = &map[4];
        assert!(last.iter().sum::<f32>() < 0.9, "a sink takes its part: {last:?}");
        assert!(map[0][0] < 0.9 && map[0][1] == 0.0);
    }
    let refused = attention_maps(&model(Fault::Maps), &[1, 2, 3, 4, 5], 5).unwrap_err();
    assert!(matches!(refused, Error::Config { field: "attention", .. }), "{refused}");
    assert!(refused.to_string().contains("are not those used"), "{refused}");
}
