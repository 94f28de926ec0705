//! A step is the same bytes for every number of members.

use llm_core::base::CrewError;
use llm_core::checkpoint::Snapshot;
use llm_core::crew::{Alone, Crew, InProcess};
use llm_core::train::{Ending, Flow, Hooks, RunPlan, StepReport, Trainer, evaluate_together};
use llm_core::{Config, Error, Recipe, Result, TinyGPT, TokenDataset};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::sync::Arc;

const ACCUM: u32 = 8;

/// A member of a crew; one of them may have something else to say.
#[derive(Debug, Default)]
struct Member<'a> {
    crew: Option<&'a mut InProcess>,
    /// The member that is told to stop during this step.
    stops: Option<(usize, u64)>,
    /// The member whose time is up after this step.
    time_is_up: Option<(usize, u64)>,
    /// The member with a weight that is not the others' after this step.
    steps: u64,
    saves: u64,
}

impl Member<'_> {
    fn rank(&self) -> usize {
        self.crew.as_ref().map_or(0, |crew| crew.rank())
    }
}

impl Hooks for Member<'_> {
    fn crew(&mut self) -> Option<&mut dyn Crew> {
        self.crew.as_mut().map(|crew| &mut **crew as &mut dyn Crew)
    }

    fn interrupted(&mut self) -> bool {
        self.stops.is_some_and(|(rank, step)| rank == self.rank() && step == self.steps)
    }

    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        self.steps = report.step;
        let is_up =
            self.time_is_up.is_some_and(|(rank, s)| rank == self.rank() && s == report.step);
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
    Trainer::new(model, Recipe { accum: ACCUM, ..Recipe::new(2, 16, 20, 1e-2) }).unwrap()
}

fn data() -> TokenDataset {
    TokenDataset::from_bytes(b"one potato, two potatoes, three potatoes, four. ".repeat(20))
}

/// Losses and weights after some steps.
fn learnt(crew: Option<&mut InProcess>) -> (Vec<u32>, Vec<u32>) {
    let (mut trainer, data) = (trainer(), data());
    let mut member = Member { crew, ..Member::default() };
    let losses = (0..5).map(|_| trainer.step_with(&data, &mut member).unwrap().loss.to_bits());
    let losses = losses.collect();
    let weights = trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec());
    (losses, weights.map(f32::to_bits).collect())
}

#[test]
fn one_two_four_and_eight_members_learn_the_same_bits() {
    let alone = learnt(None);
    for size in [1, 2, 4, 8] {
        let all = InProcess::run(size, |crew| learnt(Some(crew)));
        assert!(all.iter().all(|member| *member == alone), "{size} members");
    }
}

#[test]
fn a_number_of_members_that_does_not_fit_is_refused_before_the_step() {
    for size in [3, 16] {
        let refused = InProcess::run(size, |crew| {
            let mut member = Member { crew: Some(crew), ..Member::default() };
            let refused = trainer().step_with(&data(), &mut member).unwrap_err();
            matches!(refused, Error::Crew(CrewError::Size { micro_batches: 8, .. }))
        });
        assert!(refused.into_iter().all(|it_is| it_is), "{size} members");
    }
}

#[test]
fn a_measurement_is_the_same_for_every_number_of_members() {
    let (trainer, data) = (trainer(), data());
    let windows = data.windows(13).evenly_spaced(400);
    let scored = |crew: &mut dyn Crew| {
        let mut seen = Vec::new();
        let sum = evaluate_together(crew, &trainer.model, &data, &windows, 3, |scored| {
            seen.push((scored.window, scored.targets.to_vec(), scored.right.to_vec()));
            ControlFlow::Continue(())
        });
        (sum.unwrap(), seen)
    };
    let alone = scored(&mut Alone);
    assert_eq!(alone.1.len(), windows.len());
    for size in [2, 4, 16] {
        let all = InProcess::run(size, |crew| scored(crew));
        assert!(all.iter().all(|member| *member == alone), "{size} members");
    }
}

#[test]
fn a_measurement_that_one_stops_ends_for_all_at_the_same_window() {
    let (trainer, data) = (trainer(), data());
    let windows = data.windows(13);
    let counts = InProcess::run(4, |crew| {
        let stops = crew.rank() == 2;
        let mut seen = 0;
        let sum = evaluate_together(crew, &trainer.model, &data, &windows, 2, |_| {
            seen += 1;
            if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (seen, sum.unwrap())
    });
    assert!(counts[0].0 < windows.len() && counts.iter().all(|of| *of == counts[0]), "{counts:?}");
}

/// How a run of 6 steps ended for each member, and after how many steps.
fn endings(change: impl Fn(Member<'_>) -> Member<'_> + Sync) -> Vec<(Ending, u64, u64)> {
    InProcess::run(4, |crew| {
        let mut trainer = trainer();
        let mut member = change(Member { crew: Some(crew), ..Member::default() });
        let ending = trainer.run(&data(), &RunPlan::new(6).saving(2), &mut member).unwrap();
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
        if crew.rank() == 1 {
            trainer.model.wte.data_mut()[0] += 1e-3;
        }
        let mut member = Member { crew: Some(crew), ..Member::default() };
        let error = trainer.run(&data(), &RunPlan::new(4).saving(1), &mut member).unwrap_err();
        (error.to_string(), member.saves)
    });
    assert!(
        found
            .iter()
            .all(|(error, saves)| *saves == 0 && error.contains("process 1 has other weights")),
        "{found:?}"
    );
}
