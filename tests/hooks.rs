//! A run watched, ended and shared through hooks, by code that knows nothing of the trainer's inside.

use llm_core::checkpoint::Snapshot;
use llm_core::model::Mode;
use llm_core::train::{
    Ending, Evaluation, Flow, Hooks, OneProcess, Patience, Pending, RunPlan, StepReport, TimeLimit,
    Trainer,
};
use llm_core::{Config, Recipe, Result, TinyGPT, TokenDataset};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

fn text() -> TokenDataset {
    TokenDataset::from_bytes(b"the cat sat on the mat and the dog lay by the door. ".repeat(30))
}

fn trainer(seed: u64) -> Trainer {
    let model = TinyGPT::new(Config::new(256, 16, 16, 1), 1).unwrap();
    let recipe = Recipe { seed, ..Recipe::new([2, 16], 10, 1e-2) };
    Trainer::new(model, recipe).unwrap()
}

fn weights(trainer: &Trainer) -> Vec<f32> {
    trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec()).collect()
}

/// One of two trainers that learn together: each adds the other's gradients to its own.
struct Together {
    to: Sender<(f64, Vec<Vec<f32>>)>,
    from: Receiver<(f64, Vec<Vec<f32>>)>,
}

impl Hooks for Together {
    fn before_update(&mut self, pending: &mut Pending<'_>) -> Result<()> {
        let mine = pending.gradients().into_iter().map(|(_, g)| g.to_vec()).collect();
        self.to.send((*pending.loss, mine)).unwrap();
        let (loss, others) = self.from.recv().unwrap();
        *pending.loss = (*pending.loss + loss) / 2.0;
        for ((_, mine), other) in pending.gradients().into_iter().zip(others) {
            mine.iter_mut().zip(other).for_each(|(a, b)| *a = (*a + b) / 2.0);
        }
        Ok(())
    }
}

/// Two trainers with different batches, their gradients averaged through the hook, stay equal bit
/// for bit, and do what one does with the mean of both gradients.
#[test]
fn gradients_are_averaged_over_two_trainers_from_outside() {
    let (a, b) = (channel(), channel());
    let hooks = [Together { to: a.0, from: b.1 }, Together { to: b.0, from: a.1 }];
    let [one, two] = std::thread::scope(|scope| {
        let mut seed = 1;
        let run = hooks.map(|mut hooks| {
            seed += 1;
            scope.spawn(move || {
                let mut trainer = trainer(seed);
                assert_eq!(
                    trainer.run(&text(), &RunPlan::new(5), &mut OneProcess, &mut hooks).unwrap(),
                    Ending::AllSteps
                );
                trainer
            })
        });
        run.map(|thread| thread.join().unwrap())
    });
    assert_eq!(weights(&one), weights(&two));

    let mut alone = trainer(1);
    for step in 0..5 {
        let [mut grads, mut other] = [2, 3].map(|seed| {
            let batch = text().batch(seed, step, [2, 16]).unwrap();
            alone.model.loss(&batch, Mode::Training).unwrap().backward().unwrap()
        });
        let others = other.named_mut(alone.model.parameters());
        for ((_, a), (_, b)) in grads.named_mut(alone.model.parameters()).into_iter().zip(others) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a + *b) / 2.0);
        }
        let norm = llm_core::optim::grad_norm(alone.model.parameters(), &grads);
        let scale = llm_core::optim::clip_scale(norm, 1.0);
        alone.optimizer.step(&mut alone.model.parameters_mut(), &grads, 1e-2, scale).unwrap();
    }
    assert_eq!(weights(&alone), weights(&one));
}

/// Notes in which order it is called.
#[derive(Default)]
struct Notes(Vec<String>);

impl Hooks for Notes {
    fn before_update(&mut self, pending: &mut Pending<'_>) -> Result<()> {
        self.0.push(format!("update {}", pending.step));
        Ok(())
    }
    fn after_step(&mut self, run: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        assert_eq!(run.step, report.step);
        self.0.push(format!("step {}", run.step));
        Ok(Flow::Continue(()))
    }
    fn evaluated(&mut self, run: Snapshot<'_>, evaluation: &Evaluation) -> Result<Flow> {
        assert!(evaluation.loss > 0.0);
        self.0.push(format!("evaluated {}", run.step));
        Ok(Flow::Continue(()))
    }
    fn save(&mut self, run: Snapshot<'_>) -> Result<()> {
        self.0.push(format!("save {}", run.step));
        Ok(())
    }
}

#[test]
fn hooks_are_called_in_their_order() {
    let (data, unseen) = text().split(0.2);
    let plan = RunPlan::new(4).evaluating(&unseen, 16, 2).saving(2);
    let mut notes = Notes::default();
    let mut run = trainer(1);
    run.run(&data, &plan, &mut OneProcess, &mut notes).unwrap();
    let want = "update 0, step 1, update 1, step 2, evaluated 2, save 2, update 2, step 3, update 3, step 4";
    assert_eq!(notes.0.join(", "), want);
}

#[test]
fn time_and_patience_end_a_run_between_two_steps() {
    let (data, unseen) = text().split(0.2);
    let mut run = trainer(1);
    let ending = run
        .run(&data, &RunPlan::new(9), &mut OneProcess, &mut TimeLimit::new(Duration::ZERO))
        .unwrap();
    assert_eq!((ending, run.step), (Ending::TimeIsUp { left: 8 }, 1));

    // A rate of 0 brings no better loss: the first measurement is the best, two more are too many.
    let mut run = trainer(1);
    run.recipe.schedule = llm_core::Schedule::constant(0.0);
    let plan = RunPlan::new(9).evaluating(&unseen, 16, 1);
    let mut patience = Patience::new(2);
    assert_eq!(run.run(&data, &plan, &mut OneProcess, &mut patience).unwrap(), Ending::NoProgress);
    assert_eq!((run.step, patience.worse()), (3, 2));
}
