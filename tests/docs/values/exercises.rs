//! Values of docs/exercises.md that no command prints.

use super::head::{close, run};
use super::{Values, list};
use crate::docs::examples::{BASE, HEADS};
use llm_core::{Config, Tensor, TinyGPT, ops};
use llm_courses::{MultiHeadAttention, scaled_dot_product_attention};
use llm_variant_mha::causal_attention_heads;
use std::f64::consts::LN_2;

pub fn add(values: &mut Values) {
    values.insert("ex.sizes", list![1, 3, 4, 2, 2]);
    shapes(values);
    losses(values);
    numbers(values);
}

fn wide(numbers: &[usize]) -> Vec<f64> {
    numbers.iter().map(|&n| n as f64).collect()
}

fn shapes(values: &mut Values) {
    values.insert("ex.twelve", list![12]);
    let allowed = |h: &usize| MultiHeadAttention::new(12, *h, 1).is_ok();
    let heads: Vec<usize> = (1..=12).filter(allowed).collect();
    let dims = heads.iter().map(|h| 12 / h).collect::<Vec<_>>();
    values.insert("ex.divisors", wide(&[heads, dims].concat()));

    values.insert("ex.shapes_given", list![2, 5, 12, 3]);
    let zeros = |shape: &[usize]| Tensor::from_vec(shape, vec![0.0; shape.iter().product()]);
    let x = zeros(&[2, 5, 12]).unwrap();
    let qkv = ops::linear_lastdim(&x, &zeros(&[12, 36]).unwrap(), None).unwrap();
    let q = ops::reshape(&ops::slice_lastdim(&qkv, 0, 12).unwrap(), &[2, 5, 3, 4]).unwrap();
    let all = MultiHeadAttention::new(12, 3, 1).unwrap().attend(&x, None).unwrap();
    let y = causal_attention_heads(&qkv, 3, &[], None).unwrap();
    let shapes = [qkv.shape(), q.shape(), all.weights.shape(), y.shape()].concat();
    values.insert("ex.shapes", wide(&shapes));

    values.insert("ex.width", list![64]);
    let module = MultiHeadAttention::new(64, 4, 1).unwrap();
    let (weights, all) = (module.n_weights(), module.n_parameters());
    values.insert("ex.params", wide(&[4, 64, 64, weights, 4, 64, all - weights, all]));
    values.insert("ex.channels_given", list![3, 12, 1]);
    values.insert(
        "ex.channels",
        [wide(&(12 / 3..2 * (12 / 3)).collect::<Vec<_>>()), list![12]].concat(),
    );
}

fn losses(values: &mut Values) {
    values.insert("ex.bytes", list![256]);
    // Without weights in the head all tokens are equally likely.
    let mut model = TinyGPT::new(Config::new(256, 8, 8, 1), 1).unwrap();
    for (_, p) in model.parameters_mut().filter(|(name, _)| name.ends_with("_lm")) {
        p.data_mut().fill(0.0);
    }
    let loss = model
        .loss(
            &llm_core::Batch::new(vec![1, 2, 3], vec![2, 3, 4], [1, 3]),
            llm_core::model::Mode::Evaluation,
        )
        .unwrap();
    let loss = f64::from(loss.item());
    values.insert("ex.first_loss", vec![256.0, loss, loss, 2.0, loss / LN_2]);
    values.insert("ex.losses", list![0.45, 3, 1.2]);
    values.insert("ex.better", list![0.45, 2, 0.45 / LN_2, 1.2, 3, 2, 1.2 / (3.0 * LN_2)]);
}

fn numbers(values: &mut Values) {
    let base = run(BASE);
    let [q, k] = [BASE[0][1], BASE[1][2]];
    let products = (0..4).flat_map(|c| list![q[c], k[c]]);
    let would = products.chain(list![base.scale, base.scores[1][2]]);
    values.insert("ex.would", would.collect());
    values.insert("ex.half", list![2, 1, 0.5, 0.5, 0, 1]);

    let head = run(HEADS[1]);
    let (score, kept) = (head.scores[2][0], head.lse[2]);
    values.insert("ex.kept", list![1, 2, kept, 0, score]);
    close(&[(score - kept).exp()], &[head.p[2][0]]);
    values.insert("ex.from_kept", list![score, kept, head.p[2][0]]);

    let w = Tensor::parameter(llm_core::ndarray::arr1(&[2.0f32, 3.0]).into_dyn());
    let square = ops::mul(&w, &w).unwrap();
    let loss = ops::sum(&ops::add(&square, &w).unwrap()).unwrap();
    let gradient = loss.backward().unwrap().get(&w).unwrap().to_vec();
    values.insert("ex.gradient", list![2, 2, 1, gradient[0], 2, 3, 1, gradient[1]]);

    let rows = HEADS[1].map(|rows| Tensor::from_vec(&[3, 2], rows.concat()).unwrap());
    let y = scaled_dot_product_attention(&rows[0], &rows[1], &rows[2], None, None).unwrap();
    let scores = Tensor::from_vec(&[3], head.scores[1].to_vec()).unwrap();
    let p = ops::softmax_lastdim(&scores).unwrap();
    let mixed = |d: usize| (0..3).map(|j| p.data()[j] * HEADS[1][2][j][d]).sum::<f32>();
    close(&y.data()[2..4], &[mixed(0), mixed(1)]);
    values.insert("ex.no_mask", [super::wide(&head.scores[1]), super::wide(p.data())].concat());
}
