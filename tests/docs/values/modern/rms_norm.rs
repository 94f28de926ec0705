//! Values of docs/variants/modern/rms_norm.md.

use super::whole;
use crate::docs::values::head::close;
use crate::docs::values::{Values, list, wide};
use llm_core::kernels::{layernorm, rmsnorm};
use llm_core::model::{NORM_EPS, Norm, SingleHead, parameter_list};
use llm_core::{Attention, Config, Result, Tensor, ops};

const X: [f32; 4] = [1.0, -5.0, 7.0, 5.0];
const GAIN: [f32; 4] = [1.0, 2.0, 1.0, 0.5];

fn row(x: &[f32]) -> Tensor {
    Tensor::parameter_from_vec(&[x.len()], x.to_vec()).unwrap()
}

fn rms(x: &[f32]) -> Tensor {
    ops::rmsnorm_lastdim(&row(x), None, NORM_EPS).unwrap()
}

fn layer(x: &[f32]) -> Tensor {
    ops::layernorm_lastdim(&row(x), NORM_EPS).unwrap()
}

pub fn add(values: &mut Values) {
    by_hand(values);
    let [ten, moved] = [X.map(|x| 10.0 * x), X.map(|x| x + 10.0)];
    let both = |x: &[f32]| [wide(rms(x).data()), wide(layer(x).data())].concat();
    let rows = [both(&X), list![10], both(&ten), list![10], both(&moved)];
    values.insert("rms.moved", rows.concat());

    let gained = ops::rmsnorm_lastdim(&row(&X), Some(&row(&GAIN)), NORM_EPS).unwrap();
    values.insert("rms.gain", [wide(&GAIN), wide(gained.data())].concat());
    backward(values);
    costs(values);
    exercises(values);
}

fn mean(x: &[f32]) -> f32 {
    x.iter().sum::<f32>() / x.len() as f32
}

fn by_hand(values: &mut Values) {
    let squares = X.map(|x| x * x);
    let sum: f32 = squares.iter().sum();
    let own = list![sum, mean(&squares), mean(&squares).sqrt()];
    values.insert("rms.row", [wide(&X), wide(&squares), own, wide(rms(&X).data())].concat());

    let m = mean(&X);
    let off = X.map(|x| x - m);
    let squares = off.map(|x| x * x);
    let own = list![squares.iter().sum::<f32>(), mean(&squares), mean(&squares).sqrt()];
    let rows = [list![m], wide(&off), wide(&squares), own, wide(layer(&X).data())];
    values.insert("rms.layer", rows.concat());
}

fn backward(values: &mut Values) {
    let x = row(&X);
    let dy = [1.0, 0.0, 0.0, 0.0];
    let y = ops::rmsnorm_lastdim(&x, None, NORM_EPS).unwrap();
    let loss = ops::sum(&ops::mul(&y, &row(&dy)).unwrap()).unwrap();
    let dx = loss.backward().unwrap().get(&x).unwrap().to_vec();
    let y = y.data();
    let slope = mean(&[dy[0] * y[0], 0.0, 0.0, 0.0]);
    let r = y[0] / X[0];
    let want: Vec<f32> = (0..4).map(|c| r * (dy[c] - y[c] * slope)).collect();
    close(&dx, &want);
    let along: Vec<f32> = X.iter().zip(&dx).map(|(x, d)| (x * d).abs()).collect();
    let sum: f32 = X.iter().zip(&dx).map(|(x, d)| x * d).sum();
    let mut shown = [wide(&dy), wide(y), list![dy[0] * y[0], 4, slope]].concat();
    shown.extend([list![r], wide(&dx), wide(&along), list![sum]].concat());
    values.insert("rms.back", shown);
}

/// Numbers of all norms of a model.
fn of_norms(config: &Config) -> usize {
    let list = parameter_list(config, &SingleHead.parameters(config));
    let norms = list.iter().filter(|(name, _)| name.contains("ln"));
    norms.map(|(_, p)| p.numel() as usize).sum()
}

fn costs(values: &mut Values) {
    let (c, l) = (576, 30);
    let layer = Config::gpt2(49152, 8, c, l);
    let rms = Config { norm: Norm::Rms, ..layer.clone() };
    let norms = 2 * l + 1;
    let [a, b] = [of_norms(&layer), of_norms(&rms)];
    assert_eq!((a, b), (norms * 2 * c, norms * c));
    values.insert("rms.costs", whole(&[2, a, b, layernorm::STATS, rmsnorm::STATS]));
    values.insert("rms.sizes", whole(&[c, l, norms]));
    values.insert("rms.eps_of", list![NORM_EPS, 3, 1e-6]);
}

fn exercises(values: &mut Values) {
    let x = [2.0, -2.0, 2.0, -2.0];
    close(rms(&x).data(), layer(&x).data());
    values.insert("rms.ex_given", wide(&x));
    values.insert("rms.ex_row", [list![2], wide(rms(&x).data())].concat());
    let y = rms(&X);
    let squares: Vec<f32> = y.data().iter().map(|y| y * y).collect();
    let sum: f32 = squares.iter().sum();
    values.insert("rms.ex_length", [wide(&squares), list![sum, sum.sqrt()]].concat());
    let small = [0.001; 4];
    let with = |eps: f32| ops::rmsnorm_lastdim(&row(&small), None, eps).unwrap().data()[0];
    let [square, eps] = [small[0] * small[0], NORM_EPS];
    values.insert("rms.ex_small_given", list![small[0]]);
    let shown = list![square, eps, square + eps, with(eps), 1e-6, with(1e-6)];
    values.insert("rms.ex_small", shown);
    assert!((with(1e-12) - 1.0).abs() < 1e-5);
}

#[test]
fn a_norm_with_and_without_gain() -> Result<()> {
    let (x, gain) = (row(&X), row(&GAIN));
    let y = ops::rmsnorm_lastdim(&x, None, NORM_EPS)?;
    let scaled = ops::rmsnorm_lastdim(&x, Some(&gain), NORM_EPS)?;
    close(scaled.data(), ops::mul(&y, &gain)?.data());
    Ok(())
}

#[test]
fn a_model_with_it_has_no_biases_in_its_norms() -> Result<()> {
    let config = Config { norm: Norm::Rms, ..Config::gpt2(256, 64, 64, 2) };
    let model = llm_core::TinyGPT::new(config, 1)?;
    assert!(model.blocks[0].ln1_g.is_some() && model.blocks[0].ln1_b.is_none());
    Ok(())
}
