//! How long a sum takes.

use crate::Both;
use llm_core::Config;
use llm_core::buffer::Buffer;
use llm_core::crew::Crew;
use llm_core::model::parameter_shapes;
use llm_core::optim::buckets_of;
use mpi::collective::SystemOperation;
use mpi::traits::*;
use std::time::Instant;

/// Vocabulary, context, width and layers of the workloads of docs/performance.md.
const WORKLOADS: [(&str, [usize; 4]); 3] =
    [("w1", [65, 64, 128, 4]), ("w3", [65, 256, 384, 6]), ("w4", [50257, 64, 768, 12])];
/// 43 MB.
const SOME: usize = 10_770_000;

/// Seconds of `work`, from when all begin until all are done.
fn seconds(both: &mut Both, work: impl FnOnce(&mut Both)) -> f64 {
    both.world.barrier();
    let start = Instant::now();
    work(both);
    both.world.barrier();
    start.elapsed().as_secs_f64()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The sum of each workload's gradients, beside MPI_Allreduce and a copy, which all processes make
/// at once. The rows fit into benches/measured.json, `many.sums`.
///
/// A copy reads and writes every number. A sum does so with (R − 1)/R of them on the way back, and on
/// the way there it reads another's number and its own, and writes the sum: 5/2·(R − 1)/R of a copy
/// is the least that it can cost.
pub fn in_memory(both: &mut Both) {
    let size = both.crew.size() as f64;
    let is_version = |word: &&str| word.starts_with(['v', 'V']);
    let library = both.crew.library().split(' ').take_while(|word| !is_version(word));
    let library = library.collect::<Vec<_>>().join(" ");
    for (name, sizes) in WORKLOADS {
        let [ours, theirs, copy] = sums(both, sizes).map(|seconds| 1e3 * seconds);
        if both.is_first() {
            let least = 2.5 * (size - 1.0) / size;
            println!(
                "   [\"{name}\", \"{library}\", {ours:.1}, {theirs:.1}, {copy:.1}]   ours is {:.2} of a copy, and {least:.2} at least",
                ours / copy
            );
        }
    }
}

/// Seconds of the sum as the trainer does it, of MPI_Allreduce and of a copy: medians.
fn sums(both: &mut Both, [vocabulary, context, width, layers]: [usize; 4]) -> [f64; 3] {
    let shapes = parameter_shapes(&Config::gpt2(vocabulary, context, width, layers));
    let lens: Vec<usize> = shapes.iter().map(|(_, shape)| shape.iter().product()).collect();
    let all: usize = lens.iter().sum();
    let times = if all > 10_000_000 { 7 } else { 51 };
    // As the trainer has its numbers: in large pages, where the system has some.
    let filled = |len: usize| {
        let mut list = Buffer::zeros(len);
        list.fill(1e-3);
        list
    };
    let (x, mut y) = (filled(all), filled(all));
    let mut gradients: Vec<Buffer> = lens.iter().map(|&len| filled(len)).collect();
    let mut seen = [Vec::new(), Vec::new(), Vec::new()];
    for time in 0..=times {
        let ours = seconds(both, |both| in_buckets(both, &mut gradients));
        let theirs = seconds(both, |both| {
            both.world.all_reduce_into(&x[..], &mut y[..], SystemOperation::sum());
        });
        let copy = seconds(both, |_| y.copy_from_slice(&x));
        if time > 0 {
            seen.iter_mut().zip([ours, theirs, copy]).for_each(|(all, one)| all.push(one));
        }
    }
    seen.map(median)
}

/// The gradients of all parameters, where they lie.
fn in_buckets(both: &mut Both, gradients: &mut [Buffer]) {
    let mut lists: Vec<&mut [f32]> = gradients.iter_mut().map(|list| &mut list[..]).collect();
    let lens: Vec<usize> = lists.iter().map(|list| list.len()).collect();
    for bucket in buckets_of(&lens) {
        let mut x = bucket.of(&mut lists);
        bucket.halve(&mut both.crew, &mut x).expect("a sum");
        bucket.double(&mut both.crew, &mut x).expect("a sum");
    }
}

/// 2·(R − 1)/R·4P/BW + 2·log₂R·α, with α from sums of one number. Both directions share the rate
/// where the network is one machine's loopback, and so do all processes.
pub fn on_the_wire(both: &mut Both, rate: f64) {
    let size = both.crew.size() as f64;
    let rounds = 2.0 * size.log2();
    let mut one = [1e-9f32];
    let sums_of_one =
        (0..50).map(|_| seconds(both, |both| both.crew.sum(&mut one).expect("a sum")));
    let alpha = median(sums_of_one.collect()) / rounds;
    let mut x = Buffer::zeros(SOME);
    let ours = (0..5).map(|_| seconds(both, |both| both.crew.sum(&mut x).expect("a sum")));
    let ours = median(ours.collect());
    let bytes = 2.0 * (size - 1.0) / size * 4.0 * SOME as f64;
    let model = size * bytes * 8.0 / rate + rounds * alpha;
    if both.is_first() {
        println!(
            "{SOME} numbers: {:.0} ms, the model says {:.0} ms (latency {:.0} µs): {:.2}",
            1e3 * ours,
            1e3 * model,
            1e6 * alpha,
            ours / model
        );
    }
    assert!((ours / model - 1.0).abs() < 0.15, "more than 15 % from the model");
}
