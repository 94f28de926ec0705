//! Values of docs/variants/mha/learn_by_hand.md: the crates run on the page's two positions.

use super::head::close;
use super::{Values, list, wide};
use crate::docs::modules::{W_PROJ, X, layer};
use llm_core::kernels::attention::probs;
use llm_core::kernels::gemm::matrix;
use llm_core::ops;
use llm_variant_mha::{causal_attention_heads, self_attention_mha};

pub fn add(values: &mut Values) {
    let [x, w_qkv, b_qkv, w_proj, b_proj] = layer();
    values.insert("mhand.sizes", list![1, 2, 2, 2, 1]);
    values.insert("mhand.x", wide(&X.concat()));
    values.insert("mhand.proj", wide(&W_PROJ.concat()));

    // Heads: h = 0 has column 0 of q, k and v, which are all x.
    let qkv = ops::linear_lastdim(&x, &w_qkv, Some(&b_qkv)).unwrap();
    let a = causal_attention_heads(&qkv, 2, &[], None).unwrap();
    let mut columns = list![0, 1];
    let mut shares = Vec::new();
    let mut outputs = Vec::new();
    for h in 0..2 {
        let column = [X[0][h], X[1][h]];
        columns.extend([list![h as u32], wide(&column)].concat());
        shares.push(h as f64);
        let p = probs(matrix(&column, 2, 1), matrix(&column, 2, 1), 1.0);
        let scores = column.map(|k| column[1] * k);
        let exps = scores.map(f32::exp);
        for j in 0..2 {
            shares.extend(list![column[1], column[j], scores[j], exps[j]]);
        }
        shares.extend(list![h as u32]); // P of the head
        shares.extend(wide(&p[2..]));
        let y = p[2] * column[0] + p[3] * column[1];
        close(&[column[0], y], &[a.data()[h], a.data()[2 + h]]);
        outputs.extend(list![h as u32, p[2], column[0], p[3], column[1], y]);
    }
    let own: Vec<f64> = (0..2u32).flat_map(|h| list![h, 1, X[0][h as usize]]).collect();
    values.insert("mhand.columns", columns);
    values.insert("mhand.first", own);
    values.insert("mhand.shares", shares);
    values.insert("mhand.outputs", outputs);

    let out =
        self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, 2, &ops::Context::new(0)).unwrap();
    let (a, out) = (a.data(), out.data());
    let line = |t: usize| {
        let [y0, y1] = [a[2 * t], a[2 * t + 1]];
        list![y0, y1, y0, y1, out[2 * t], out[2 * t + 1]]
    };
    values.insert("mhand.out", [line(0), line(1)].concat());

    let one = ops::causal_attention_1h(&qkv, None).unwrap();
    let scale = 1.0 / 2f32.sqrt();
    let p = probs(matrix(&X.concat(), 2, 2), matrix(&X.concat(), 2, 2), scale);
    let dots = [0, 1].map(|j| X[1][0] * X[j][0] + X[1][1] * X[j][1]);
    values.insert("mhand.one_head", {
        let scores = dots.map(|dot| dot * scale);
        [
            list![1],
            wide(&dots),
            list![1, 2, scale],
            wide(&scores),
            wide(&p[2..]),
            wide(&one.data()[2..]),
        ]
        .concat()
    });
    values.insert("mhand.rows", [wide(&p[2..]), shares_of(values)].concat());
    values.insert("mhand.far", list![-1e9, 1, 3]);
}

/// P of both heads, as [`add`] put them beside the scores.
fn shares_of(values: &Values) -> Vec<f64> {
    let shares = &values["mhand.shares"];
    [&shares[9..12], &shares[21..24]].concat()
}
