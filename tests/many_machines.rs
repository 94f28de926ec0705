//! docs/many_machines.md: what a crew sends, counted; what a step of many machines takes, reckoned.

mod counting;
pub mod model;
mod script;

use counting::Counting;
use llm_core::checkpoint::Snapshot;
use llm_core::crew::{Bucket, Crew, InProcess, Traffic, buckets_of};
use llm_core::train::{Flow, Hooks, ProcessGroup, RunPlan, StepReport, Trainer};
use llm_core::{Config, Recipe, Result, TinyGPT, TokenDataset};
use workspace_tests::baseline;

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

/// What one member sends, alone.
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

/// What member `rank`, whose others are only counted, sends in one of the steps of a run.
fn sent_in_a_step(rank: usize, size: usize, config: &Config, divided: bool) -> Traffic {
    let model = TinyGPT::new(config.clone(), 1).unwrap();
    let recipe = Recipe { accum: size as u32, ..Recipe::new([1, 8], 10, 1e-3) };
    let data = TokenDataset::from_bytes(b"one potato, two potatoes, three. ".repeat(20));
    let [one, two] = [1, 2].map(|steps| {
        let mut trainer = Trainer::new(model.clone(), recipe.clone()).unwrap();
        let mut crew = Counting::new(rank, size);
        let mut group = ProcessGroup::new(&mut crew);
        if divided {
            group.divide(&trainer.model, trainer.optimizer.as_mut()).unwrap();
        }
        trainer.run(&data, &RunPlan::new(steps), &mut group, &mut Finite).unwrap();
        crew.traffic
    });
    Traffic { messages: two.messages - one.messages, bytes: two.bytes - one.bytes }
}

/// Sees that a step is one.
struct Finite;

impl Hooks for Finite {
    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        assert!(report.loss.is_finite());
        Ok(Flow::Continue(()))
    }
}

/// Parts of a gradient are whole pieces of parameters. Where there are more members than pieces,
/// some have none and say nothing in the last rounds; all together send what the formula says.
#[test]
fn messages_and_bytes_of_a_step_are_the_formulas() {
    let config = Config::new(256, 8, 8, 1);
    let parameters = baseline(&config).parameter_count();
    for size in [1, 2, 8, 64, 1024] {
        let all = (0..size).map(|rank| sent_in_a_step(rank, size, &config, false));
        let all: Vec<Traffic> = all.collect();
        let most = all.iter().map(|sent| sent.messages).max();
        let formula = model::messages(parameters, size as u64);
        assert!(most <= Some(formula), "{size} members: {most:?}, not {formula}");
        assert!(size > 2 || most == Some(formula), "{size} members: {most:?}, not {formula}");
        let bytes: u64 = all.iter().map(|sent| sent.bytes).sum();
        let mean = model::bytes(parameters, size as u64);
        assert_eq!(bytes as f64, (mean * size as f64).round(), "{size} members");
    }
}

/// Gradients that do not fit into one sum go in several, as the formula says. Divided optimizers
/// send as much, and a little for the norm.
#[test]
fn a_large_model_is_summed_in_as_many_parts_as_the_formula_says() {
    let config = Config::new(256, 8, 448, 2);
    let parameters = baseline(&config).parameter_count();
    assert_eq!(model::sums(parameters), 3, "{parameters}");
    for size in [2, 16, 1024] {
        let sent = sent_in_a_step(size - 1, size, &config, false);
        let formula = model::messages(parameters, size as u64);
        assert!(sent.messages <= formula, "{size} members: {sent:?}, not {formula}");
        assert!(size > 16 || sent.messages == formula, "{size} members: {sent:?}");
        let far = sent.bytes as f64 / model::bytes(parameters, size as u64) - 1.0;
        assert!(far.abs() < 0.03, "{size} members: {sent:?}, off by {far}");
        let divided = sent_in_a_step(size - 1, size, &config, true);
        assert_eq!(divided.messages, sent.messages + 2 * u64::from(size.ilog2()));
        let more = divided.bytes as f64 / sent.bytes as f64 - 1.0;
        assert!((0.0..0.03).contains(&more), "{size} members: {divided:?}");
    }
}

/// The workloads of the page are cut into as many sums as the formula says, and as much as it says
/// is for the end.
#[test]
fn the_pages_models_are_cut_into_as_many_sums_as_the_formula_says() {
    for rates in model::rates() {
        let buckets = buckets_of(&rates.lens());
        assert_eq!(buckets.len() as u64, model::sums(rates.parameters), "{}", rates.name);
        let share = |len: usize| len as f64 / rates.parameters as f64;
        assert!((share(buckets[0].len()) - rates.first()).abs() < 0.01, "{}", rates.name);
        // The tables are the model's first parameters.
        let late = buckets.iter().filter(|bucket| bucket.lists().any(|(list, _)| list < 2));
        let late = share(late.map(Bucket::len).sum());
        assert!((late - rates.late()).abs() < 0.02, "{}: {late}, not {}", rates.name, rates.late());
    }
}
