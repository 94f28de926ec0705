//! `bench`: how fast this program is on this machine, in the workloads of docs/performance.md.

mod attention;
mod generate;
mod measurement;
mod products;
mod training;
mod workload;

use super::devices;
use crate::args::{BenchArgs, BenchName};
use crate::console::{Out, json_line, note, room};
use crate::error::{Result, usage};
use crate::messages::said;
use crate::program::Program;
use llm_core::kernels::peak;
use llm_core::{counted, message};
use llm_messages::columns::width;
use llm_run::device::Device;
use llm_run::machine::kernels;
use llm_run::models::Heads;
use measurement::{Bench, Measurement};
pub use workload::{Workload, workload};

/// Runs the named workloads.
///
/// # Errors
/// [`RunError::Usage`] for a workload that needs heads which this program has not.
pub fn bench(program: &Program, args: &BenchArgs, threads: usize) -> Result<()> {
    if args.device == Some(Device::List) {
        return devices::list(args.json());
    }
    let names: Vec<BenchName> = match args.workload.as_slice() {
        [] => BenchName::ALL.iter().copied().filter(|n| offered(program, *n)).collect(),
        given => given.to_vec(),
    };
    if let (Some(name), Heads::One { other }) =
        (names.iter().find(|n| !offered(program, **n)), program.models.heads)
    {
        let name = name.name();
        return usage(message!(
            "--workload {}: {} has one attention head; use {} bench --workload {}",
            name,
            program.models.name,
            other,
            name
        ));
    }
    check_sizes(&names, args)?;
    let mut out = Out::default();
    let peak = peak::gflops();
    if !args.json() {
        note(message!(
            "{} {} · {} · kernels {} · f32 peak {:.0} GFLOP/s",
            program.models.name,
            env!("CARGO_PKG_VERSION"),
            counted!(threads, "thread"),
            kernels(args.matmul.unwrap_or_default()),
            peak
        ));
    }
    let bench = Bench { program, args, threads, peak };
    for name in names {
        let (measurements, table) = match (name, workload(name)) {
            (_, Some(w)) => {
                let (measurement, table) = training::run(&bench, name, &w.with(args))?;
                (vec![measurement], table)
            }
            (BenchName::Generate, None) => (generate::run(&bench)?, String::new()),
            (BenchName::Products, None) => (products::run(&bench)?, String::new()),
            (_, None) => (attention::run(&bench)?, String::new()),
        };
        for m in &measurements {
            let line = if args.json() { json_line(m) } else { fitted(&human(m), room()) };
            out.write(line.as_bytes());
        }
        if !args.json() {
            out.show(&table);
        }
    }
    out.finish()
}

/// Refuses invalid sizes, and those that nothing would be measured with.
fn check_sizes(names: &[BenchName], args: &BenchArgs) -> Result<()> {
    let counted = [("steps", args.steps), ("batch", args.batch)];
    if let Some((flag, _)) = counted.into_iter().find(|(_, n)| *n == Some(0)) {
        return usage(message!("--{} 0: nothing would be measured", flag));
    }
    let on_a_gpu = matches!(args.device, Some(Device::Gpu(_)));
    match names {
        _ if on_a_gpu && names.iter().any(|name| workload(*name).is_none()) => {
            usage("--device gpu: it computes training steps; name their --workload, w1 for example")
        }
        [name @ (BenchName::Attention | BenchName::Products)] if args.resized() => usage(message!(
            "--workload {}: its sizes are those of its names, no flag changes them",
            name.name()
        )),
        _ => Ok(()),
    }
}

/// Several heads need the program that has them.
fn offered(program: &Program, name: BenchName) -> bool {
    match (program.models.heads, workload(name)) {
        (Heads::Many { .. }, _) => true,
        (Heads::One { .. }, Some(w)) => w.heads == 1,
        (Heads::One { .. }, None) => name == BenchName::Products,
    }
}

fn human(m: &Measurement) -> String {
    let memory = m.share_of_bandwidth.map_or(String::new(), |share| {
        let share = 100.0 * share;
        said(message!("   {} % of memory's speed", format_args!("{share:>5.1}")))
    });
    let fwd = m.fwd_ms.map(|ms| said(message!(" (forward {:.2})", ms))).unwrap_or_default();
    let (name, ms) = (&m.workload, m.ms_per_step);
    let speed = m.tokens_per_s;
    let speed = said(message!("{} tokens/s", format_args!("{speed:>9.0}")));
    let share = m.share_of_peak.map_or_else(String::new, |share| {
        let share = 100.0 * share;
        "   ".to_string() + &said(message!("{} % of peak", format_args!("{share:>5.1}")))
    });
    format!("{name:<24} {ms:>9.2} ms{fwd}   {speed}   {:>6.1} GFLOP/s{share}{memory}\n", m.gflops)
}

/// The line, where there is no room for it in several: its parts stand between three spaces.
fn fitted(line: &str, room: usize) -> String {
    if width(line.trim_end()) <= room {
        return line.into();
    }
    let mut lines: Vec<String> = Vec::new();
    for part in line.split("   ").map(str::trim).filter(|part| !part.is_empty()) {
        let indent = if lines.is_empty() { "" } else { "   " };
        match lines.last_mut().filter(|last| width(last) + 3 + width(part) <= room) {
            Some(last) => last.push_str(&format!("   {part}")),
            None => lines.push(format!("{indent}{part}")),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_falls_into_its_parts() {
        let line = "w1           12.64 ms   60759 tokens/s   385.2 GFLOP/s    57.0 % of peak\n";
        assert_eq!(fitted(line, 72), line);
        let want = "w1   12.64 ms   60759 tokens/s\n   385.2 GFLOP/s   57.0 % of peak\n";
        assert_eq!(fitted(line, 40), want);
    }
}
