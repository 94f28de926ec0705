//! Learning from rewards beside TRL's loss in PyTorch (float64).

use crate::pytorch_training::model;
use llm_core::model::{Mode, Origin};
use llm_run::rewards::{Attempt, advantages, learned};
use workspace_tests::assert_close;
use workspace_tests::fixture::Fixture;

const TOL: f64 = 1e-5;

/// Loss and gradients of a step's answers: of all at once, and of micro-batches by their shares.
#[test]
fn loss_and_gradients_are_those_of_trl() {
    let f = Fixture::read("rewards");
    let model = model(&f);
    let n = |name: &str| f.meta(name) as usize;
    let (tokens, width) = (f.tokens("tokens"), f.shape("tokens")[1]);
    let lengths = f.values("start").iter().zip(f.values("length"));
    let answers: Vec<Attempt> = tokens
        .chunks_exact(width)
        .zip(lengths)
        .map(|(row, (&start, &length))| {
            let (prompt, rest) = row.split_at(start as usize);
            let tokens = rest[..length as usize].to_vec();
            Attempt {
                prompt: prompt.to_vec(),
                tokens,
                text: String::new(),
                ended: true,
                entropy: 0.0,
            }
        })
        .collect();
    for (name, scaled) in [("plain", false), ("scaled", true)] {
        let weights = advantages(f.values("rewards"), n("group"), scaled);
        for rows in [8, 4] {
            let micro_batches = 8 / rows;
            let (mut loss, mut grads) = (0.0, vec![0.0f64; model.parameter_count() as usize]);
            for part in 0..micro_batches {
                let these = part * rows..(part + 1) * rows;
                let origin =
                    Origin { first_row: these.start as u64, step_rows: 8, ..Origin::default() };
                let batch = learned(&answers[these.clone()], &weights[these], origin, n("most"));
                let (share, of) =
                    (batch.share(micro_batches), model.loss(&batch, Mode::Training).unwrap());
                loss += f64::from(share) * f64::from(of.item());
                let of = of.backward_into(Default::default(), share).unwrap();
                let flat = model.parameters().flat_map(|(_, p)| of.get(p).unwrap().to_vec());
                grads.iter_mut().zip(flat).for_each(|(sum, g)| *sum += f64::from(g));
            }
            assert_close(name, &[loss as f32], f.values(&format!("{name}.loss")), TOL);
            let mut at = 0;
            for (p, tensor) in model.parameters() {
                let own: Vec<f32> =
                    grads[at..at + tensor.numel()].iter().map(|g| *g as f32).collect();
                at += tensor.numel();
                assert_close(
                    &format!("{name} d{p}"),
                    &own,
                    f.values(&format!("{name}.grad.{p}")),
                    TOL,
                );
            }
        }
    }
}
