//! How long a sum takes.

use crate::Both;
use llm_core::buffer::Buffer;
use llm_core::crew::{Crew, buckets};

use mpi::collective::SystemOperation;
use mpi::traits::*;
use std::time::Instant;

/// The weights of GPT-2 small.
const MANY: usize = 124_439_808;
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

/// A copy reads and writes every number. A sum does so with (R − 1)/R of them on the way back, and on
/// the way there it reads another's number and its own, and writes the sum: 5/2·(R − 1)/R of a copy
/// that all processes make at once is the least that a sum can cost.
pub fn in_memory(both: &mut Both) {
    const TIMES: usize = 7;
    let size = both.crew.size() as f64;
    // As the trainer has its numbers: in large pages, where the system has some.
    let (mut x, mut y) = (Buffer::zeros(MANY), Buffer::zeros(MANY));
    x.fill(1e-3);
    y.fill(0.0);
    let (mut copies, mut theirs, mut ours, mut trainers) = (vec![], vec![], vec![], vec![]);
    for time in 0..TIMES {
        let copy = seconds(both, |_| y.copy_from_slice(&x));
        let their = seconds(both, |both| {
            both.world.all_reduce_into(&x[..], &mut y[..], SystemOperation::sum());
        });
        let our = seconds(both, |both| both.crew.sum(&mut x).expect("a sum"));
        let trainer = seconds(both, |both| in_buckets(both, &mut x));
        if time > 0 {
            trainers.push(trainer);
            copies.push(copy);
            theirs.push(their);
            ours.push(our);
        }
    }
    let (copy, theirs, ours) = (median(copies), median(theirs), median(ours));
    let trainer = median(trainers);
    let least = 2.5 * (size - 1.0) / size * copy;
    if both.is_first() {
        let ms = |seconds: f64| format!("{:.0} ms", 1e3 * seconds);
        println!(
            "{MANY} numbers: copied {}, so a sum is {} at least; ours {}, {:.2} of that; as the trainer does it {}; MPI_Allreduce {}",
            ms(copy),
            ms(least),
            ms(ours),
            ours / least,
            ms(trainer),
            ms(theirs),
        );
    }
}

/// The gradients of many parameters: laid end to end and back.
fn in_buckets(both: &mut Both, x: &mut [f32]) {
    /// The weights of one of GPT-2 small's blocks.
    const BLOCK: usize = 12 * 768 * 768;
    let mut lists: Vec<&mut [f32]> = x.chunks_mut(BLOCK).collect();
    let lens: Vec<usize> = lists.iter().map(|list| list.len()).collect();
    for bucket in buckets(&lens, 1 << 15, 1 << 22) {
        let mut flat = bucket.collect(&lists);
        bucket.halve(&mut both.crew, &mut flat).expect("a sum");
        bucket.double(&mut both.crew, &mut flat).expect("a sum");
        bucket.spread(0..bucket.len(), &flat, &mut lists);
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
