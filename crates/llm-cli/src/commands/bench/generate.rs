//! Writing text: greedy, one text at a time, from a prompt of one token.

use super::measurement::{Bench, Measurement, median};
use super::workload::workload;
use crate::args::BenchName;
use crate::error::{Result, RunError, usage};
use llm_core::TinyGPT;
use llm_core::base::memory;
use llm_core::generate::{Generator, Sampling};
use llm_core::kernels::peak;
use llm_core::message;

/// A workload whose model writes, its context, and the tokens that are written at most.
const MODELS: &[(BenchName, usize, usize)] = &[(BenchName::W1, 64, 63), (BenchName::W4, 1024, 128)];
/// Default number of texts.
const TEXTS: usize = 5;

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let Bench { program, args, .. } = *bench;
    let bandwidth = peak::bandwidth();
    let kind = args.weights.flatten();
    let mut measurements = Vec::new();
    let after = args.after.unwrap_or(1);
    // Sizes of your own: one model, and the others' are those of the larger.
    let models = if args.sized() { &MODELS[1..] } else { MODELS };
    for &(name, context, n) in models {
        let w = workload(name).ok_or_else(|| RunError::Internal("no such workload".into()))?;
        let (w, context) = (w.with(args), args.seq.unwrap_or(context));
        let room = context.saturating_sub(after);
        if after == 0 || room == 0 {
            return usage(message!(
                "--after {}: it has to be at least 1 and less than the context of {}",
                after,
                context
            ));
        }
        let n = n.min(room);
        let of = w.model_of(program, &args.model, context)?;
        memory::require(of.footprint().inference(1, context))?;
        let (weights, row) = (of.weights(), of.attention.cache_row(&of.config) as f64);
        let model = TinyGPT::with_attention(of.config, of.attention, 1)?;
        let mut generator =
            Generator::with_weights(&model, &vec![0; after], Sampling::greedy(), 1, kind)?;
        let mut sample = 0;
        let mut text = || {
            generator.restart(sample);
            sample += 1;
            Ok((0..n).try_for_each(|_| generator.next_token().map(drop))?)
        };
        text()?; // warming up
        let seconds = median(args.steps.unwrap_or(TEXTS), text)? / n as f64;
        // Every weight but the tables of positions and tokens is used once; the latter is the head.
        let cache = w.layers as f64 * row * (after as f64 + n as f64 / 2.0);
        let bytes = kind.map_or(4.0 * weights, |kind| model.small_bytes(kind) as f64) + 4.0 * cache;
        let what = if args.sized() { "own" } else { name.name() };
        let kept = kind.map_or(String::new(), |kind| format!("-{kind}"));
        let name = format!("generate-{what}{kept}");
        let measured = bench.measured(name, seconds, 1, 2.0 * (weights + cache));
        let share_of_bandwidth = Some(bytes / seconds / 1e9 / bandwidth);
        measurements.push(Measurement { share_of_bandwidth, ..measured });
    }
    Ok(measurements)
}
