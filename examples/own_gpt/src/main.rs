//! A program of your own with every verb: an attention and a block of your own stand beside those of
//! train-gpt-modern, are trained, compared, varied, saved and opened by their names.
//!
//! `cargo run --release -p own-gpt -- compare --variants mha,gqa:2,softcap`
//!
//! `cargo run --release -p own-gpt -- compare --vary softcap.cap=5,20`

#[path = "../../own_trainer/src/sgd.rs"]
mod sgd;

use llm_cli::{
    ALL_OPTIONS, Arch, AttentionKind, BASELINE, Heads, Models, NamedBlock, Panics, Program,
};
use llm_core::model::{Context, Parameters};
use llm_core::ops::{self, AttentionParams};
use llm_core::optim::{AdamW, Lion, Muon};
use llm_core::settings::Value;
use llm_core::{Attention, AttentionSpec, Error, Result, Tensor, message};
use llm_variant_modern::Modern;
use sgd::Sgd;
use std::process::ExitCode;
use std::sync::Arc;

/// H heads whose scores are capped.
///
/// ```text
/// s       = c·tanh(q·kᵀ / (c·√D))      so that no score is beyond ±c
/// Y_h[i]  = Σ_{j≤i} softmax(s[i])[j]·v[j]
/// ```
#[derive(Debug)]
struct SoftCap {
    spec: AttentionSpec,
    cap: f32,
}

impl SoftCap {
    /// How it is chosen, and its number with the default.
    const KIND: AttentionKind = AttentionKind {
        name: "softcap",
        doc: "Scores that are never beyond the cap zh: 分数不超过上限",
        settings: &[("cap", Value::Float(20.0))],
        make: |spec| Ok(Arc::new(SoftCap::from_spec(spec)?)),
    };

    fn from_spec(spec: &AttentionSpec) -> Result<SoftCap> {
        let cap = match spec.other.get("cap") {
            Some(Value::Float(cap)) if *cap > 0.0 => *cap,
            _ => return Err(Error::config("cap", message!("has to be above 0"))),
        };
        // Whatever else it says would change what is computed.
        let plain = AttentionSpec::new(&*spec.name, spec.n_heads);
        match (AttentionSpec { other: spec.other.clone(), ..plain }) == *spec {
            true => Ok(SoftCap { spec: spec.clone(), cap }),
            false => Err(Error::config("attention", message!("softcap has heads and a cap alone"))),
        }
    }
}

impl Attention for SoftCap {
    fn spec(&self) -> AttentionSpec {
        self.spec.clone()
    }

    /// Made of ops alone, so its gradient is there already, and so is the writing of text.
    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let [b, t, c] = x.dims("softcap", "x of shape [B, T, C]")?;
        let (h, d) = (self.spec.n_heads, c / self.spec.n_heads);
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let qkv = ops::linear_lastdim(x, w_qkv, Some(b_qkv))?; // [B, T, 3C]
        let heads = |first| -> Result<Tensor> {
            let all = ops::reshape(&ops::slice_lastdim(&qkv, first, c)?, &[b, t, h, d])?;
            ops::reshape(&ops::transpose(&all, 1, 2)?, &[b * h, t, d])
        };
        let (q, k, v) = (heads(0)?, heads(c)?, heads(2 * c)?);
        let scores = ops::bmm(&q, &ops::transpose(&k, 1, 2)?)?; // [B·H, T, T]
        let inside = tanh(&ops::mul_scalar(&scores, 1.0 / (self.cap * (d as f32).sqrt()))?);
        let later = |n: usize| if n % t > n / t % t { f32::NEG_INFINITY } else { 0.0 };
        let mask = Tensor::from_vec(&[b * h, t, t], (0..b * h * t * t).map(later).collect())?;
        let capped = ops::add(&ops::mul_scalar(&inside, self.cap)?, &mask)?;
        let weights = ops::softmax_lastdim(&capped)?; // [B·H, T, T]
        let y = ops::bmm(&ops::dropout(&weights, ctx.weight_masks(h * t))?, &v)?;
        let y = ops::transpose(&ops::reshape(&y, &[b, h, t, d])?, 1, 2)?;
        let y = ops::reshape(&y, &[b, t, c])?;
        let y = ctx.show_weights(&ops::reshape(&weights, &[b, h, t, t])?, y)?;
        ops::linear_lastdim(&y, w_proj, Some(b_proj))
    }
}

/// y = tanh x, element by element; dx = (1 − y²)·dy.
fn tanh(x: &Tensor) -> Tensor {
    let y: Vec<f32> = x.data().iter().map(|x| x.tanh()).collect();
    let (parent, kept) = (x.parent(), y.clone());
    Tensor::from_op("tanh", x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.give(&parent, dy.iter().zip(&kept).map(|(dy, y)| (1.0 - y * y) * dy).collect());
    })
}

const PROGRAM: Program = Program {
    about: "Train a small GPT with an attention of its own.",
    models: Models {
        name: "own-gpt",
        heads: Heads::Many { default: 4 },
        attentions: &[
            AttentionKind::plain(Modern::NAME, |spec| Ok(Arc::new(Modern::from_spec(spec)?))),
            SoftCap::KIND,
        ],
        blocks: &[NamedBlock {
            name: "capped-relu2",
            settings: &[("attention", "softcap"), ("mlp", "relu2")],
        }],
        optimizers: &[AdamW::ROW, Lion::ROW, Muon::ROW, Sgd::ROW],
        options: ALL_OPTIONS,
        for_text: Arch::Baseline,
        ..BASELINE
    },
    attend: None,
};

fn main() -> ExitCode {
    let panics = Panics::default();
    std::panic::set_hook(panics.hook());
    panics.catch(|| llm_cli::run(&PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::check_contract;
    use llm_core::ndarray::ArrayD;
    use llm_core::{Config, gradcheck};

    #[test]
    fn it_keeps_the_promises_of_an_attention() {
        let config = Config::new(16, 8, 8, 1);
        let own = [String::from("cap=1.5")];
        let made = PROGRAM.models.new_attention(Some("softcap"), &own, AttentionSpec::new("", 2));
        assert_eq!(check_contract(made.unwrap().as_ref(), &config), []);
        let x = ArrayD::from_shape_fn(vec![2, 3], |i| i[0] as f32 - i[1] as f32 / 3.0);
        gradcheck::check(&[Tensor::parameter(x)], 1, |x| Ok(tanh(&x[0]))).unwrap();
    }
}
