//! A model that only measures and writes there.

use crate::support::{Case, gpu, text};
use llm_core::generate::{Decoder, Generator, Sampling};
use llm_core::model::{Mlp, Norm, Positions};
use llm_core::train::{OneProcess, Work, evaluate_together};
use llm_core::{Attention, Config, Error, TinyGPT};
use llm_gpu::GpuModel;
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::ops::ControlFlow::Continue;

/// A model that has learned a little.
fn learned(config: Config, attention: impl Attention + 'static) -> TinyGPT {
    let mut trainer = Case::new(config, attention, 3).trainer();
    for _ in 0..5 {
        trainer.step(&text()).unwrap();
    }
    trainer.model
}

fn modern(seq: usize) -> Config {
    let mut config = Config::new(256, seq, 32, 2);
    (config.norm, config.norm_affine) = (Norm::Rms, true);
    (config.positions, config.mlp) = (Positions::Rotary, Mlp::SwiGlu);
    (config.mlp_bias, config.head_bias) = (false, false);
    config
}

fn models() -> [(&'static str, TinyGPT); 5] {
    let ngrams = Config { ngrams: vec![2, 3], ngram_rows: 300, ..Config::new(256, 70, 24, 2) };
    let masked = MultiHead::with_head_mask(4, [true, false, true, true].repeat(2));
    let grouped = || Modern::grouped(4, 2).with_rotary(500.0);
    [
        ("heads and n-grams", learned(ngrams, MultiHead::new(3))),
        ("gpt2", learned(Config::gpt2(256, 66, 32, 2), MultiHead::new(4))),
        ("switched off", learned(Config::new(256, 67, 32, 2), masked)),
        ("llama", learned(modern(65), grouped().without_biases())),
        ("capped", learned(modern(80), grouped().with_window(9).with_qk_norm().with_soft_cap(0.5))),
    ]
}

/// Scores behind every token of a text, one more each time, and from an earlier place again.
#[test]
fn a_text_is_read_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (name, model) in models() {
        let there = GpuModel::new(gpu.clone(), &model).unwrap();
        let mut reader = there.reader(&model).unwrap();
        let tokens: Vec<u32> = text().tokens(0, model.config().seq_len).unwrap().to_vec();
        let (mut decoder, mut worst) = (Decoder::new(&model).unwrap(), 0.0f32);
        let mut compare = |known: usize, n: usize| {
            decoder.rewind(known);
            let wanted = decoder.feed(&tokens[known..n]).unwrap();
            let got = reader.read(&tokens[..n], known).unwrap();
            let off = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            worst = worst.max(off);
        };
        compare(0, 5);
        (6..=tokens.len()).for_each(|n| compare(n - 1, n));
        compare(3, 40);
        println!("{name}: scores {worst:.1e} apart");
        assert!(worst < 1e-4, "{name}: scores are {worst:.1e} apart");
    }
}

/// Several texts, longer than the context, draw the same tokens.
#[test]
fn texts_are_written_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (name, model) in models() {
        let there = GpuModel::new(gpu.clone(), &model).unwrap();
        let mut reader = there.reader(&model).unwrap();
        let sampling = Sampling { temperature: 0.7, top_k: 5, ..Sampling::default() };
        let write = |mut generator: Generator<'_>| -> Vec<Vec<u32>> {
            let one = |sample| {
                generator.restart(sample);
                (0..90).for_each(|_| {
                    generator.next_token().unwrap();
                });
                generator.written().to_vec()
            };
            (0..3).map(one).collect()
        };
        let prompt = b"Lily ".map(u32::from);
        let new = || Generator::new(&model, &prompt, sampling.clone(), 20).unwrap();
        let read = |text: &[u32], known: usize| reader.read(text, known).map_err(Error::from);
        let (here, there) = (write(new()), write(new().elsewhere(read)));
        assert!(here == there, "{name}: {here:?} and {there:?}");
        assert!(here[0] != here[1], "{name}");
    }
}

#[test]
fn a_model_is_measured_without_a_run() {
    let Some(gpu) = gpu() else { return };
    for (name, model) in models() {
        let mut there = GpuModel::new(gpu.clone(), &model).unwrap();
        let data = text();
        let windows = data.windows(model.config().seq_len).evenly_spaced(400);
        let measure = |work: &mut dyn Work| {
            evaluate_together(work, &model, &data, &windows, 3, |_| Continue(())).unwrap()
        };
        let (here, there) = (measure(&mut OneProcess), measure(&mut there));
        assert!((here.loss - there.loss).abs() < 1e-5, "{name}: {here:?} and {there:?}");
        assert_eq!((here.accuracy, here.tokens), (there.accuracy, there.tokens), "{name}");
    }
}
