//! Training steps: batch, forward, loss, backward, clip at 1.0, AdamW.

use super::measurement::{Bench, Measurement, median};
use super::workload::{Built, Workload};
use crate::args::BenchName;
use crate::console::note;
use crate::error::Result;
use crate::messages::said;
use llm_core::base::{allocations, bytes, memory};
use llm_core::optim::Hyperparameters;
use llm_core::profile::{self, Phase};
use llm_core::recipe::Recipe;
use llm_core::train::{OneProcess, Trainer, Work};
use llm_core::{TinyGPT, TokenDataset, message};
use llm_messages::columns::left;
use llm_run::device::opened;
use llm_run::plan::named_by_option;
use std::collections::BTreeMap;
use std::time::Instant;

/// The measurement, and where the time goes, for a person.
pub fn run(bench: &Bench<'_>, name: BenchName, w: &Workload) -> Result<(Measurement, String)> {
    let args = bench.args;
    let steps = args.steps.unwrap_or(w.steps);
    let model = w.model_of(bench.program, &args.model, w.seq_len.max(64))?;
    let flops = model.flops(w.batch_size, w.seq_len);
    let (mut trainer, data) = prepare(model, w)?;
    trainer.recipe.matmul = args.matmul.unwrap_or_default();
    let device = args.device.clone().unwrap_or_default();
    let mut gpu = opened(&device, &trainer, Some(&data))?;
    if let Some(gpu) = gpu.as_ref().filter(|_| !args.json()) {
        gpu.notes().iter().map(llm_messages::note).for_each(note);
    }
    let device =
        gpu.as_ref().map(|gpu| gpu.name.clone() + if gpu.emulates { ", f16 emulated" } else { "" });
    let work: &mut dyn Work = match &mut gpu {
        Some(gpu) => gpu.work.as_mut(),
        None => &mut OneProcess,
    };
    let mut step = || trainer.step_with(&data, work, &mut ()).map(drop);
    (0..(steps / 5).max(3)).try_for_each(|_| step())?;
    let (start, mut asked) = (allocations::large_blocks(), 0);
    let seconds = median(steps, || {
        let before = allocations::large_blocks();
        step()?;
        asked += allocations::large_blocks().saturating_sub(before);
        Ok(())
    })?;
    // The model alone takes some, so none at all is an allocator that does not count.
    let blocks = (start > 0).then_some(asked);
    let own = if args.resized() { "-own" } else { "" };
    let name = format!("{}{own}", name.name());
    let measured = bench.measured(name, seconds, w.batch_size * w.seq_len, flops);
    if device.is_some() {
        let measured = Measurement { device, share_of_peak: None, ..measured };
        return Ok((measured, String::new()));
    }
    let table = if args.json() { String::new() } else { ops(&mut trainer, &data, steps, blocks)? };
    Ok((Measurement { large_allocations: blocks, ..measured }, table))
}

/// A run on random tokens, as the peers' scripts have it.
fn prepare(of: Built, w: &Workload) -> Result<(Trainer, TokenDataset)> {
    memory::require(of.footprint().training(w.batch_size, w.seq_len))?;
    let model = TinyGPT::with_attention(of.config, of.attention, 1).map_err(named_by_option)?;
    let tokens = (0..100_000u64).map(|i| {
        // A scrambled counter: the values do not matter.
        (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % w.vocab_size as u32
    });
    let hyperparameters = Hyperparameters {
        beta2: 0.99,
        weight_decay: 0.1,
        decay_all: false,
        ..Hyperparameters::default()
    };
    let recipe =
        Recipe { hyperparameters, clip: 1.0, ..Recipe::new([w.batch_size, w.seq_len], 0, 1e-4) };
    Ok((Trainer::new(model, recipe)?, TokenDataset::from_tokens(tokens.collect())))
}

/// A few more steps with spans on.
fn ops(of: &mut Trainer, data: &TokenDataset, steps: usize, blocks: Option<u64>) -> Result<String> {
    let steps = (steps / 4).max(3);
    let start = Instant::now();
    let (result, times) = profile::record(|| (0..steps).try_for_each(|_| of.step(data).map(drop)));
    let whole = start.elapsed().as_secs_f64() / steps as f64;
    result?;
    let mut rows: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    for ((name, phase), time) in &times {
        let row = rows.entry(name).or_default();
        row[usize::from(*phase == Phase::Backward)] += time.total.as_secs_f64() / steps as f64;
        row[2] += time.calls as f64 / steps as f64;
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|a, b| (b.1[0] + b.1[1]).total_cmp(&(a.1[0] + a.1[1])));
    let mut text = said("    op               forward  backward   share   calls\n");
    let mut rest = whole;
    for (name, [forward, backward, calls]) in rows {
        rest -= forward + backward;
        text.push_str(&format!(
            "    {name:<15} {:>6.3} ms {:>6.3} ms {:>5.1} % {calls:>7.0}\n",
            forward * 1e3,
            backward * 1e3,
            100.0 * (forward + backward) / whole
        ));
    }
    text.push_str(&format!(
        "    {} {:>6.3} ms           {:>5.1} %\n",
        left(&said("the rest"), 15),
        rest * 1e3,
        100.0 * rest / whole
    ));
    let peak = message!("peak memory so far: {}", bytes(memory::peak_resident()));
    let peak = match blocks {
        None => peak,
        Some(n) => {
            message!("{}; blocks of 4 KiB and more from the system while measured: {}", peak, n)
        }
    };
    Ok(format!("{text}    {}\n", said(peak)))
}
