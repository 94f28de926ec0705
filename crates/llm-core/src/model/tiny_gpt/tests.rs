//! Parameters by their names: made, counted, given, shared.

use super::*;
use crate::model::{AttentionSpec, Batch, Context, Footprint, Init, Mode, Parameters};

#[test]
fn names_are_fields_and_counts_agree() {
    for config in [Config::new(13, 6, 8, 2), Config::gpt2(13, 6, 8, 2)] {
        let mut model = TinyGPT::new(config.clone(), 1).unwrap();
        let names: Vec<_> = model.parameters().map(|(n, _)| n).collect();
        let total: usize = model.parameters().map(|(_, p)| p.numel()).sum();
        assert_eq!(total as u64, Footprint::new(&config, &SingleHead).parameter_count());
        assert_eq!(names, model.parameters_mut().map(|(n, _)| n).collect::<Vec<_>>());
    }
    let baseline = TinyGPT::new(Config::new(13, 6, 8, 1), 1).unwrap();
    let names: Vec<_> = baseline.parameters().map(|(n, _)| n).collect();
    let block = ["w_qkv", "b_qkv", "w_proj", "b_proj", "w_fc", "b_fc", "w_out", "b_out"];
    let mut want = vec!["wte".to_string(), "wpe".to_string()];
    want.extend(block.iter().map(|n| format!("blocks.0.{n}")));
    want.extend(["w_lm".to_string(), "b_lm".to_string()]);
    assert_eq!(names, want);
}

#[test]
fn weights_start_with_their_standard_deviation() {
    let model = TinyGPT::new(Config::new(256, 64, 64, 2), 7).unwrap();
    for (name, p) in model.parameters() {
        let n = p.numel() as f64;
        let std = (p.data().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n).sqrt();
        let want = match name.rsplit('.').next() {
            Some(n) if n.starts_with("b_") => 0.0,
            Some("w_out") => 1.0 / 16.0,
            _ => 1.0 / 8.0,
        };
        assert!((std - want).abs() <= 0.05 * want, "{name}: {std}, not {want}");
    }
}

#[test]
fn the_first_loss_is_the_expected_one() {
    let untied = Config { tied_head: false, ..Config::gpt2(512, 32, 384, 1) };
    let again = Config { tied_head: true, init: Init::ZeroOut, ..Config::new(256, 32, 64, 2) };
    let unplaced = Config { positions: Positions::None, ..again.clone() };
    let plain = [Config::new(256, 32, 64, 2), Config::gpt2(256, 32, 64, 2)];
    for config in plain.into_iter().chain([untied, again, unplaced]) {
        let model = TinyGPT::new(config.clone(), 3).unwrap();
        let v = config.vocab_size as u32;
        let tokens = |factor: u32| -> Vec<u32> { (0..256).map(|i| i * factor % v).collect() };
        let batch = Batch::new(tokens(73), tokens(151), [8, 32]);
        let first = f64::from(model.loss(&batch, Mode::Evaluation).unwrap().item());
        let (want, even) = (config.first_loss(), (config.vocab_size as f64).ln());
        assert!((first - want).abs() < 0.1 && want > even, "{first}, not {want}");
    }
    assert_eq!(Config::new(256, 32, 64, 2).first_loss(), 256f64.ln() + 0.5);
}

#[test]
fn weights_must_be_complete_and_fit() {
    let config = Config::new(13, 6, 8, 2);
    let model = TinyGPT::new(config.clone(), 1).unwrap();
    let list =
        || -> Vec<(String, Tensor)> { model.parameters().map(|(n, p)| (n, p.clone())).collect() };
    let build = |list| TinyGPT::from_parameters(config.clone(), Arc::new(SingleHead), list);
    let reversed = build(list().into_iter().rev().collect()).unwrap();
    assert_eq!(reversed.blocks[1].w_fc.data(), model.blocks[1].w_fc.data());
    for i in 0..list().len() {
        let mut short = list();
        short.remove(i);
        assert!(matches!(build(short), Err(Error::Config { .. })));
    }
    let mut other = list();
    other[2].1 = other[3].1.clone();
    assert!(matches!(build(other), Err(Error::Shape { .. })));
    let mut more = list();
    more.push(("lnf_g".into(), model.b_lm.clone().unwrap()));
    assert!(matches!(build(more), Err(Error::Config { .. })));
}

#[test]
fn given_weights_are_trained_whatever_they_were() {
    let config = Config::new(5, 3, 4, 1);
    let given = TinyGPT::new(config.clone(), 1).unwrap();
    let other_kind = |(i, (name, p)): (usize, (String, &Tensor))| match i % 3 {
        0 => (name, p.clone()),
        1 => (name, p.detach()),
        _ => (name, crate::ops::mul_scalar(p, 1.0).unwrap()),
    };
    let list: Vec<_> = given.parameters().enumerate().map(other_kind).collect();
    let model = TinyGPT::from_parameters(config, Arc::new(SingleHead), list).unwrap();
    let batch = Batch::new(vec![0, 1, 2], vec![1, 2, 3], [1, 3]);
    let grads = |model: &TinyGPT| model.loss(&batch, Mode::Training).unwrap().backward().unwrap();
    let (got, want) = (grads(&model), grads(&given));
    for ((name, p), (_, q)) in model.parameters().zip(given.parameters()) {
        assert_eq!(got.get(p).unwrap(), want.get(q).unwrap(), "{name}");
    }
    assert_eq!(got.get(&given.wte), want.get(&given.wte)); // a leaf's holder may ask for it
}

/// An attention that fits no model.
struct Misfit;

impl Attention for Misfit {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new("misfit", 3)
    }
    fn check(&self, _: &Config) -> Result<()> {
        Err(Error::config("heads", "never"))
    }
    fn forward(&self, _: &Tensor, _: &Parameters, _: &Context<'_>) -> Result<Tensor> {
        unreachable!("it fits no model")
    }
}

/// One that calls a tensor as the block does.
struct Namesake;

impl Attention for Namesake {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new("namesake", 1)
    }
    fn check(&self, _: &Config) -> Result<()> {
        Ok(())
    }
    fn parameters(&self, _: &Config) -> ParamList {
        vec![("w_out".into(), Param::weight([8, 8]))]
    }
    fn forward(&self, _: &Tensor, _: &Parameters, _: &Context<'_>) -> Result<Tensor> {
        unreachable!("there is no such model")
    }
}

#[test]
fn names_of_an_attention_are_not_those_of_its_block() {
    let made = TinyGPT::with_attention(Config::new(13, 6, 8, 1), Arc::new(Namesake), 1);
    let want = "parameters: two are of one name; an attention's must not be those of its block";
    assert_eq!(made.unwrap_err().to_string(), want);
}

#[test]
fn another_attention_shares_the_parameters() {
    let model = TinyGPT::new(Config::new(13, 6, 8, 1), 1).unwrap();
    let other = model.attending_with(Arc::new(SingleHead)).unwrap();
    for ((_, a), (_, b)) in model.parameters().zip(other.parameters()) {
        assert_eq!(a.data().as_ptr(), b.data().as_ptr());
    }
    assert!(matches!(model.attending_with(Arc::new(Misfit)), Err(Error::Config { .. })));
}
