//! docs/concepts/adapters.md: a pair of rank 1 beside a matrix of three by three, by the library itself.

use super::rows;
use llm_core::model::AdapterSpec;
use llm_core::{Config, Result, Tensor, TinyGPT, ops};

pub const SCALE: f32 = 2.0;
pub const RATE: f32 = 0.1;
const W: [[f32; 3]; 3] = [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]];
pub const A: [f32; 3] = [1.0, 2.0, -1.0];
pub const B: [f32; 3] = [2.0, 0.0, 1.0];
/// What is read, and a row that A does not see.
pub const READ: [f32; 3] = [1.0, 1.0, 0.0];
pub const UNSEEN: [f32; 3] = [1.0, 0.0, 1.0];
pub const DY: [f32; 3] = [1.0, -1.0, 0.0];
/// The second question and its answer.
const A2: [[f32; 2]; 3] = [[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0]];
const B2: [[f32; 3]; 2] = [B, [0.0, 1.0, 0.0]];

pub fn w() -> Tensor {
    rows(W)
}

/// A, B and A·B, of rank 1 and of rank 2.
pub fn products() -> Result<[[Tensor; 3]; 2]> {
    let whole = |a: Tensor, b: Tensor| -> Result<[Tensor; 3]> {
        let product = ops::matmul2d(&a, &b)?;
        Ok([a, b, product])
    };
    Ok([whole(rows(A.map(|a| [a])), rows([B]))?, whole(rows(A2), rows(B2))?])
}

/// A model that is three wide, with the pair beside a matrix of its block that is W.
pub fn model(b: [f32; 3]) -> Result<TinyGPT> {
    let mut model = TinyGPT::new(Config::new(4, 4, 3, 1), 1)?;
    for (_, tensor) in model.parameters_mut().filter(|(name, _)| name == NAME) {
        tensor.data_mut().copy_from_slice(&W.concat());
    }
    let spec = AdapterSpec::uniform([(NAME.into(), vec![3])], 1, SCALE);
    let pair = [("lora_a", rows(A.map(|a| [a]))), ("lora_b", rows([b]))];
    model.with_adapter_of(&spec, pair.map(|(end, of)| (format!("{NAME}.{end}"), of)).into())
}

const NAME: &str = "blocks.0.w_proj";

pub fn matrix(model: &TinyGPT) -> Tensor {
    model.parameters().find(|(name, _)| name == NAME).expect("a matrix of a block").1.clone()
}

/// y, and the gradients of A and B where that of y is [`DY`].
pub fn learned(x: [f32; 3], b: [f32; 3]) -> Result<[Vec<f32>; 3]> {
    let (w, x, dy) = (matrix(&model(b)?), rows([x]), rows([DY]));
    let y = ops::linear_lastdim(&x, &w, None)?; // x·W + s·(x·A)·B, as A and B hang on w
    let loss = ops::sum(&ops::mul(&y, &dy)?)?; // so that dL/dy is dy
    let grads = loss.backward()?;
    assert!(grads.get(&w).is_none()); // W stays, and has none
    let [da, db] = w.adapter().map(|pair| [&pair.a, &pair.b]).unwrap().map(|p| grads.get(p));
    Ok([y.data().to_vec(), da.unwrap().to_vec(), db.unwrap().to_vec()])
}

#[test]
fn merged_it_is_the_same_map() -> Result<()> {
    let merged = matrix(&model(B)?.merged());
    for x in [READ, UNSEEN] {
        let y = ops::linear_lastdim(&rows([x]), &merged, None)?;
        assert_eq!(y.data(), learned(x, B)?[0]);
    }
    Ok(())
}

#[test]
fn every_two_by_two_of_rank_one_is_nothing_and_of_rank_two_every_three_by_three() -> Result<()> {
    let [[_, _, one], [_, _, two]] = products()?;
    let at = |m: &Tensor, i: usize, j: usize| m.data()[3 * i + j];
    let small = |m: &Tensor, [i, k]: [usize; 2], [j, l]: [usize; 2]| {
        at(m, i, j) * at(m, k, l) - at(m, i, l) * at(m, k, j)
    };
    let pairs = [[0, 1], [0, 2], [1, 2]];
    assert!(pairs.iter().all(|i| pairs.iter().all(|j| small(&one, *i, *j) == 0.0)));
    assert!(pairs.iter().any(|i| pairs.iter().any(|j| small(&two, *i, *j) != 0.0)));
    let whole = at(&two, 0, 0) * small(&two, [1, 2], [1, 2])
        - at(&two, 0, 1) * small(&two, [1, 2], [0, 2])
        + at(&two, 0, 2) * small(&two, [1, 2], [0, 1]);
    assert_eq!(whole, 0.0);
    Ok(())
}
