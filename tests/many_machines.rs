//! docs/many_machines.md: what a crew sends, counted; what a step of many machines takes, reckoned.

mod counting;
pub mod model;
mod script;

use counting::Counting;
use llm_core::checkpoint::Snapshot;
use llm_core::crew::{Crew, InProcess, Traffic};
use llm_core::train::{Flow, Hooks, RunPlan, StepReport, Trainer};
use llm_core::{Config, Recipe, Result, TinyGPT, TokenDataset};

/// No power of two, so that halves differ.
const LEN: usize = 12_345;

/// What each member sends for a sum, by threads that really do it.
fn sent_by_threads(size: usize, len: usize) -> Vec<Traffic> {
    InProcess::run(size, |crew| {
        let mut x = vec![1.0; len];
        crew.sum(&mut x).unwrap();
        assert!(x.iter().all(|&v| v == size as f32));
        crew.traffic()
    })
}

/// The same for one member, alone.
fn sent_by_one(rank: usize, size: usize, len: usize) -> Traffic {
    let mut crew = Counting::new(rank, size);
    crew.sum(&mut vec![0.0; len]).unwrap();
    crew.traffic
}

#[test]
fn messages_and_bytes_of_a_sum_are_the_formulas() {
    for size in (0..=10).map(|bit| 1 << bit) {
        let all: Vec<Traffic> = (0..size).map(|rank| sent_by_one(rank, size, LEN)).collect();
        if size <= 64 {
            assert_eq!(all, sent_by_threads(size, LEN), "{size} members");
        }
        let messages = model::messages_of_a_sum(size as u64);
        assert!(all.iter().all(|sent| sent.messages == messages), "{size} members: {all:?}");
        let bytes: u64 = all.iter().map(|sent| sent.bytes).sum();
        let mean = model::bytes_of_a_sum(LEN as u64, size as u64);
        assert_eq!(bytes as f64, (mean * size as f64).round(), "{size} members");
        // Halves of odd lengths: nobody is off by more than a number in each message.
        let far = all.iter().map(|sent| (sent.bytes as f64 - mean).abs());
        assert!(far.fold(0.0, f64::max) <= 4.0 * messages as f64, "{size} members");
    }
}

/// A member whose others are only counted.
struct Member(Counting);

impl Hooks for Member {
    fn crew(&mut self) -> Option<&mut dyn Crew> {
        Some(&mut self.0)
    }

    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        assert!(report.loss.is_finite());
        Ok(Flow::Continue(()))
    }
}

/// What member `rank` sends in `steps` steps of a run.
fn sent_in(steps: u64, rank: usize, size: usize, config: &Config) -> Traffic {
    let model = TinyGPT::new(config.clone(), 1).unwrap();
    let recipe = Recipe { accum: size as u32, ..Recipe::new(1, 8, 10, 1e-3) };
    let mut trainer = Trainer::new(model, recipe).unwrap();
    let data = TokenDataset::from_bytes(b"one potato, two potatoes, three. ".repeat(20));
    let mut member = Member(Counting::new(rank, size));
    trainer.run(&data, &RunPlan::new(steps), &mut member).unwrap();
    member.0.traffic
}

/// One step between others.
fn sent_in_a_step(rank: usize, size: usize, config: &Config) -> Traffic {
    let [two, three] = [2, 3].map(|steps| sent_in(steps, rank, size, config));
    Traffic { messages: three.messages - two.messages, bytes: three.bytes - two.bytes }
}

#[test]
fn messages_and_bytes_of_a_step_are_the_formulas() {
    let small = Config::new(256, 8, 16, 1);
    for size in [1, 2, 8, 64, 1024] {
        for rank in [0, size / 2, size - 1] {
            let sent = sent_in_a_step(rank, size, &small);
            let parameters = small.parameter_count() as u64;
            assert_eq!(sent.messages, model::messages(parameters, size as u64), "{size} members");
            let bytes = model::bytes(parameters, size as u64);
            let far = (sent.bytes as f64 - bytes).abs();
            assert!(far <= 4.0 * sent.messages as f64, "{size} members: {sent:?}, not {bytes}");
        }
    }
}

/// Gradients that do not fit into one sum go in several, as the formula says.
#[test]
fn a_large_model_is_summed_in_as_many_parts_as_the_formula_says() {
    let config = Config::new(256, 8, 448, 2);
    let parameters = config.parameter_count() as u64;
    assert_eq!(model::sums(parameters), 2, "{parameters}");
    for size in [2, 1024] {
        let sent = sent_in_a_step(size - 1, size, &config);
        assert_eq!(sent.messages, model::messages(parameters, size as u64), "{size} members");
        let far = sent.bytes as f64 / model::bytes(parameters, size as u64) - 1.0;
        assert!(far.abs() < 1e-4, "{size} members: {sent:?}");
    }
}
