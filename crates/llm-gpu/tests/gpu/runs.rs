//! Whole runs: from the processor to the device and back, measured on the way, lost on the way.

use crate::support::{Case, gpu, hyper, text};
use llm_core::checkpoint::Snapshot;
use llm_core::crew::InProcess;
use llm_core::data::Window;
use llm_core::model::{Batch, SingleHead};
use llm_core::train::{
    Ending, Flow, Hooks, OneProcess, ProcessGroup, RunPlan, StepReport, Trainer, Work,
    evaluate_together,
};
use llm_core::{Config, Error, Hyperparameters, Result, TokenDataset};
use llm_gpu::{Gpu, GpuWork};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow::Continue;

fn case() -> Case {
    Case::new(Config::new(256, 20, 24, 2), MultiHead::new(2), 3)
}

fn work(gpu: &Gpu, trainer: &Trainer) -> GpuWork {
    GpuWork::new(gpu.clone(), trainer, &text()).unwrap_or_else(|e| panic!("{e}"))
}

/// Keeps losses, and gives the device up behind a step.
#[derive(Default)]
struct Losses {
    all: Vec<f32>,
    lost_after: Option<(u64, Gpu)>,
    saved: Vec<u64>,
    waits: bool,
    ends_after: Option<u64>,
}

impl Hooks for Losses {
    fn waits(&mut self) -> bool {
        self.waits
    }

    fn before_next(&mut self, run: Snapshot<'_>, _: u64) -> Result<Flow> {
        let ends = self.ends_after.is_some_and(|last| run.step >= last);
        Ok(if ends { Flow::Break(Ending::NoProgress) } else { Flow::Continue(()) })
    }

    fn after_step(&mut self, run: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        self.all.push(report.loss);
        if let Some((step, gpu)) = &self.lost_after
            && run.step == *step
        {
            gpu.destroy();
        }
        Ok(Flow::Continue(()))
    }

    fn save(&mut self, run: Snapshot<'_>) -> Result<()> {
        self.saved.push(run.step);
        Ok(())
    }
}

fn bits(trainer: &Trainer) -> Vec<u32> {
    let weights = trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec());
    let state = trainer.optimizer.state().parameters.iter();
    let kept = state.flat_map(|p| p.slots.iter().flat_map(|slot| slot.to_vec()));
    weights.chain(kept).map(f32::to_bits).collect()
}

/// Five steps each on the processor, the device, the processor.
#[test]
fn a_run_goes_on_across_devices() {
    let Some(gpu) = gpu() else { return };
    for (optimizer, lr) in [("adamw", 3e-3), ("muon", 1e-2), ("lion", 3e-4)] {
        let start = Case { optimizer, lr, ..case() }.trainer();
        let (data, plan) = (text(), RunPlan::new(5));
        let (mut alone, mut wanted) = (start.clone(), Losses::default());
        alone.run(&data, &RunPlan::new(15), &mut OneProcess, &mut wanted).unwrap();
        let (mut trainer, mut got) = (start, Losses::default());
        trainer.run(&data, &plan, &mut OneProcess, &mut got).unwrap();
        let mut there = work(&gpu, &trainer);
        let ending = trainer.run(&data, &plan, &mut there, &mut got).unwrap();
        assert_eq!((ending, trainer.optimizer.state().t), (Ending::AllSteps, 10));
        trainer.run(&data, &plan, &mut OneProcess, &mut got).unwrap();
        let pairs = got.all.iter().zip(&wanted.all);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{optimizer} on the processor, the device, the processor: losses {worst:.1e}");
        assert_eq!((got.all.len(), trainer.step), (15, 15));
        assert!(worst < 1e-5, "{optimizer}: losses are {worst:.1e} apart");
    }
}

/// Also with rows that are missing, and with windows of other lengths. The model here is that of the
/// start all along.
#[test]
fn the_device_measures_what_it_has_learned() {
    let Some(gpu) = gpu() else { return };
    let (mut trainer, data) = (case().trainer(), text());
    let mut there = work(&gpu, &trainer);
    let start = trainer.model.clone();
    for _ in 0..20 {
        trainer.step_with(&data, &mut there, &mut ()).unwrap();
    }
    let measure = |work: &mut dyn Work, model, seq_len| {
        let windows = data.windows(seq_len).evenly_spaced(17 * seq_len);
        let (mut losses, mut right) = (Vec::new(), Vec::new());
        let all = evaluate_together(work, model, &data, &windows, 5, |scored| {
            losses.extend(scored.losses.to_vec());
            right.extend(scored.right.to_vec());
            Continue(())
        });
        (losses, right, all.unwrap())
    };
    let lengths = [20, 7, 13, 20];
    let got = lengths.map(|seq_len| measure(&mut there, &start, seq_len));
    there.fetch(&mut trainer.model, trainer.optimizer.as_mut()).unwrap();
    for (seq_len, (losses, right, all)) in lengths.into_iter().zip(got) {
        let (wanted, firsts, of) = measure(&mut OneProcess, &trainer.model, seq_len);
        let off = losses.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("windows of {seq_len}: {} places, losses {off:.1e}, {all:?}", losses.len());
        assert!(losses.len() == wanted.len() && off < 1e-5, "losses are {off:.1e} apart");
        assert_eq!((right, all.tokens), (firsts, of.tokens));
        assert!(all.accuracy > 0.1, "some are first choices, others are not: {}", all.accuracy);
    }
}

/// The first of equal scores is the choice; an ignored target costs nothing.
#[test]
fn the_first_of_equals_is_the_choice() {
    let Some(gpu) = gpu() else { return };
    let mut trainer = case().trainer();
    trainer.model.parameters_mut().for_each(|(_, p)| p.data_mut().fill(0.0));
    let targets = vec![0, 1, 255, Batch::IGNORED];
    let batch = Batch::new(vec![5; 4], targets, [1, 4]);
    let (losses, right) = work(&gpu, &trainer).score(&trainer.model, &batch).unwrap().unwrap();
    let even = 256f32.ln();
    let close = losses.iter().zip([even, even, even, 0.0]).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close, "{losses:?}");
    assert_eq!(right, [true, false, false, false]);
}

/// What was fetched last is there: the state that was saved.
#[test]
fn a_device_that_is_lost_ends_the_run() {
    let Some(gpu) = gpu() else { return };
    let (mut trainer, data) = (case().trainer(), text());
    let mut there = work(&gpu, &trainer);
    let mut hooks = Losses { lost_after: Some((6, gpu.clone())), ..Losses::default() };
    let plan = RunPlan::new(20).saving(4);
    let error = trainer.run(&data, &plan, &mut there, &mut hooks).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
    let said = error.to_string();
    println!("{said}");
    assert!(said.starts_with("the GPU: ") && !said.contains('\n'), "{said}");
    assert_eq!((hooks.saved, trainer.step, hooks.all.len()), (vec![4], 4, 6));
    // From there it goes on, on the processor or another device.
    let mut alone = case().trainer();
    let mut first = work(&Gpu::open(Some(gpu.adapter())).unwrap(), &alone);
    alone.run(&data, &RunPlan::new(4), &mut first, &mut ()).unwrap();
    assert!(bits(&alone) == bits(&trainer), "the state of step 4, to the bit");
    let again = GpuWork::new(gpu, &trainer, &data).unwrap_err();
    assert!(again.to_string().starts_with("the GPU: "), "{again}");
}

/// A step ahead of its reports and waiting for each, over measurements and saves: the same losses and states to the bit, where
/// it is clipped too, and where it ends: by itself, by a hook, or by a number that is not finite.
#[test]
fn a_step_ahead_comes_to_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let data = text();
    let run = |trainer: &Trainer, hooks: Losses| {
        let (mut trainer, mut hooks) = (trainer.clone(), hooks);
        let mut there = work(&gpu, &trainer);
        let plan = RunPlan::new(12).evaluating(&data, 20, 5).saving(4);
        let ending = trainer.run(&data, &plan, &mut there, &mut hooks);
        let t = trainer.optimizer.state().t;
        let ending = ending.map_err(|e| e.to_string());
        (bits(&trainer), trainer.step, t, hooks.all, hooks.saved, ending)
    };
    let both = |trainer: &Trainer, ends_after| {
        [false, true].map(|waits| run(trainer, Losses { waits, ends_after, ..Losses::default() }))
    };
    for (clip, accum, optimizer) in [(0.01, 1, "adamw"), (0.0, 2, "muon"), (1.0, 1, "lion")] {
        let mut start = Case { accum, optimizer, ..case() }.trainer();
        start.recipe.clip = clip;
        let [ahead, waited] = both(&start, None);
        assert!(ahead == waited, "{optimizer}");
        assert_eq!((ahead.1, ahead.2, ahead.3.len()), (12, 12, 12));
        // What was queued already is done and reported.
        let [ahead, waited] = both(&start, Some(6));
        assert_eq!((waited.1, ahead.1, ahead.3.len()), (6, 7, 7));
        assert_eq!(ahead.5, Ok(Ending::NoProgress));
    }
    let mut start = case().trainer();
    (start.recipe.clip, start.recipe.schedule.lr) = (0.0, 1e12);
    let [ahead, waited] = both(&start, None);
    println!("{} steps, then: {:?}", ahead.1, ahead.5);
    assert!(ahead.5.is_err() && ahead.1 > 0 && ahead == waited, "{:?} and {:?}", ahead.5, waited.5);
}

/// A token that overflows stands in the text once: the step that meets it ends the run, and the one behind it, which is
/// queued already and would be fine, changes nothing.
#[test]
fn what_is_not_finite_holds_the_step_behind_it() {
    let Some(gpu) = gpu() else { return };
    let mut bytes: Vec<u8> = text().tokens(0, 900).unwrap().iter().map(|&t| t as u8).collect();
    bytes[450] = 255;
    let data = TokenDataset::from_bytes(bytes);
    let mut start = case().trainer();
    let width = start.model.config().d_model;
    start.model.wte.data_mut()[255 * width..].fill(3e38);
    let run = |waits| {
        let (mut trainer, mut hooks) = (start.clone(), Losses { waits, ..Losses::default() });
        let mut there = GpuWork::new(gpu.clone(), &trainer, &data).unwrap();
        let ended = trainer.run(&data, &RunPlan::new(200), &mut there, &mut hooks);
        let said = ended.map_err(|e| e.to_string()).unwrap_err();
        (bits(&trainer), trainer.step, trainer.optimizer.state().t, hooks.all, said)
    };
    let [ahead, waited] = [false, true].map(run);
    println!("{} steps, then: {}", ahead.1, ahead.4);
    assert!(ahead.1 > 0 && ahead == waited, "{} and {}", ahead.4, waited.4);
}

/// Two processes with a device each, here threads with an adapter that each opens for itself: the losses of one process on the
/// CPU, and the same bits for both ranks and on every run.
#[test]
fn two_processes_with_a_device_each() {
    let Some(gpu) = gpu() else { return };
    for (optimizer, lr) in [("adamw", 3e-3), ("muon", 1e-2)] {
        let start = Case { accum: 4, optimizer, lr, ..case() }.trainer();
        let data = text();
        let plan = || RunPlan::new(8).evaluating(&data, 20, 3).saving(4);
        let once = || {
            InProcess::run(2, |crew| {
                let own = Gpu::open(Some(gpu.adapter())).unwrap();
                let mut trainer = start.clone();
                let mut there = GpuWork::among(2, own, &trainer, &data).unwrap();
                let mut hooks = Losses::default();
                let mut group = ProcessGroup::new(crew).on(&mut there);
                trainer.run(&data, &plan(), &mut group, &mut hooks).unwrap();
                (bits(&trainer), hooks.all, hooks.saved)
            })
        };
        let [ranks, again] = [once(), once()];
        assert!(ranks[0] == ranks[1] && ranks == again, "{optimizer}: bits");
        let (mut alone, mut wanted) = (start.clone(), Losses::default());
        alone.run(&data, &plan(), &mut OneProcess, &mut wanted).unwrap();
        let pairs = ranks[0].1.iter().zip(&wanted.all);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{optimizer}, two processes: losses {worst:.1e} apart");
        assert!(ranks[0].1.len() == 8 && worst < 1e-5, "{optimizer}: {worst:.1e}");
    }
}

/// The kernels themselves refuse: no host looks in between here.
#[test]
fn a_norm_that_is_no_number_changes_nothing() {
    let Some(gpu) = gpu() else { return };
    for optimizer in ["adamw", "muon", "lion"] {
        let mut trainer = Case { optimizer, ..case() }.trainer();
        trainer.model.blocks[1].w_fc.data_mut()[3] = f32::INFINITY;
        let mut step = Case::step(&gpu, &trainer);
        let batch = &crate::support::first_batches(&trainer)[0];
        step.gradient(batch, 0).unwrap();
        assert!(!step.report().unwrap().grad_norm.is_finite());
        step.update(1e-2, 1.0);
        for ((name, p), (_, now)) in trainer.model.parameters().zip(&step.weights().unwrap()) {
            assert_eq!(p.data(), now, "{optimizer} moved {name}");
        }
        let kept = step.state().unwrap().parameters;
        assert!(kept.iter().all(|p| p.slots.iter().all(|s| s.iter().all(|x| *x == 0.0))));
    }
}

/// The parameter is named, as on the processor, and nothing has changed.
#[test]
fn a_gradient_that_is_no_number_ends_the_run() {
    let Some(gpu) = gpu() else { return };
    let mut start = case().trainer();
    start.model.blocks[1].w_fc.data_mut()[3] = f32::NAN;
    let mut trainer = start.clone();
    let wanted = start.step(&text()).unwrap_err();
    let mut there = work(&gpu, &trainer);
    let got = trainer.run(&text(), &RunPlan::new(3), &mut there, &mut ()).unwrap_err();
    assert!(matches!((&wanted, &got), (Error::Diverged { .. }, Error::Diverged { .. })), "{got}");
    assert_eq!((got.to_string(), trainer.step), (wanted.to_string(), 0));
}

/// Weights beyond f32 do not come back: the run has those from before.
#[test]
fn weights_that_are_no_numbers_are_not_fetched() {
    let Some(gpu) = gpu() else { return };
    let mut trainer = Case::new(Config::new(256, 8, 8, 1), SingleHead, 2).trainer();
    let recipe = &mut trainer.recipe;
    recipe.hyperparameters = Hyperparameters { weight_decay: 1e10, ..hyper() };
    recipe.schedule.lr = 1e30;
    trainer = Trainer::new(trainer.model, trainer.recipe).unwrap();
    let before = bits(&trainer);
    let mut there = work(&gpu, &trainer);
    match trainer.run(&text(), &RunPlan::new(1), &mut there, &mut ()).unwrap_err() {
        Error::Unusable { what, step: 1, .. } => assert_eq!(what.to_string(), "wte"),
        other => panic!("{other}"),
    }
    assert_eq!((bits(&trainer), trainer.step), (before, 0));
}

/// Passages of unlike length: rows are filled up to one length, and each target of a step counts the same.
#[test]
fn passages_of_unlike_length() {
    let Some(gpu) = gpu() else { return };
    let (mut windows, mut learned) = (Vec::new(), Vec::new());
    for i in 0..17 {
        let len = 3 + i * 7 % 18;
        windows.push(Window { start: learned.len(), len });
        let from = if i % 3 == 0 { len } else { 1 + len / 2 };
        learned.extend((0..=len).map(|place| place >= from));
    }
    let tokens = (0..learned.len()).map(|i| (i * i % 251) as u32).collect();
    let data = TokenDataset::from_tokens(tokens).with_passages(windows, learned).unwrap();
    let mut here = Case { accum: 3, batch_size: 1, ..case() }.trainer();
    let mut there = here.clone();
    let mut work = GpuWork::new(gpu, &there, &data).unwrap_or_else(|e| panic!("{e}"));
    for step in 0..8 {
        let wanted = here.step(&data).unwrap();
        let report = there.step_with(&data, &mut work, &mut ()).unwrap();
        assert!((report.loss - wanted.loss).abs() < 1e-5, "step {step}: {report:?}, {wanted:?}");
        assert!(
            (report.grad_norm / wanted.grad_norm - 1.0).abs() < 1e-5,
            "step {step}: {report:?}"
        );
        assert_eq!(report.tokens, wanted.tokens);
    }
}
