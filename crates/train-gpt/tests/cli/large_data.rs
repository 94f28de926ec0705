//! Data that stay on the disk.

use crate::sandbox;
use workspace_tests::cli_support::{Outcome, Running, Sandbox, TINY, other_text, some_text};

/// Everything above this many bytes counts as large.
const LIMIT: (&str, &str) = ("LLM_DATA_IN_MEMORY", "1000");

fn run(sandbox: &Sandbox, words: &[&str], limit: &str) -> Outcome {
    let mut command = sandbox.command(words);
    let output = command.env(LIMIT.0, limit).output().unwrap();
    let outcome = Outcome::new(words, output);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

#[test]
fn a_run_on_the_disk_is_a_run_in_memory() {
    let sandbox = sandbox();
    sandbox.write("more.txt", &some_text(5000)[4000..]);
    let data = ["--data", "text.txt", "--data", "more.txt"];
    let json = ["--message-format", "json", "--log-every", "1", "--gen", "0"];
    let new = [&TINY[..], &data, &json, &["--steps", "6", "--eval-every", "2", "--save"]].concat();
    let probes = ["--sanity-next-from-data", "5", "--sanity-top", "3"];
    let with = |words: &[&str], name: &str, limit: &str| {
        let first = run(&sandbox, &[words, &[name], &probes].concat(), limit);
        let eval = ["eval", "--load", name, "--message-format", "json"];
        let eval = run(&sandbox, &[&eval[..], &data].concat(), limit);
        let kept = |kind| first.events_of(kind);
        (first.losses(), kept("eval"), kept("probe"), eval.stdout, sandbox.read(name))
    };
    assert!(with(&new, "a", LIMIT.1) == with(&new, "b", "4000000"));
    run(&sandbox, &[&new[..], &["d", "--dry-run"]].concat(), LIMIT.1).says(&["from the disk"]);
    // And goes on as one.
    let on = [&["--load", "a"], &data[..], &json, &["--steps", "2", "--save"]].concat();
    assert!(with(&on, "c", LIMIT.1) == with(&on, "e", "4000000"));
}

#[test]
fn characters_are_the_same_in_parts_and_streams_are_read_into_memory() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "3", "--tokenizer", "char", "--gen", "0"];
    for (name, limit) in [("parts", LIMIT.1), ("whole", "4000000")] {
        run(&sandbox, &[&TINY[..], &words, &["--save", name]].concat(), limit);
    }
    assert!(sandbox.read("parts") == sandbox.read("whole"));
    let words = [&TINY[..], &["--data", "text.txt", "--data", "-", "--steps", "1"]].concat();
    assert!(!run(&sandbox, &words, LIMIT.1).stderr.contains("from the disk"));
    let val = ["--data", "text.txt", "--val", "val.txt", "--steps", "1"];
    sandbox.write("val.txt", &other_text(2000));
    let outcome = run(&sandbox, &[&TINY[..], &val].concat(), "3000");
    outcome.says(&["'text.txt', 4.0 kB, read from the disk; validation: 'val.txt', 2.0 kB\n"]);
}

#[test]
fn a_file_that_changes_ends_the_run_and_nothing_is_lost() {
    let cut = |sandbox: &Sandbox, file: &str| {
        let file = std::fs::File::options().write(true).open(sandbox.path(file)).unwrap();
        file.set_len(1500).unwrap();
    };
    for changed in ["text.txt", "val.txt"] {
        let sandbox = sandbox();
        sandbox.write("val.txt", &other_text(2000));
        let data = ["--data", "text.txt", "--val", "val.txt", "--save", "model"];
        let steps = ["--steps", "100000000", "--eval-every", "20", "--gen", "0"];
        let words = [&TINY[..], &data, &steps].concat();
        let mut running: Running = sandbox.start_with(&words, &[LIMIT]);
        running.wait_for("step 30 ");
        cut(&sandbox, changed);
        let outcome = running.end();
        assert_eq!(outcome.code, Some(74), "{outcome}");
        let error = outcome.stderr.lines().last().unwrap();
        let named = format!("error: cannot go on reading '{changed}'");
        assert!(error.starts_with(&named), "{outcome}");
        for needle in ["1500 now", "kept", "--load"] {
            assert!(error.contains(needle), "no {needle}\n{outcome}");
        }
        // Saved at the last step that was done: the file says the same step.
        let step = error.split("of step ").nth(1).and_then(|s| s.split(' ').next()).unwrap();
        assert!(step.parse::<u64>().unwrap() >= 30, "{outcome}");
        sandbox.write("text.txt", &some_text(4000));
        sandbox.write("val.txt", &other_text(2000));
        let on = ["--load", "model", "--data", "text.txt", "--val", "val.txt", "--steps", "1"];
        sandbox.ok(&on).says(&[&format!("loaded checkpoint 'model' at step {step}\n")]);
    }
}

/// The peak of resident memory while it runs, in KiB.
#[cfg(target_os = "linux")]
fn peak(running: &mut Running) -> u64 {
    let mut peak = 0;
    while !running.has_ended() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    peak
}

/// A token of a small vocabulary takes one byte, and the text beside it nothing.
#[cfg(target_os = "linux")]
#[test]
fn characters_take_a_byte_each() {
    let sandbox = sandbox();
    let file = std::fs::File::create(sandbox.path("big")).unwrap();
    file.set_len(128 << 20).unwrap();
    let size = ["--seq", "16", "--dmodel", "8", "--layers", "1", "--batch", "2"];
    let words = ["--data", "big", "--data-as", "bytes", "--tokenizer", "char", "--steps", "1"];
    let rest = ["--val-frac", "0.0001", "--no-save", "--gen", "0"];
    let mut running = sandbox.start_with(&[&size[..], &words, &rest].concat(), &[LIMIT]);
    let peak = peak(&mut running);
    let outcome = running.end();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!((128 << 10..200 << 10).contains(&peak), "{peak} KiB\n{outcome}");
}

#[cfg(target_os = "linux")]
#[test]
fn three_gibibytes_take_little_memory() {
    let sandbox = sandbox();
    let file = std::fs::File::create(sandbox.path("big")).unwrap();
    file.set_len(3 << 30).unwrap(); // a hole: it takes no room on the disk
    let size = ["--seq", "16", "--dmodel", "8", "--layers", "1", "--batch", "256"];
    let words = [
        "--data",
        "big",
        "--data-as",
        "bytes",
        "--val-frac",
        "0.0001",
        "--steps",
        "3",
        "--no-save",
        "--gen",
        "0",
    ];
    let mut running = sandbox.start_with(&[&size[..], &words].concat(), &[]);
    let peak = peak(&mut running);
    let outcome = running.end();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome.says(&["3.2 GB, read from the disk"]);
    assert!((1..200 << 10).contains(&peak), "{peak} KiB\n{outcome}");
}
