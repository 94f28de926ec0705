//! Values of docs/variants/modern/gated_mlp.md.

use super::whole;
use crate::docs::values::head::close;
use crate::docs::values::{Values, list, wide};
use llm_core::model::Mlp;
use llm_core::{Config, Result, Tensor, TinyGPT, ops};

/// `[C, 2I]` with C = 2 and I = 2: the columns of a, then those of u.
const W_FC: [[f32; 4]; 2] = [[1.0, 0.0, 2.0, 1.0], [0.0, -1.0, 0.0, 1.0]];
const W_OUT: [[f32; 2]; 2] = [[1.0, 1.0], [1.0, -1.0]];
const X: [f32; 2] = [1.0, 2.0];

fn tensor(shape: &[usize], x: &[f32]) -> Tensor {
    Tensor::parameter_from_vec(shape, x.to_vec()).unwrap()
}

pub fn add(values: &mut Values) {
    let x = [-3.0, -1.0, 0.0, 1.0, 3.0f32];
    let all = tensor(&[5], &x);
    let ways = [ops::gelu, ops::silu, ops::relu2].map(|act| wide(act(&all).unwrap().data()));
    values.insert("gate.table", [wide(&x), ways.concat()].concat());
    by_hand(values);
    sizes(values);
    exercises(values);
}

fn by_hand(values: &mut Values) {
    let (x, w_fc) = (tensor(&[1, 2], &X), tensor(&[2, 4], &W_FC.concat()));
    let w_out = tensor(&[2, 2], &W_OUT.concat());
    let both = ops::linear_lastdim(&x, &w_fc, None).unwrap();
    let hidden = ops::swiglu(&both).unwrap();
    let out = ops::linear_lastdim(&hidden, &w_out, None).unwrap();
    let (a, u) = both.data().split_at(2);
    let opened = ops::silu(&tensor(&[2], a)).unwrap();
    let sigmoid: Vec<f32> = a.iter().zip(opened.data()).map(|(a, s)| s / a).collect();
    let product: Vec<f32> = opened.data().iter().zip(u).map(|(s, u)| s * u).collect();
    close(&product, hidden.data());
    let weights = [W_FC[0][..2].to_vec(), W_FC[1][..2].to_vec()].concat();
    let others = [W_FC[0][2..].to_vec(), W_FC[1][2..].to_vec()].concat();
    let given = [weights, others, W_OUT.concat()].concat();
    values.insert("gate.given", [wide(&X), wide(&given)].concat());
    let shown = [
        wide(a),
        wide(u),
        wide(&sigmoid),
        wide(opened.data()),
        wide(hidden.data()),
        wide(out.data()),
    ];
    values.insert("gate.hand", shown.concat());

    let both = tensor(&[1, 4], both.data());
    let loss = ops::sum(&ops::swiglu(&both).unwrap()).unwrap();
    let d = loss.backward().unwrap().get(&both).unwrap().to_vec();
    let slope: Vec<f32> =
        (0..2).map(|i| sigmoid[i] + opened.data()[i] * (1.0 - sigmoid[i])).collect();
    let da: Vec<f32> = slope.iter().zip(u).map(|(s, u)| s * u).collect();
    close(&d, &[&da[..], opened.data()].concat());
    values.insert("gate.back", [wide(&slope), wide(&d)].concat());

    let shut = ops::swiglu(&tensor(&[2], &[-10.0, 100.0])).unwrap();
    values.insert("gate.shut", list![-10, 100, shut.data()[0]]);
}

fn config(mlp: Mlp, c: usize) -> Config {
    Config { mlp, mlp_bias: false, ..Config::gpt2(4, 4, c, 1) }
}

/// Weights of an MLP, counted in a model of one block.
fn weights(config: &Config) -> usize {
    let model = TinyGPT::new(config.clone(), 1).unwrap();
    model.blocks[0].w_fc.numel() + model.blocks[0].w_out.numel()
}

fn sizes(values: &mut Values) {
    let rows = [64, 128, 576, 768].map(|c| {
        let [plain, gated] = [Mlp::Gelu, Mlp::SwiGlu].map(|mlp| config(mlp, c));
        let sizes = [c, plain.inner(), weights(&plain), gated.inner(), weights(&gated)];
        whole(&sizes)
    });
    values.insert("gate.sizes", [list![2], list![3], rows.concat()].concat());
    let (plain, gated) = (config(Mlp::Gelu, 768), config(Mlp::SwiGlu, 768));
    let kept = |config: &Config| config.hidden() + config.inner();
    let flops = [2 * weights(&plain), 2 * weights(&gated)];
    let shown = [&flops[..], &[8, kept(&plain), 8, kept(&gated)]].concat();
    values.insert("gate.costs", whole(&shown));
    values.insert("gate.width", whole(&[768]));
}

fn exercises(values: &mut Values) {
    let x = tensor(&[3], &[-2.0, 0.5, 3.0]);
    let y = ops::relu2(&x).unwrap();
    let d = ops::sum(&y).unwrap().backward().unwrap().get(&x).unwrap().to_vec();
    values.insert("gate.ex_given", wide(x.data()));
    values.insert("gate.ex_relu2", [wide(y.data()), wide(&d)].concat());
    let wide_gate = Config { n_inner: 4 * 768, ..config(Mlp::SwiGlu, 768) };
    let [all, usual] = [weights(&wide_gate), weights(&config(Mlp::SwiGlu, 768))];
    values.insert("gate.ex_wide_given", whole(&[768]));
    let factor = all as f64 / usual as f64;
    let shown = [whole(&[3, 768, wide_gate.inner(), all, usual]), vec![factor]].concat();
    values.insert("gate.ex_wide", shown);
    let swapped = ops::swiglu(&tensor(&[4], &[2.0, 3.0, 1.0, -2.0])).unwrap();
    values.insert("gate.ex_swapped", wide(swapped.data()));
}

#[test]
fn a_gated_mlp() -> Result<()> {
    let (x, w_fc) = (tensor(&[1, 2], &X), tensor(&[2, 4], &W_FC.concat()));
    let w_out = tensor(&[2, 2], &W_OUT.concat());
    let both = ops::linear_lastdim(&x, &w_fc, None)?; // [.., 2I]: a, then u
    let hidden = ops::swiglu(&both)?; // [.., I]: silu(a) times u
    let y = ops::linear_lastdim(&hidden, &w_out, None)?; // [.., C]
    assert_eq!((both.shape(), hidden.shape(), y.shape()), (&[1, 4][..], &[1, 2][..], &[1, 2][..]));
    Ok(())
}

#[test]
fn a_model_with_a_gate() -> Result<()> {
    let config = Config { mlp: Mlp::SwiGlu, mlp_bias: false, ..Config::gpt2(256, 64, 64, 2) };
    let model = TinyGPT::new(config, 1)?;
    assert_eq!(model.blocks[0].w_fc.shape(), [64, 2 * 176]); // both halves from one product
    assert_eq!(model.blocks[0].w_out.shape(), [176, 64]);
    assert!(model.blocks[0].b_fc.is_none());
    Ok(())
}
