//! Somebody who knows the ops and nothing of models: computes a list.

use llm_core::kernels::attention::Scoring;
use llm_core::kernels::dropout::Dropout;
use llm_core::listing::{Fact, Input, Listed};
use llm_core::ndarray::{ArrayD, IxDyn};
use llm_core::{Result, Tensor, TokenId, no_grad, ops};
use llm_courses::{AdditiveMask, permute, scaled_dot_product_attention};
use llm_variant_modern::{HeadShape, causal_attention_grouped};
use std::collections::BTreeMap;

/// The result of the last op, from the parameters by their numbers.
///
/// # Panics
/// For an op, an input or a fact that is unknown or missing.
pub fn replay(list: &[Listed], leaves: BTreeMap<u64, Tensor>) -> Tensor {
    let mut values = leaves;
    for made in list {
        let inputs: Vec<Tensor> = made.inputs.iter().map(|input| value(input, &values)).collect();
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let result = no_grad(|| compute(made, &inputs)).unwrap();
        assert_eq!(result.shape(), made.shape, "{}", made.op);
        values.insert(made.result, result);
    }
    values.remove(&list.last().unwrap().result).unwrap()
}

fn value(input: &Input, values: &BTreeMap<u64, Tensor>) -> Tensor {
    let (shape, value) = match input {
        Input::Variable { id, shape } => (shape, values[id].clone()),
        Input::Constant { shape, data } => (shape, Tensor::from_vec(shape, data.clone()).unwrap()),
    };
    assert_eq!(value.shape(), *shape);
    value
}

fn compute(made: &Listed, inputs: &[&Tensor]) -> Result<Tensor> {
    let number = |name| made.number(name).unwrap_or_else(|| panic!("{}: no {name}", made.op));
    let whole = |name| number(name) as usize;
    let (x, rest) = inputs.split_first().unwrap();
    match made.op {
        "embedding" => {
            let ids = ["tokens", "places", "rows"].iter().find_map(|name| ids(made, name)).unwrap();
            ops::embedding(x, ids, &made.shape[..made.shape.len() - 1])
        }
        "add" => ops::add(x, rest[0]),
        "sub" => ops::sub(x, rest[0]),
        "mul" => ops::mul(x, rest[0]),
        "mul_scalar" => ops::mul_scalar(x, number("s") as f32),
        "add_scalar" => ops::add_scalar(x, number("s") as f32),
        "sum" => ops::sum(x),
        "mean" => ops::mean(x),
        "gelu" => ops::gelu(x),
        "gelu_exact" => ops::gelu_exact(x),
        "silu" => ops::silu(x),
        "swiglu" => ops::swiglu(x),
        "relu2" => ops::relu2(x),
        "softmax" => ops::softmax_lastdim(x),
        "reshape" => ops::reshape(x, &made.shape),
        "broadcast" => ops::broadcast_to(x, &made.shape),
        "matmul" if x.rank() == 2 => ops::matmul2d(x, rest[0]),
        "matmul" => ops::bmm(x, rest[0]),
        "linear" => {
            let op =
                if number("transposed") == 1.0 { ops::linear_tied } else { ops::linear_lastdim };
            op(x, rest[0], rest.get(1).copied())
        }
        "layernorm" => match rest {
            [g, b] => ops::layernorm_affine_lastdim(x, g, b, number("eps") as f32),
            _ => ops::layernorm_lastdim(x, number("eps") as f32),
        },
        "rmsnorm" => ops::rmsnorm_lastdim(x, rest.first().copied(), number("eps") as f32),
        "attention" => {
            let [n_heads, kv_heads, head_dim, window] =
                ["heads", "kv_heads", "head_dim", "window"].map(whole);
            let (scale, soft_cap) = (number("scale") as f32, made.number("soft_cap"));
            let scoring = Scoring { scale, soft_cap: soft_cap.map(|c| c as f32), window };
            let heads = HeadShape { n_heads, kv_heads, head_dim, scoring };
            let keep = match made.fact("keep") {
                Some(Fact::Flags(keep)) => &keep[..],
                _ => &[],
            };
            causal_attention_grouped(x, heads, keep, masks(made))
        }
        "rotary" => {
            let Some(Fact::Angles(angles)) = made.fact("angles") else { panic!("no angles") };
            ops::rotary(x, whole("heads"), whole("head_dim"), angles, whole("start"))
        }
        "dropout" => ops::dropout(x, Some(masks(made).unwrap())),
        "slice" => {
            let axis = whole("axis");
            ops::slice(x, axis as isize, whole("start"), made.shape[axis])
        }
        "concat" => ops::concat(inputs, whole("axis") as isize),
        "transpose" => ops::transpose(x, whole("a") as isize, whole("b") as isize),
        "cross_entropy" => ops::cross_entropy(x, ids(made, "targets").unwrap()),
        "permute" => {
            let Some(Fact::Axes(axes)) = made.fact("axes") else { panic!("no axes") };
            permute(x, axes)
        }
        // One head, by the public function: with the unit matrix for V it gives P itself.
        "attention_weights" => {
            assert_eq!(whole("heads"), 1);
            let (batch, s) = (made.shape[0], made.shape[2]);
            let unit = |i: IxDyn| if i[1] == i[2] { 1.0 } else { 0.0 };
            let unit = ArrayD::from_shape_fn(IxDyn(&[batch, s, s]), unit);
            let Some(Fact::Values(mask)) = made.fact("mask") else { panic!("no mask") };
            let mask = ArrayD::from_shape_vec(made.shape.clone(), mask.clone()).unwrap();
            let mask = AdditiveMask::new(mask)?;
            let scale = Some(number("scale") as f32);
            scaled_dot_product_attention(x, rest[0], &Tensor::new(unit), scale, Some(&mask))
        }
        "weighted_sum" => ops::bmm(x, rest[0]),
        other => panic!("'{other}' is not known"),
    }
}

fn ids<'m>(made: &'m Listed, name: &str) -> Option<&'m [TokenId]> {
    match made.fact(name) {
        Some(Fact::Ids(ids)) => Some(ids),
        _ => None,
    }
}

fn masks(made: &Listed) -> Option<Dropout> {
    match made.fact("masks") {
        Some(Fact::Masks(masks)) => Some(*masks),
        _ => None,
    }
}
