//! Several processes on one run: what is refused, and under every MPI that is installed the same
//! bytes for every number of them.

use super::sandbox;
use std::process::{Command, Output};
use workspace_tests::cli_support::{Sandbox, TINY};

const PROGRAM: &str = env!("CARGO_BIN_EXE_train-gpt-mha");

/// As if a launcher had started this one of two.
fn started(sandbox: &Sandbox, rank: &str, words: &[&str]) -> Output {
    let mut command = sandbox.command(words);
    command.env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", rank);
    command.env("LLM_MPI", "no-such-library.so").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(unix)] // elsewhere no library is known
#[test]
fn started_without_a_library_is_refused() {
    let sandbox = sandbox();
    let words = [&TINY[..], &["--data", "text.txt", "--steps", "2", "--accum", "2"]].concat();
    let output = started(&sandbox, "0", &words);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    let error = said(&output);
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("error: 2 processes were started by mpirun: "), "{error}");
    assert!(error.contains("no-such-library.so") && error.contains("LLM_MPI"), "{error}");
    assert!(!sandbox.path("runs").exists());

    let alone = started(&sandbox, "0", &[&words[..], &["--crew", "none", "-q"]].concat());
    assert!(alone.status.success(), "{alone:?}");
}

#[test]
fn what_one_process_does_is_refused_and_said_once() {
    let sandbox = sandbox();
    for (words, needle) in [
        (&["generate", "--load", "x"][..], "generate is for one process"),
        (&["runs"], "runs is for one process"),
        (&["--dry-run"], "--dry-run is for one process"),
        (&["--overfit"], "--overfit is for one process"),
        (&["--print-config"], "--print-config is for one process"),
        (&["--stepz", "3"], "unexpected argument '--stepz'"),
    ] {
        let (first, second) = (started(&sandbox, "0", words), started(&sandbox, "1", words));
        assert_eq!((first.status.code(), second.status.code()), (Some(2), Some(2)), "{words:?}");
        assert!(said(&first).contains(needle), "{words:?}: {}", said(&first));
        assert_eq!(said(&first).lines().count(), 1);
        assert_eq!((said(&second), &second.stdout[..]), (String::new(), &b""[..]), "{words:?}");
    }
}

/// The command of each MPI on this machine, with what lets it start more processes than cores.
#[allow(clippy::print_stderr)] // a test that tries nothing says so
fn engines() -> Vec<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in ["mpirun.openmpi", "mpirun.mpich", "mpirun"] {
        if name == "mpirun" && !found.is_empty() {
            break;
        }
        let Ok(version) = Command::new(name).arg("--version").output() else { continue };
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let more: &[&str] = match version.contains("OpenRTE") || version.contains("Open MPI") {
            true => &["--oversubscribe", "--bind-to", "none"],
            false => &[],
        };
        found.push([&[name], more].concat());
    }
    if found.is_empty() {
        eprintln!("no MPI is installed: several processes were not tried");
    }
    found
}

/// Runs the parts of a command, each a number of processes with their words.
fn run(sandbox: &Sandbox, engine: &[&str], parts: &[(usize, Vec<&str>)]) -> Output {
    let mut command = Command::new(engine[0]);
    command.args(&engine[1..]).current_dir(sandbox.path(""));
    command.env_remove("LLM_LANG").stdin(std::process::Stdio::null());
    // Open MPI does not want to be root, as whoever tests in a container is.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    for (i, (processes, words)) in parts.iter().enumerate() {
        if i > 0 {
            command.arg(":");
        }
        command.args(["-n", &processes.to_string(), PROGRAM]).args(words);
    }
    command.output().unwrap()
}

/// A small run of eight micro-batches a step.
fn words<'a>(steps: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    const RUN: &str = "--data text.txt --accum 8 --eval-every 2 --dropout 0.1 --gen 0 --threads 1";
    // Muon, the default, cannot be divided.
    let run = RUN.split(' ').chain(["--optimizer", "adamw", "--steps", steps]);
    TINY.into_iter().chain(run).chain(more.iter().copied()).collect()
}

#[test]
fn every_number_of_processes_saves_the_same_bytes() {
    let sandbox = sandbox();
    let rest = |from, to| {
        ["--load", from, "--data", "text.txt", "--steps", "3", "--gen", "0", "--save", to]
    };
    sandbox.ok(&words("6", &["--save", "alone"]));
    sandbox.ok(&words("3", &["--save", "half"]));
    sandbox.ok(&rest("half", "whole"));
    for engine in engines() {
        let good = |processes, words| {
            let output = run(&sandbox, &engine, &[(processes, words)]);
            assert!(output.status.success(), "{engine:?} {output:?}");
            let banner = format!("crew    {processes} processes, each with");
            assert_eq!(said(&output).matches(&banner).count(), 1, "{output:?}");
        };
        for (processes, shard) in [(2, "0"), (2, "1"), (4, "1")] {
            good(processes, words("6", &["--save", "together", "--shard-optimizer", shard]));
            let same = sandbox.read("alone") == sandbox.read("together");
            assert!(same, "{engine:?}, {processes} processes, shard {shard}");
        }
        // Half of the steps by four, the others by two.
        good(4, words("3", &["--save", "four"]));
        good(2, rest("four", "two").to_vec());
        assert!(sandbox.read("two") == sandbox.read("whole"), "{engine:?}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused_by_all() {
    let sandbox = sandbox();
    sandbox.write("other.txt", &[&b"X"[..], &sandbox.read("text.txt")[1..]].concat());
    for engine in engines() {
        let alike = |n, more: &[&'static str]| vec![(n, words("3", more))];
        let other =
            |more: &[&'static str]| vec![(1, words("3", &["--no-save"])), (1, words("3", more))];
        let data = {
            let text = words("3", &["--no-save"]);
            let file = |w: &&'static str| if *w == "text.txt" { "other.txt" } else { w };
            vec![(1, text.clone()), (1, text.iter().map(file).collect())]
        };
        for (parts, code, needle) in [
            (
                alike(3, &["--no-save"]),
                2,
                "error: 8 micro-batches can be shared by 1, 2, 4 or 8 processes, not by 3",
            ),
            (data, 65, "error: process 1 reads other data than process 0"),
            (
                other(&["--no-save", "--lr", "0.5"]),
                2,
                "error: process 1 has other settings than process 0",
            ),
            (other(&["--no-save", "--load", "x"]), 66, "process 1: error: cannot read 'x'"),
        ] {
            let output = run(&sandbox, &engine, &parts);
            assert_eq!(output.status.code(), Some(code), "{engine:?} {output:?}");
            let errors = said(&output);
            assert_eq!(errors.matches("error: ").count(), 1, "{errors}");
            assert!(errors.contains(needle), "{needle}: {errors}");
        }
    }
}
