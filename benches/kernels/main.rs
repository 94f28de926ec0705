//! Times of the kernels, next to the ceilings of the same machine in the same run.
//!
//! ```text
//! cargo bench --manifest-path benches/Cargo.toml                       # everything
//! cargo bench --manifest-path benches/Cargo.toml -- 'ceiling|gemm'     # what matches
//! RAYON_NUM_THREADS=1 cargo bench --manifest-path benches/Cargo.toml   # one thread
//! cargo bench --manifest-path benches/Cargo.toml -- --test             # runs each once, times nothing
//! ```
//!
//! How to read it: criterion prints a `time` and a `thrpt` for each bench, each as
//! `[low estimate high]`.
//! - Matrix products and attention are bound by arithmetic. Their throughput counts floating-point
//!   operations, so `Gelem/s` is GFLOP/s. Their ceiling is `ceiling/fma`: of the pool for the
//!   products, of one thread for attention, which gives each head to one thread.
//! - All others are bound by memory, or should be. Their throughput counts the bytes of their large
//!   operands, each read once and written once. Their ceiling is the `ceiling/copy` of about their
//!   size: every round finds its operands where the last one left them, in the cache that holds
//!   them. Some, like GELU, have an exponential for every number; they stay below the copy when
//!   that takes longer than the bytes.
//! - Names end in the sizes: `rows x width` of the operand, `MxKxN` of a product, `T` positions and
//!   `D` channels of a head.
//!
//! Let nothing else run meanwhile: when `ceiling/fma` and, at the end, `ceiling/fma again` differ,
//! something did. `LLM_KERNELS=avx2` or `portable` lowers the instruction set of the kernels and of
//! `ceiling/fma` together.

mod attention;
mod ceiling;
mod gemm;
mod heads;
mod memory;
mod rows;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use llm_core::kernels::parallel;
use std::hint::black_box;
use std::time::Duration;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn main() {
    // On a thread of the pool and with the others awake, as in a training step: otherwise every
    // bench would also measure how long a sleeping thread takes to wake up.
    rayon::scope(|_| parallel::awake(run));
}

fn run() {
    let mut c = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .nresamples(10_000)
        .without_plots()
        .configure_from_args();
    ceiling::fma(&mut c, "ceiling/fma");
    ceiling::copy(&mut c);
    gemm::benches(&mut c);
    heads::benches(&mut c);
    attention::benches(&mut c);
    rows::benches(&mut c);
    memory::benches(&mut c);
    ceiling::fma(&mut c, "ceiling/fma again");
    c.final_summary();
}

/// One bench: `run` again and again on what `setup` made.
fn bench<S>(
    group: &mut Group<'_>,
    name: String,
    work: Throughput,
    setup: impl Fn() -> S,
    mut run: impl FnMut(&mut S),
) {
    // Criterion calls the closure for every sample, or never when the name is filtered out: the
    // operands are made once, and only if they are wanted.
    let mut operands = None;
    group.throughput(work).sampling_mode(SamplingMode::Flat).bench_function(name, |b| {
        let operands = operands.get_or_insert_with(&setup);
        // To the compiler somebody reads the result of every round and changes the operands.
        b.iter(|| run(black_box(operands)));
    });
}

/// Throughput in floating-point operations.
fn flops(count: usize) -> Throughput {
    Throughput::Elements(count as u64)
}

/// Throughput in bytes: `count` numbers of 32 bits, read or written.
fn traffic(count: usize) -> Throughput {
    Throughput::Bytes((count * size_of::<f32>()) as u64)
}

/// `len` numbers from −1 to 1, the same in every run; their sum is about 0, so that kernels which
/// add to their output stay in range however often they run.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37) % 61) as f32 / 30.0 - 1.0).collect()
}
