//! How long a sum takes.

use crate::Both;
use llm_core::buffer::Buffer;
use llm_core::crew::Crew;
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

/// Every process sends and takes 2·(R − 1)/R of the bytes: for two it is as many as a copy of all
/// numbers in memory writes, which all processes make at once here.
pub fn in_memory(both: &mut Both) {
    const TIMES: usize = 7;
    let size = both.crew.size() as f64;
    // As the trainer has its numbers: in large pages, where the system has some.
    let (mut x, mut y) = (Buffer::zeros(MANY), Buffer::zeros(MANY));
    x.fill(1e-3);
    y.fill(0.0);
    let (mut copies, mut theirs, mut ours) = (vec![], vec![], vec![]);
    for time in 0..TIMES {
        let copy = seconds(both, |_| y.copy_from_slice(&x));
        let their = seconds(both, |both| {
            both.world.all_reduce_into(&x[..], &mut y[..], SystemOperation::sum());
        });
        let our = seconds(both, |both| both.crew.sum(&mut x).expect("a sum"));
        if time > 0 {
            copies.push(copy * 2.0 * (size - 1.0) / size);
            theirs.push(their);
            ours.push(our);
        }
    }
    let (copy, theirs, ours) = (median(copies), median(theirs), median(ours));
    if both.is_first() {
        println!(
            "{MANY} numbers: copied {:.0} ms, MPI_Allreduce {:.0} ms, ours {:.0} ms: {:.2} of the copy, {:.2} of MPI_Allreduce",
            1e3 * copy,
            1e3 * theirs,
            1e3 * ours,
            ours / copy,
            ours / theirs
        );
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
