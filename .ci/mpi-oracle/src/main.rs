//! The sums of llm-crew-mpi, beside those of the crate `mpi` (rsmpi) in the same processes.
//!
//! | argument | what is done |
//! |---|---|
//! | `bits` | ours are the tree of the gathered inputs, bit for bit; MPI_Allreduce's differ by rounding |
//! | `same` | as `bits`, and MPI_Allreduce adds by recursive doubling: that is the same tree |
//! | `time` | gradients of W1, W3 and W4: ours, MPI_Allreduce, a copy in memory, as rows of benches/measured.json |
//! | `wire RATE` | 43 MB over a network of RATE bits per second, against the model |

mod bits;
mod time;

use llm_core::crew::Crew;
use llm_crew_mpi::{Launcher, MpiCrew};
use mpi::topology::SimpleCommunicator;
use std::process::exit;
use std::time::Duration;

/// The same processes twice: as our crew, and as rsmpi sees them.
struct Both {
    crew: MpiCrew,
    world: SimpleCommunicator,
}

impl Both {
    fn is_first(&self) -> bool {
        self.crew.rank() == 0
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let last_words = |why: &llm_core::base::CrewError| {
        eprintln!("{why}");
        70
    };
    let crew = MpiCrew::join(Launcher::found(), Duration::from_secs(60), Box::new(last_words));
    let crew = crew.unwrap_or_else(|why| {
        eprintln!("{why}");
        exit(69)
    });
    // The library that rsmpi was linked to is the one that is open already, and started.
    let mut both = Both { crew, world: SimpleCommunicator::world() };
    if both.is_first() {
        println!("{} processes, {}", both.crew.size(), both.crew.library());
    }
    let run = std::panic::AssertUnwindSafe(|| match words[..] {
        ["bits"] => bits::compare(&mut both, false),
        ["same"] => bits::compare(&mut both, true),
        ["time"] => time::in_memory(&mut both),
        ["wire", rate] => time::on_the_wire(&mut both, rate.parse().expect("bits per second")),
        _ => panic!("no such argument: {words:?}"),
    });
    if std::panic::catch_unwind(run).is_err() {
        both.crew.abort(70);
    }
    both.crew.finish(0).expect("all come to the end");
}
