//! Values of docs/variants/modern/ngrams.md.

use super::family::family;
use super::whole;
use crate::docs::values::{Values, list};
use llm_core::model::{Batch, Footprint, Mode, parameter_shapes};
use llm_core::{Config, TinyGPT};
use llm_variant_modern::Modern;

/// The rows of pairs that a text of three tokens touches, position by position: those that get a
/// gradient when the text grows by one.
fn touched() -> Vec<f64> {
    let config = Config { ngrams: vec![2], ..Config::new(3, 3, 4, 1) };
    let model = TinyGPT::new(config, 1).unwrap();
    let text = [2, 0, 1];
    let rows = |n: usize| -> Vec<usize> {
        let batch = Batch::new(text[..n].to_vec(), vec![0; n], [1, n]);
        let loss = model.loss(&batch, Mode::Evaluation).unwrap();
        let grads = loss.backward().unwrap();
        let table = model.ngrams.as_ref().unwrap();
        let rows = grads.get(table).unwrap().chunks_exact(4).enumerate();
        rows.filter(|(_, row)| row.iter().any(|x| *x != 0.0)).map(|(i, _)| i).collect()
    };
    let mut before = Vec::new();
    let mut all = Vec::new();
    for n in 1..=3 {
        let now = rows(n);
        all.push(now.iter().find(|row| !before.contains(*row)).copied().unwrap());
        before = now;
    }
    whole(&all)
}

/// The shape of a parameter.
fn shape(config: &Config, name: &str) -> Option<Vec<usize>> {
    parameter_shapes(config).into_iter().find(|(of, _)| of == name).map(|(_, shape)| shape)
}

fn rows(config: &Config, ngrams: &[usize]) -> usize {
    shape(&Config { ngrams: ngrams.into(), ..config.clone() }, "ngrams").unwrap()[0]
}

pub fn add(values: &mut Values) {
    let row = touched();
    values.insert("ngram.kinds", list![0, 1, 2, 3, 4, 16, 4, 2, 0, 1]);
    let rows_of = |i: usize, pair: [f64; 2]| vec![i as f64, pair[0], pair[1], row[i]];
    let table = [rows_of(0, [3.0, 2.0]), rows_of(1, [2.0, 0.0]), rows_of(2, [0.0, 1.0])];
    values.insert("ngram.rows", table.concat());
    values.insert("ngram.middle", vec![1.0, row[1]]);

    let config = Config::new(65, 64, 128, 1);
    values.insert("ngram.given", whole(&[16_384, 65, 128]));
    let mut sizes = Vec::new();
    for n in [2, 3, 4usize] {
        let rows = rows(&config, &[n]);
        sizes.extend([n, 66usize.pow(n as u32), rows, rows * config.d_model]);
    }
    values.insert("ngram.sizes", whole(&sizes));
    let tables = rows(&config, &[2, 3, 4]) * config.d_model;
    let own = llama(&config);
    let share = (1000.0 * tables as f64 / (tables + own) as f64).round() / 10.0;
    values.insert("ngram.share", vec![own as f64, tables as f64, share]);
    let bytes = Config { ngram_rows: 1 << 20, ..Config::new(256, 8, 8, 1) };
    values.insert("ngram.ex_given", vec![]);
    let exact = rows(&bytes, &[2]);
    let shared = rows(&Config::new(256, 8, 8, 1), &[2]);
    assert_eq!((exact as f64 / shared as f64).round(), 4.0);
    values.insert("ngram.ex", whole(&[256, 1, exact, shared]));
}

/// Weights of the model that train-gpt-modern makes for a text, with one block.
fn llama(config: &Config) -> usize {
    let config = family(Config::gpt2(config.vocab_size, config.seq_len, config.d_model, 1), 0);
    let attention = Modern::new(4).with_rotary(10_000.0).without_biases();
    Footprint::new(&config, &attention).parameter_count() as usize
}
