//! Values of docs/variants/modern/llama.md: models that are known by their published shapes.

use super::whole;
use crate::docs::values::performance::{flatten, measured};
use crate::docs::values::{Values, list};
use llm_core::model::{Footprint, Mlp, Norm, Positions};
use llm_core::{Attention, Config, Result, TinyGPT};
use llm_variant_modern::Modern;
use std::sync::Arc;

type Known = (Config, Modern);

/// GPT-2 of 124 million parameters.
pub fn gpt2() -> Known {
    (Config::gpt2(50257, 1024, 768, 12), Modern::new(12))
}

/// Norms, MLP and positions as the Llama family has them.
pub fn family(config: Config, n_inner: usize) -> Config {
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    Config { norm, mlp, n_inner, mlp_bias: false, positions, ..config }
}

/// SmolLM2-135M.
pub fn smol() -> Known {
    let config = family(Config::gpt2(49152, 8192, 576, 30), 1536);
    (config, Modern::grouped(9, 3).with_rotary(100_000.0).without_biases())
}

/// Llama 3 8B; its output head is not tied.
pub fn llama() -> Known {
    let config = family(Config::gpt2(128_256, 8192, 4096, 32), 14336);
    let attention = Modern::grouped(32, 8).with_rotary(500_000.0).without_biases();
    (Config { tied_head: false, ..config }, attention)
}

/// Qwen3-0.6B.
pub fn qwen() -> Known {
    let config = family(Config::gpt2(151_936, 40960, 1024, 28), 3072);
    let attention = Modern::grouped(16, 8).with_head_dim(128).with_rotary(1_000_000.0);
    (config, attention.with_qk_norm().without_biases())
}

fn parameters((config, attention): &Known) -> usize {
    attention.check(config).unwrap();
    config.check().unwrap();
    Footprint::new(config, attention).parameter_count() as usize
}

pub fn add(values: &mut Values) {
    let all = [gpt2(), smol(), llama(), qwen()];
    let theta = [0, 100_000, 500_000, 1_000_000];
    let heads = [[12, 12, 64], [9, 3, 64], [32, 8, 128], [16, 8, 128]];
    let mut table = list![2, 3];
    let mut row = |of: &dyn Fn(usize) -> usize| table.extend((0..4).map(|n| of(n) as f64));
    row(&|n| all[n].0.n_layers);
    row(&|n| all[n].0.d_model);
    for part in 0..3 {
        row(&|n| heads[n][part]);
    }
    row(&|n| all[n].0.inner());
    row(&|n| all[n].0.vocab_size);
    row(&|n| all[n].0.seq_len);
    row(&|n| theta[n]);
    row(&|n| parameters(&all[n]));
    // GPT-2 has no theta.
    let place = 2 + 8 * 4;
    assert_eq!(table.remove(place), 0.0);
    for (n, [h, g, d]) in heads.into_iter().enumerate() {
        let (config, attention) = &all[n];
        assert_eq!(attention.cache_row(config), 2 * g * d);
        let wide = attention.parameters(config)[0].1.shape[1];
        assert_eq!(wide, (h + 2 * g) * d);
    }
    values.insert("llama.known", table);
    by_hand(values);
    widths(values);
    for (id, of, key) in [
        ("llama.real_import", "smollm2", "import"),
        ("llama.real_unseen", "smollm2", "unseen"),
        ("llama.real_tuned", "smollm2", "tuned"),
        ("llama.real_judged", "smollm2", "judged"),
        ("tuning.set", "fine_tuning", "set"),
        ("tuning.made", "fine_tuning", "made"),
        ("tuning.loss", "fine_tuning", "loss"),
        ("tuning.before", "fine_tuning", "before"),
        ("tuning.other_text", "fine_tuning", "other_text"),
        ("serving.speed", "serving", "speed"),
        ("tuning.rate", "fine_tuning", "rate"),
        ("tuning.memory", "fine_tuning", "memory"),
    ] {
        let mut numbers = Vec::new();
        flatten(&measured()[of][key], &mut numbers);
        assert!(!numbers.is_empty(), "{key}");
        values.insert(id, numbers);
    }
}

fn by_hand(values: &mut Values) {
    let known = smol();
    let (config, attention) = &known;
    let own = attention.parameters(config);
    let [qkv, proj] = [0, 1].map(|n| own[n].1.numel() as usize);
    let (c, i, l, v) = (576, 1536, 30, 49152);
    let block = qkv + proj + 3 * c * i + 2 * c;
    let all = l * block + v * c + c;
    assert_eq!(all, parameters(&known));
    let lines = [
        &[c, 15, 64, qkv][..],
        &[9, 64, c, proj],
        &[c, 2, i, 2 * c * i],
        &[i, c, i * c],
        &[2, c, 2 * c, block, l, l * block],
        &[v, c, v * c, c, all],
    ];
    values.insert("llama.hand", whole(&lines.concat()));
    values.insert("llama.hand_given", whole(&[c, l, 9, 3, 64, i, v]));
}

/// Both kinds at the same width and depth.
fn widths(values: &mut Values) {
    let gpt2 = (Config::gpt2(256, 64, 64, 2), Modern::new(4));
    let small = (
        family(Config::gpt2(256, 64, 64, 2), 0),
        Modern::grouped(4, 2).with_rotary(10_000.0).without_biases(),
    );
    let [a, b] = [parameters(&gpt2), parameters(&small)];
    values.insert("llama.small", whole(&[a, b]));
    values.insert("llama.small_given", whole(&[256, 64, 64, 2, 4, 2]));
    let (config, attention) = qwen();
    let own = attention.parameters(&config);
    let joined = own.iter().find(|(name, _)| name == "w_proj").unwrap().1.shape[0];
    values.insert("llama.wide_given", whole(&[1024]));
    values.insert("llama.wide", whole(&[16, 128, joined, joined, 1024]));
    let tied = smol();
    let own = Config { tied_head: false, ..tied.0.clone() };
    let more = parameters(&(own, tied.1.clone())) - parameters(&tied);
    let share = 100.0 * more as f64 / parameters(&tied) as f64;
    values.insert("llama.tied", [whole(&[49152, 576, more]), vec![share]].concat());
}

#[test]
fn a_small_llama() -> Result<()> {
    let config = Config {
        norm: Norm::Rms,
        mlp: Mlp::SwiGlu,
        mlp_bias: false,
        positions: Positions::Rotary,
        ..Config::gpt2(256, 64, 64, 2)
    };
    let attention = Modern::grouped(4, 2).with_rotary(10_000.0).without_biases();
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    assert!(model.parameters().all(|(name, _)| !name.contains("b_")));
    Ok(())
}

#[test]
fn a_small_qwen3() -> Result<()> {
    let config = family(Config::gpt2(256, 64, 64, 2), 0);
    let attention = Modern::grouped(4, 2).with_head_dim(32).with_rotary(1_000_000.0);
    let attention = attention.with_qk_norm().without_biases();
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
    assert_eq!(model.blocks[0].attention.get("w_proj").unwrap().shape(), [4 * 32, 64]);
    Ok(())
}
