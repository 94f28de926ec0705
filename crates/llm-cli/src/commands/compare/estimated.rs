//! `compare --dry-run`.

use crate::args::TrainArgs;
use crate::commands::banner::peak;
use crate::console::{json_line, note, print};
use crate::error::Result;
use crate::messages::lasting;
use crate::program::Program;
use crate::signals::Signals;
use llm_core::base::bytes;
use llm_core::message;
use llm_core::train::Work;
use llm_report::comparison::Variant;
use llm_run::clock::TimeBudget;
use llm_run::device::opened;
use llm_run::plan::SharedData;
use llm_run::training::estimate;
use serde_json::json;
use std::time::Instant;

/// Tries each kind of training for a second or two, and says how long all of them would take, and how much
/// memory the largest does. Nothing is written.
pub(super) fn estimated(
    program: &Program,
    data: &SharedData,
    trainings: &[(Variant, TrainArgs)],
    seeds: usize,
    json: bool,
) -> Result<()> {
    let signals = Signals::listen();
    signals.heed();
    let (mut whole, mut most, mut runs) = (0.0, 0, Vec::new());
    for (variant, args) in trainings {
        let options = args.options();
        let mut plan = data.plan(&program.models, &options)?;
        let clock = TimeBudget { begin: Instant::now(), most: None };
        let mut stop = || signals.pending().is_some();
        let steps = plan.data.as_ref().map(|data| &data.train);
        let mut gpu = opened(&options.device, &plan.trainer, steps)?;
        let work: Option<&mut dyn Work> = match &mut gpu {
            Some(gpu) => Some(gpu.work.as_mut()),
            None => None,
        };
        let found = estimate(&mut plan, &options, work, &clock, &mut stop)?;
        signals.check()?;
        let seconds = found.map_or(0.0, |found| found.seconds);
        whole += seconds * seeds as f64;
        most = most.max(peak(&plan));
        runs.push(json!({ "settings": json!(variant)["settings"], "seconds": seconds }));
        if !json {
            note(message!("{}: about {} a run", variant.in_a_line(), lasting(seconds)));
        }
    }
    if json {
        let all = json!({ "event": "estimate", "variants": runs, "seeds": seeds, "seconds": whole, "memory": most });
        return print(json_line(&all));
    }
    let n = trainings.len() * seeds;
    note(message!(
        "all {} runs: about {} here, and about {} of memory",
        n,
        lasting(whole),
        bytes(most)
    ));
    Ok(())
}
