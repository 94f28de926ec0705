//! What is tried, and what must come of it.

use crate::launcher::{Mpi, alone};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

type Case = (&'static str, fn(Mpi));

const CASES: [Case; 16] = [
    ("sums", sums),
    ("odd_number", odd_number),
    ("ends_over_tcp", ends_over_tcp),
    ("exchanges", exchanges),
    ("waits", waits),
    ("joined_twice", joined_twice),
    ("silent", silent),
    ("silent_at_the_end", silent_at_the_end),
    ("stopped", stopped),
    ("killed", killed),
    ("aborts", aborts),
    ("panics", panics),
    ("panics_while_it_ends", panics_while_it_ends),
    ("too_short", too_short),
    ("too_long", too_long),
    ("refused_by_all", refused_by_all),
];

/// Two processes with 4 GiB each.
const LONG: Case = ("long_message", long_message);

/// Runs the cases whose name contains one of the words, all if there are none.
pub fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|a| a == "--list") {
        return ExitCode::SUCCESS; // asked by tools that run tests one by one: this is one
    }
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| words.iter().any(|word| name.contains(*word));
    let usual = CASES.into_iter().filter(|(name, _)| words.is_empty() || is_wanted(name));
    let cases: Vec<Case> = usual.chain([LONG].into_iter().filter(|c| is_wanted(c.0))).collect();
    let mut failed = 0;
    let mut try_case = |title: String, case: &dyn Fn()| {
        let start = Instant::now();
        let passed = catch_unwind(AssertUnwindSafe(case)).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        println!("{title} ... {word} ({:.1} s)", start.elapsed().as_secs_f32());
        failed += u32::from(!passed);
    };

    let installed = Mpi::installed();
    if words.is_empty() {
        try_case("no usable library".into(), &|| no_usable_library(installed.is_empty()));
    }
    for mpi in &installed {
        for (name, case) in &cases {
            try_case(format!("{}: {name}", mpi.name), &|| case(*mpi));
        }
    }
    match installed[..] {
        [] => println!("no MPI is installed: several processes were not tried"),
        [one, other] if words.is_empty() => {
            for (mpi, library) in [(one, other.library), (other, one.library)] {
                let title = format!("{}: the library of the other", mpi.name);
                try_case(title, &|| library_of_the_other(mpi, library));
            }
        }
        [one, ..] if words.is_empty() => {
            println!("{} alone is installed: the library of another was not tried", one.name);
        }
        _ => {}
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn no_usable_library(none_is_installed: bool) {
    alone("joins", &[("LLM_MPI", "libnothing.so.7")]).ends_with(69).says("libnothing.so.7");
    alone("joins", &[("LLM_MPI", "")]).ends_with(if none_is_installed { 69 } else { 0 });
    if cfg!(target_os = "linux") {
        let said = "no MPI library: libc.so.6 is not a known library";
        alone("joins", &[("LLM_MPI", "libc.so.6")]).ends_with(69).says(said);
    }
}

fn library_of_the_other(mpi: Mpi, library: &str) {
    let outcome = mpi.start(2, "joins", &[("LLM_MPI", library)]);
    outcome.ends_with(69).says("started as one of 2 processes").says("knows of 1");
}

fn sums(mpi: Mpi) {
    for processes in [1, 2, 4, 8] {
        mpi.start(processes, "sums", &[]).ends_with(0).says(&format!("{processes} processes"));
    }
}

/// An odd number cannot share a step so, but the members must be able to part in peace.
fn odd_number(mpi: Mpi) {
    mpi.start(3, "joins", &[]).ends_with(0);
}

/// As between machines, in place of shared memory. MPICH 4.0.2's own end left two of four processes
/// behind in every second run.
fn ends_over_tcp(mpi: Mpi) {
    let over_tcp = [("UCX_TLS", "tcp,self"), ("OMPI_MCA_btl", "tcp,self")];
    for _ in 0..5 {
        mpi.start(4, "joins", &over_tcp).ends_with(0);
    }
}

fn exchanges(mpi: Mpi) {
    mpi.start(2, "exchanges", &[]).ends_with(0);
}

fn waits(mpi: Mpi) {
    mpi.start(4, "waits", &[]).ends_with(0);
}

fn joined_twice(mpi: Mpi) {
    mpi.start(2, "joins_twice", &[]).ends_with(0).says("has joined a crew before");
}

fn silent(mpi: Mpi) {
    let outcome = mpi.start(2, "is_silent", &[]);
    outcome.ends_with(74).says("process 1 did not answer within 1 s");
}

fn silent_at_the_end(mpi: Mpi) {
    let outcome = mpi.start(4, "is_silent_at_the_end", &[]);
    outcome.ends_with(74).says("did not answer within 1 s");
}

fn stopped(mpi: Mpi) {
    let outcome = mpi.start(4, "is_stopped", &[]);
    outcome.ends_with(74).says("did not answer within 1 s");
}

/// The launcher says how it ended: 137 under Open MPI, as shells do, and 9 under MPICH; unless one
/// of the others has seen it first and said so.
fn killed(mpi: Mpi) {
    let outcome = mpi.start(4, "is_killed", &[]);
    let code = outcome.code.unwrap_or_default();
    assert!([9, 70, 137].contains(&code), "{outcome:#?}");
    outcome.ends_with(code);
}

fn aborts(mpi: Mpi) {
    mpi.start(4, "aborts", &[]).ends_with(65);
}

fn panics(mpi: Mpi) {
    mpi.start(2, "panics", &[]).ends_with(70).says("planted");
}

fn panics_while_it_ends(mpi: Mpi) {
    mpi.start(2, "panics_while_it_ends", &[]).ends_with(70).says("cannot even say why");
}

fn too_short(mpi: Mpi) {
    mpi.start(2, "too_short", &[]).ends_with(70).says("12 bytes came in place of 20");
}

fn too_long(mpi: Mpi) {
    mpi.start(2, "too_long", &[]).ends_with(70).says("MPI_Test failed: ");
}

fn refused_by_all(mpi: Mpi) {
    mpi.start(4, "refuses", &[]).ends_with(65).says("process 3 has other data than process 0");
}

fn long_message(mpi: Mpi) {
    mpi.start(2, "long_message", &[]).ends_with(0);
}
