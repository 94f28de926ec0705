//! A step is the same bytes for every number of members.

use llm_core::base::CrewError;
use llm_core::checkpoint::{self, Checkpoint, Snapshot, TokenizerSpec};
use llm_core::crew::InProcess;
use llm_core::train::{
    Ending, Flow, Hooks, OneProcess, ProcessGroup, RunPlan, StepReport, Trainer, Work,
    evaluate_together,
};
use llm_core::{Config, Error, Recipe, Result, TinyGPT, TokenDataset};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const ACCUM: u32 = 8;

/// Hooks of one of the ranks; one of them may have something else to say.
#[derive(Debug, Default)]
struct Member {
    rank: usize,
    /// The member that is told to stop during this step.
    stops: Option<(usize, u64)>,
    /// The member whose time is up after this step.
    time_is_up: Option<(usize, u64)>,
    /// The member with a weight that is not the others' after this step.
    steps: u64,
    saves: u64,
}

impl Hooks for Member {
    fn interrupted(&mut self) -> bool {
        self.stops.is_some_and(|(rank, step)| rank == self.rank && step == self.steps)
    }

    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        self.steps = report.step;
        let is_up = self.time_is_up.is_some_and(|(rank, s)| rank == self.rank && s == report.step);
        Ok(if is_up {
            ControlFlow::Break(Ending::TimeIsUp { left: 7 })
        } else {
            Flow::Continue(())
        })
    }

    fn save(&mut self, _: Snapshot<'_>) -> Result<()> {
        self.saves += 1;
        Ok(())
    }
}

fn trainer() -> Trainer {
    let config = Config { dropout: 0.1, ..Config::new(256, 16, 16, 2) };
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 3).unwrap();
    Trainer::new(model, Recipe { accum: ACCUM, ..Recipe::new([2, 16], 20, 1e-2) }).unwrap()
}

fn data() -> TokenDataset {
    TokenDataset::from_bytes(b"one potato, two potatoes, three potatoes, four. ".repeat(20))
}

/// Losses and weights after some steps.
fn learned(work: &mut dyn Work) -> (Vec<u32>, Vec<u32>) {
    let (mut trainer, data) = (trainer(), data());
    let losses = (0..5).map(|_| trainer.step_with(&data, work, &mut ()).unwrap().loss.to_bits());
    let losses = losses.collect();
    let weights = trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec());
    (losses, weights.map(f32::to_bits).collect())
}

#[test]
fn one_two_four_and_eight_members_learn_the_same_bits() {
    let alone = learned(&mut OneProcess);
    for size in [1, 2, 4, 8] {
        let all = InProcess::run(size, |crew| learned(&mut ProcessGroup::new(crew)));
        assert!(all.iter().all(|member| *member == alone), "{size} members");
    }
}

/// The bytes of a checkpoint after `steps` steps from the first member, whose optimizer is divided.
fn saved(mut trainer: Trainer, crew: Option<&mut InProcess>, steps: u64, path: &Path) -> Vec<u8> {
    let mut group = crew.map(|crew| ProcessGroup::new(crew));
    if let Some(group) = &mut group {
        group.divide(&trainer.model, trainer.optimizer.as_mut()).unwrap();
    }
    let work: &mut dyn Work = match &mut group {
        Some(group) => group,
        None => &mut OneProcess,
    };
    for _ in 0..steps {
        trainer.step_with(&data(), work, &mut ()).unwrap();
    }
    work.before_saving(&trainer.model, trainer.optimizer.as_mut()).unwrap();
    if work.rank() > 0 {
        return Vec::new();
    }
    let tokenizer = TokenizerSpec { kind: "byte".into(), blob: Vec::new() };
    checkpoint::save(path, Snapshot::from(&trainer), &tokenizer, true).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_divided_optimizer_moves_and_saves_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    let adamw = trainer;
    let lion = || {
        let start = trainer();
        let recipe = Recipe { optimizer: "lion".into(), clip: 0.05, ..start.recipe };
        Trainer::new(start.model, recipe).unwrap()
    };
    for (kind, start) in [("adamw", &adamw as &(dyn Fn() -> Trainer + Sync)), ("lion", &lion)] {
        let alone = saved(start(), None, 4, &path(format!("{kind}-1")));
        for size in [2, 4, 8] {
            let name = |steps: u64| path(format!("{kind}-{size}-{steps}"));
            let all = InProcess::run(size, |crew| saved(start(), Some(crew), 4, &name(4)));
            assert!(all[0] == alone, "{kind}, {size} members");
            // Another number of members goes on with what was saved after two steps.
            InProcess::run(size, |crew| saved(start(), Some(crew), 2, &name(2)));
            let went_on = InProcess::run(8 / size, |crew| {
                let attention = Arc::new(MultiHead::new(4));
                let loaded = Checkpoint::load(&name(2)).unwrap().into_trainer(attention).unwrap();
                saved(loaded, Some(crew), 2, &path(format!("{kind}-{size}-on")))
            });
            assert!(went_on[0] == alone, "{kind}, {size} members and then {}", 8 / size);
        }
    }
}

/// A share of a matrix says nothing about the whole.
#[test]
fn an_optimizer_of_whole_matrices_is_not_divided_and_moves_the_same_bits() {
    let muon = || {
        let start = trainer();
        let recipe = Recipe { optimizer: "muon".into(), ..start.recipe };
        Trainer::new(start.model, recipe).unwrap()
    };
    let steps = |work: &mut dyn Work| {
        let mut trainer = muon();
        for _ in 0..4 {
            trainer.step_with(&data(), work, &mut ()).unwrap();
        }
        checkpoint::to_bytes(&trainer, &TokenizerSpec::bytes(), true).unwrap()
    };
    let alone = steps(&mut OneProcess);
    for size in [2, 4] {
        let all = InProcess::run(size, |crew| steps(&mut ProcessGroup::new(crew)));
        assert!(all.iter().all(|member| *member == alone), "{size} members");
    }
    let refused = InProcess::run(2, |crew| {
        let mut trainer = muon();
        let mut group = ProcessGroup::new(crew);
        group.divide(&trainer.model, trainer.optimizer.as_mut()).unwrap_err().to_string()
    });
    let why = "optimizer: muon cannot be divided: it looks at more than one weight at a time; adamw and lion can";
    assert_eq!(refused, [why; 2]);
}

#[test]
fn a_loss_that_runs_away_is_the_same_error_for_all() {
    let error = |crew: Option<&mut InProcess>, divided: bool| {
        let mut trainer = trainer();
        trainer.model.blocks[1].w_out.data_mut()[3] = f32::NAN;
        let Some(crew) = crew else { return trainer.step(&data()).unwrap_err().to_string() };
        let mut group = ProcessGroup::new(crew);
        if divided {
            group.divide(&trainer.model, trainer.optimizer.as_mut()).unwrap();
        }
        trainer.step_with(&data(), &mut group, &mut ()).unwrap_err().to_string()
    };
    let alone = error(None, false);
    for divided in [false, true] {
        let all = InProcess::run(4, |crew| error(Some(crew), divided));
        assert!(all.iter().all(|one| *one == alone), "{alone}: {all:?}");
    }
}

#[test]
fn a_number_of_members_that_does_not_fit_is_refused_before_the_step() {
    for size in [3, 16] {
        let refused = InProcess::run(size, |crew| {
            let group = &mut ProcessGroup::new(crew);
            let refused = trainer().step_with(&data(), group, &mut ()).unwrap_err();
            matches!(refused, Error::Crew(CrewError::Size { micro_batches: 8, .. }))
        });
        assert!(refused.into_iter().all(|it_is| it_is), "{size} members");
    }
}

#[test]
fn a_measurement_is_the_same_for_every_number_of_members() {
    let (trainer, data) = (trainer(), data());
    let windows = data.windows(13).evenly_spaced(400);
    let scored = |work: &mut dyn Work| {
        let mut seen = Vec::new();
        let sum = evaluate_together(work, &trainer.model, &data, &windows, 3, |scored| {
            seen.push((scored.window, scored.targets.to_vec(), scored.right.to_vec()));
            ControlFlow::Continue(())
        });
        (sum.unwrap(), seen)
    };
    let alone = scored(&mut OneProcess);
    assert_eq!(alone.1.len(), windows.len());
    for size in [2, 4, 16] {
        let all = InProcess::run(size, |crew| scored(&mut ProcessGroup::new(crew)));
        assert!(all.iter().all(|member| *member == alone), "{size} members");
    }
}

#[test]
fn a_measurement_that_one_stops_ends_for_all_at_the_same_window() {
    let (trainer, data) = (trainer(), data());
    let windows = data.windows(13);
    let counts = InProcess::run(4, |crew| {
        let work = &mut ProcessGroup::new(crew);
        let stops = work.rank() == 2;
        let mut seen = 0;
        let sum = evaluate_together(work, &trainer.model, &data, &windows, 2, |_| {
            seen += 1;
            if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (seen, sum.unwrap())
    });
    assert!(counts[0].0 < windows.len() && counts.iter().all(|of| *of == counts[0]), "{counts:?}");
}

/// How a run of 6 steps ended for each member, and after how many steps.
fn endings(change: impl Fn(Member) -> Member + Sync) -> Vec<(Ending, u64, u64)> {
    InProcess::run(4, |crew| {
        let mut trainer = trainer();
        let work = &mut ProcessGroup::new(crew);
        let mut member = change(Member { rank: work.rank(), ..Member::default() });
        let plan = RunPlan::new(6).saving(2);
        let ending = trainer.run(&data(), &plan, work, &mut member).unwrap();
        (ending, trainer.step, member.saves)
    })
}

#[test]
fn what_ends_one_members_run_ends_all_after_the_same_step() {
    let all = endings(|member| member);
    assert_eq!(all, [(Ending::AllSteps, 6, 2); 4]);
    let all = endings(|member| Member { stops: Some((2, 3)), ..member });
    assert_eq!(all, [(Ending::Interrupted, 3, 1); 4]);
    let all = endings(|member| Member { time_is_up: Some((3, 4)), ..member });
    assert_eq!(all, [(Ending::TimeIsUp { left: 7 }, 4, 1); 4]);
}

#[test]
fn other_weights_are_found_before_a_save() {
    let found = InProcess::run(2, |crew| {
        let mut trainer = trainer();
        let work = &mut ProcessGroup::new(crew);
        if work.rank() == 1 {
            trainer.model.wte.data_mut()[0] += 1e-3;
        }
        let mut member = Member { rank: work.rank(), ..Member::default() };
        let plan = RunPlan::new(4).saving(1);
        let error = trainer.run(&data(), &plan, work, &mut member).unwrap_err();
        (error.to_string(), member.saves)
    });
    assert!(
        found
            .iter()
            .all(|(error, saves)| *saves == 0 && error.contains("process 1 has other weights")),
        "{found:?}"
    );
}
