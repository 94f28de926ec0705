//! Several processes under every MPI of this machine: sums, and what comes of those that are silent,
//! stopped, killed or wrong.
//!
//! The launcher starts this program again, several times, each with a part to play. Without the
//! usual harness, so that what could not be tried is said in plain sight. What takes gigabytes runs
//! only when it is asked for: `cargo test -p llm-crew-mpi --test processes -- long_message`.

#![allow(clippy::print_stdout, clippy::print_stderr)] // its output is what it is for
#![allow(clippy::unwrap_used)] // a test

#[cfg(unix)]
mod cases;
#[cfg(unix)]
mod launcher;
#[cfg(unix)]
mod parts;

#[cfg(not(unix))]
fn main() {
    println!("no MPI is known on this system: several processes were not tried");
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    match std::env::var(launcher::PART) {
        Ok(part) => parts::play(&part),
        Err(_) => cases::run(&std::env::args().skip(1).collect::<Vec<_>>()),
    }
}
