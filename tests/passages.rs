//! Passages of unlike length: a step's mean is over its targets, whoever computes which of them.

use llm_core::crew::InProcess;
use llm_core::data::Window;
use llm_core::model::Mode;
use llm_core::train::{OneProcess, ProcessGroup, Trainer, Work};
use llm_core::{Batch, Config, Gradients, Recipe, TinyGPT, TokenDataset};
use llm_variant_mha::MultiHead;
use std::sync::Arc;

/// 41 passages of 5 to 63 tokens, of which the last third, or a single one, is learned.
fn data() -> TokenDataset {
    let (mut windows, mut learned) = (Vec::new(), Vec::new());
    for i in 0..41 {
        let len = 4 + i * 17 % 59;
        windows.push(Window { start: learned.len(), len });
        let from = if i % 3 == 0 { len } else { 1 + 2 * len / 3 };
        learned.extend((0..=len).map(|place| place >= from));
    }
    let tokens = (0..learned.len()).map(|i| (i * i % 251) as u32).collect();
    TokenDataset::from_tokens(tokens).with_passages(windows, learned).unwrap()
}

fn trainer(batch_size: usize, accum: u32) -> Trainer {
    let config = Config::new(256, 64, 24, 2);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 3).unwrap();
    Trainer::new(model, Recipe { accum, ..Recipe::new([batch_size, 64], 20, 1e-2) }).unwrap()
}

/// Loss and gradient of a step.
fn step(trainer: &Trainer, step: u64) -> (f64, Gradients) {
    let Trainer { model, recipe, .. } = trainer;
    let data = data();
    let mut batches = (0..recipe.accum).map(|micro| recipe.batch(&data, step, micro));
    let (gradients, loss, _) = OneProcess.gradients(model, &mut batches, step).unwrap();
    (loss, gradients)
}

/// The loss by its definition: over all targets of the rows.
fn by_definition(trainer: &Trainer, step: u64) -> f64 {
    let Trainer { model, recipe, .. } = trainer;
    let rows = recipe.batch_size as u32 * recipe.accum;
    let one = Recipe { batch_size: 1, accum: rows, ..recipe.clone() };
    let (mut sum, mut targets) = (0.0, 0);
    for row in 0..rows {
        let batch: Batch = one.batch(&data(), step, row).unwrap();
        let loss = model.loss(&batch, Mode::Evaluation).unwrap().item();
        sum += f64::from(loss) * batch.counted() as f64;
        targets += batch.counted();
    }
    sum / targets as f64
}

#[test]
fn micro_batches_of_unlike_length_are_the_bigger_batch() {
    for (rows, accums) in [(16, &[2, 4, 16][..]), (15, &[3, 5, 15]), (14, &[7])] {
        let whole = trainer(rows, 1);
        let (loss, wanted) = step(&whole, 1);
        assert!((loss - by_definition(&whole, 1)).abs() < 1e-6 * loss);
        for &accum in accums {
            let parts = trainer(rows / accum as usize, accum);
            let (of_parts, got) = step(&parts, 1);
            assert!(
                (of_parts - loss).abs() < 1e-6 * loss,
                "{rows}/{accum}: {of_parts}, not {loss}"
            );
            for ((name, p), (_, q)) in whole.model.parameters().zip(parts.model.parameters()) {
                let (wanted, got) = (wanted.get(p).unwrap(), got.get(q).unwrap());
                let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
                let off = norm(&mut wanted.iter().zip(got).map(|(a, b)| a - b));
                let all = norm(&mut wanted.iter().copied());
                assert!(off <= 1e-6 * all, "{rows}/{accum}, {name}: {:.1e}", off / all);
            }
        }
    }
}

fn learned(work: &mut dyn Work) -> (Vec<u32>, Vec<u32>) {
    let (mut trainer, data) = (trainer(1, 8), data());
    let losses = (0..5).map(|_| trainer.step_with(&data, work, &mut ()).unwrap().loss.to_bits());
    let losses = losses.collect();
    let weights = trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec());
    (losses, weights.map(f32::to_bits).collect())
}

#[test]
fn any_number_of_processes_learns_the_same_bits_of_them() {
    let alone = learned(&mut OneProcess);
    for size in [1, 2, 4, 8] {
        let all = InProcess::run(size, |crew| learned(&mut ProcessGroup::new(crew)));
        assert!(all.iter().all(|member| *member == alone), "{size} processes");
    }
}
