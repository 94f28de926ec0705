//! An attention of your own behind the model's seam, trained next to the baseline.
//!
//! `cargo run --release -p llm-core --example own_attention`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::generate::Decoder;
use llm_core::model::{BatchShape, Context, Decode, Parameters, Position, SingleHead};
use llm_core::ops::{self, AttentionParams};
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Attention, AttentionSpec, Config, Hyperparameters, Result, Tensor, TinyGPT};
use llm_stories::StoryCorpus;
use std::sync::Arc;

/// Every position takes the plain mean of the values up to its own: no queries, no keys.
///
/// ```text
/// Y[i] = 1/(i+1) · Σ_{j≤i} v[j]
/// ```
#[derive(Debug)]
pub struct Average;

impl Attention for Average {
    /// The name keeps other programs from loading such a model as something else.
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new("average", 1)
    }

    /// Made of ops alone, so its gradient is there already. The context has the masks of dropout, and
    /// a probe, if someone looks inside.
    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let [b, t, c] = x.dims("average", "x of shape [B, T, C]")?;
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let qkv = ops::linear_lastdim(x, w_qkv, Some(b_qkv))?; // [B, T, 3C]
        let v = ops::slice_lastdim(&qkv, 2 * c, c)?; // [B, T, C]
        let weight = |n: usize| {
            let (i, j) = (n / t % t, n % t);
            if j <= i { 1.0 / (i + 1) as f32 } else { 0.0 }
        };
        let weights = Tensor::from_vec(&[b, t, t], (0..b * t * t).map(weight).collect())?;
        let dropped = ops::dropout(&weights, ctx.weight_masks(t))?;
        let y = ops::bmm(&dropped, &v)?; // [B, T, C]
        let y = ctx.show_weights(&ops::reshape(&weights, &[b, 1, t, t])?, y)?;
        ops::linear_lastdim(&y, w_proj, Some(b_proj)) // [B, T, C]
    }

    /// [`Attention::forward`] for one new position, from the cached values, as text is written.
    fn decode(&self, step: Decode<'_>) -> Result<()> {
        step.with_keys_and_values(1, |Position { values, y, .. }| {
            for (c, y) in y.iter_mut().enumerate() {
                *y = values.column(c).mean().unwrap_or(0.0);
            }
        })
    }

    /// What it keeps of a position: a key, which it never looks at, and a value.
    fn cache_row(&self, config: &Config) -> usize {
        self.spec().cache_row(config.d_model)
    }
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let stories = StoryCorpus::new(1, 0..500);
    let mut last = Vec::new();
    for attention in [Arc::new(SingleHead) as Arc<dyn Attention>, Arc::new(Average)] {
        // Equal seeds give equal weights whatever the attention; only the reading differs.
        let config = Config { seq_len: 64, d_model: 32, ..Config::default() };
        let mut model = TinyGPT::with_attention(config, attention, 1)?;
        let mut optimizer = AdamW::new(Hyperparameters::default())?;
        let mut losses = Vec::new();
        let work = &mut OneProcess;
        for step in 0..250 {
            let batch = stories.data.batch(1, step, BatchShape { batch_size: 6, seq_len: 64 });
            let update = Update { step, lr: 1e-2, clip: 1.0 };
            losses
                .push(train_step(&mut model, &mut optimizer, [batch], update, work, &mut ())?.loss);
        }
        let mean = losses[200..].iter().sum::<f32>() / 50.0;
        let name = model.attention().spec().name;
        println!("{name:<12} loss {:.2} at first, {mean:.2} after 250 steps", losses[0]);
        last.push(mean);

        // The two ways through an attention must agree: a whole text at once, and token by token.
        let tokens = b"Lucy met Tom".map(u32::from);
        let whole = model.logits(&tokens, [1, tokens.len()])?;
        let mut decoder = Decoder::new(&model)?;
        for (token, row) in tokens.iter().zip(whole.data().chunks(256)) {
            let single = decoder.feed(&[*token])?;
            assert!(single.iter().zip(row).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }
    assert!(last[0] < last[1] && last[1] < 1.0, "looking is better than averaging: {last:?}");
    Ok(())
}
