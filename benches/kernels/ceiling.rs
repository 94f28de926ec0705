//! What the machine can do.

use super::{Group, bench, flops, numbers, traffic};
use criterion::{Criterion, SamplingMode};
use llm_core::kernels::peak::gflops;
use llm_core::kernels::simd;
use rayon::prelude::*;
use std::time::Duration;

/// Operands in bytes, so that they stay in the second cache, in the third, in none; and whether all
/// threads take part, which they do not when a kernel has so little to do.
const SIZES: [(&str, usize, bool); 4] = [
    ("256 KiB, one thread", 256 << 10, false),
    ("4 MiB, pool", 4 << 20, true),
    ("64 MiB, one thread", 64 << 20, false),
    ("64 MiB, pool", 64 << 20, true),
];
/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 16;

/// Multiply-adds that never leave the registers, on all threads and on one.
pub(super) fn fma(c: &mut Criterion, name: &str) {
    let mut group = c.benchmark_group(name);
    let level = simd::level().name();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    peak(&mut group, format!("{level}, pool"), gflops);
    peak(&mut group, format!("{level}, one thread"), || alone.install(gflops));
    group.finish();
}

/// `gflops` in the form of all the others: as the time of 10⁹ operations.
fn peak(group: &mut Group<'_>, name: String, gflops: impl Fn() -> f64) {
    group.throughput(flops(1_000_000_000)).sampling_mode(SamplingMode::Flat);
    group.bench_function(name, |b| {
        b.iter_custom(|rounds| (0..rounds).map(|_| Duration::from_secs_f64(1.0 / gflops())).sum());
    });
}

/// Bytes moved from one place to another.
pub(super) fn copy(c: &mut Criterion) {
    let mut group = c.benchmark_group("ceiling/copy");
    for (name, bytes, pool) in SIZES {
        let len = bytes / size_of::<f32>();
        let piece = if pool { PIECE } else { len };
        let setup = || (vec![0.0; len], numbers(len));
        bench(&mut group, name.to_string(), traffic(2 * len), setup, |(y, x)| {
            let pieces = y.par_chunks_mut(piece).zip(x.par_chunks(piece));
            pieces.for_each(|(y, x)| y.copy_from_slice(x));
        });
    }
    group.finish();
}
