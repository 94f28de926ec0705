//! docs/concepts/tokens_and_embeddings.md: letters that are used alike get rows that are alike.

use super::{next, rows};
use llm_core::{Result, Tensor, ops};

/// Two numbers for each letter before anything is learned; the scores that are made of them start at 0.
pub const START: [[f32; 2]; 5] = [[0.5, 0.1], [-0.3, 0.4], [0.2, -0.5], [-0.4, -0.2], [0.1, 0.3]];
/// How often the whole text is gone through, and the rate.
pub const PASSES: usize = 300;
const LR: f32 = 2.0;

/// The rows of the letters after `passes` passes.
pub fn learned(passes: usize) -> Result<Tensor> {
    let mut wte = Tensor::parameter(rows(START).view().to_owned());
    let mut w = Tensor::parameter_from_vec(&[2, 5], vec![0.0; 10])?;
    let (letters, nexts): (Vec<_>, Vec<_>) = next::pairs().into_iter().unzip();
    for _ in 0..passes {
        let x = ops::embedding(&wte, &letters, &[letters.len()])?; // [10, 2]: a row for each letter
        let scores = ops::linear_lastdim(&x, &w, None)?; // [10, 5]
        let loss = ops::cross_entropy(&scores, &nexts)?;
        let gradients = loss.backward()?;
        for p in [&mut wte, &mut w] {
            let gradient = gradients.get(p).expect("both are used").to_vec();
            p.data_mut().iter_mut().zip(gradient).for_each(|(x, g)| *x -= LR * g);
        }
    }
    Ok(wte)
}

/// The cosine of the angle between the rows of two letters: 1 where they point the same way.
pub fn alike(wte: &Tensor, [a, b]: [usize; 2]) -> f64 {
    let row = |i: usize| [wte.data()[2 * i], wte.data()[2 * i + 1]].map(f64::from);
    let dot = |x: [f64; 2], y: [f64; 2]| x[0] * y[0] + x[1] * y[1];
    let (a, b) = (row(a), row(b));
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// After c, d and r there is always an a.
#[test]
fn letters_that_are_used_alike_come_together() {
    let wte = learned(PASSES).unwrap();
    for pair in [[2, 3], [2, 4], [3, 4]] {
        assert!(alike(&wte, pair) > 0.98, "{pair:?}");
    }
    for pair in [[0, 1], [0, 2], [1, 2], [1, 4]] {
        assert!(alike(&wte, pair) < 0.0, "{pair:?}");
    }
}
