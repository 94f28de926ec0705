//! Values of docs/tokenizer_choice.md, and of the variant's index.

use super::{Values, list};
use llm_core::tokenizer::{CharTokenizer, Tokenizer};
use llm_core::{Config, TinyGPT};
use llm_run::data::Input;
use llm_run::tokenizers::{Choice, make};
use llm_stories::StoryCorpus;
use std::f64::consts::LN_2;

const STORIES: u64 = 400;
const C: usize = 64;
const T: usize = 64;

pub fn add(values: &mut Values) {
    values.insert("variant.section", list![9]);
    values.insert("variant.paper", list![3.2]);
    values.insert("cut.sizes", list![400, 64, 64]);
    let text = StoryCorpus::new(1, 0..STORIES).stories;
    let text: String = text.iter().map(|s| s.text.as_str()).collect();
    let learn = |size| Choice::Learn { vocab_size: Some(size) };
    let (mut table, mut same) = (Vec::new(), Vec::new());
    for (choice, name) in [
        (Choice::Byte, None),
        (Choice::Char, None),
        (learn(300), Some(300)),
        (learn(512), Some(512)),
    ] {
        let input = Input::Stories { seed: 1, count: STORIES };
        let tokenizer = make(&choice, &input, 0.0, &|_, _| ()).unwrap().tokenizer;
        let v = tokenizer.vocab_size();
        let tokens = tokenizer.encode(text.as_bytes()).unwrap().len();
        let bytes_a_token = text.len() as f64 / tokens as f64;
        let tables = size(v, &["wte", "w_lm", "b_lm"]);
        assert_eq!(tables, v * C + C * v + v);
        let name = name.map(f64::from);
        table.extend(name);
        table.extend([v, tokens].map(|n| n as f64));
        table.extend([(bytes_a_token * 100.0).round() / 100.0, tables as f64]);
        table.push((bytes_a_token * T as f64).round());
        same.extend(name);
        same.push(LN_2 * bytes_a_token);
    }
    values.insert("cut.table", table);
    values.insert("cut.asked", list![512]);
    values.insert("cut.one_bit", list![1]);
    values.insert("cut.same", same);
    let all = TinyGPT::new(Config::new(256, T, C, 1), 1).unwrap();
    let all: usize = all.parameters().map(|(_, p)| p.numel()).sum();
    let wpe = size(256, &["wpe"]);
    let block = all - size(256, &["wte", "wpe", "w_lm", "b_lm"]);
    values.insert("cut.block", [block, wpe].map(|n| n as f64).to_vec());
    let foreign = ["naïve café", "猫坐在垫子上"].map(|text| {
        let chars = CharTokenizer::from_text(text.as_bytes()).unwrap();
        [chars.encode(text.as_bytes()).unwrap().len() as f64, text.len() as f64]
    });
    values.insert("cut.foreign", foreign.concat());
    values.insert("cut.advice", list![512, 2048]);
}

/// Numbers in some parameters of a model with V tokens.
fn size(vocab_size: usize, names: &[&str]) -> usize {
    let model = TinyGPT::new(Config::new(vocab_size, T, C, 1), 1).unwrap();
    let wanted = model.parameters().filter(|(name, _)| names.contains(&name.as_str()));
    wanted.map(|(_, p)| p.numel()).sum()
}
