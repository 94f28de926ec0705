//! A checkpoint that cannot be replaced: on Windows another program holds it open, elsewhere a folder
//! is in its place.

use crate::sandbox;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workspace_tests::cli_support::{Outcome, Running, Sandbox, TINY};

const RUN: [&str; 6] = ["--data", "text.txt", "--save-every", "20", "--out", "run"];

/// The file `path` held; dropping it ends that.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    file: Option<File>,
}

impl Held {
    fn new(path: PathBuf) -> Held {
        let start = Instant::now();
        loop {
            match Held::try_new(&path) {
                Ok(held) => return held,
                // The run replaces it at this moment, or has not yet made it.
                Err(e) => assert!(start.elapsed() < Duration::from_secs(30), "{e}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[cfg(windows)]
    fn try_new(path: &Path) -> std::io::Result<Held> {
        use std::os::windows::fs::OpenOptionsExt;
        const FILE_SHARE_READ: u32 = 1;
        let file = File::options().read(true).share_mode(FILE_SHARE_READ).open(path)?;
        Ok(Held { path: path.into(), file: Some(file) })
    }

    #[cfg(not(windows))]
    fn try_new(path: &Path) -> std::io::Result<Held> {
        std::fs::remove_file(path)?;
        std::fs::create_dir(path)?;
        Ok(Held { path: path.into(), file: None })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.file.take().is_none() {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The states that lie beside `ckpt/last`.
fn beside(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sandbox.path("run/ckpt")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| {
        path.file_name().unwrap().to_str().is_some_and(|name| name.starts_with("last.step-"))
    };
    paths.filter(is_one).collect()
}

fn begin(sandbox: &Sandbox, words: &[&str]) -> Running {
    sandbox.start(&[&TINY[..], &RUN, words].concat())
}

/// `generate` reads the one state beside its place, of the step that its name says.
fn is_whole(sandbox: &Sandbox, outcome: &Outcome) {
    let [path] = &beside(sandbox)[..] else { panic!("{outcome}") };
    let step = path.to_str().unwrap().rsplit('-').next().unwrap().parse::<u64>().unwrap();
    outcome.says(&[&format!("step {step} is in 'run"), &format!("last.step-{step:08}")]);
    let load = path.to_str().unwrap();
    sandbox.ok(&["generate", "--load", load, "-n", "1"]);
    let on = ["--load", load, "--steps", "1", "--no-save", "--gen", "0"];
    sandbox.ok(&on).says(&[&format!("done    step {}", step + 1)]);
}

#[test]
fn the_run_goes_on_and_the_next_save_tries_again() {
    let sandbox = sandbox();
    let mut run =
        begin(&sandbox, &["--eval-every", "0", "--max-time", "30s", "--steps", "100000000"]);
    let last = sandbox.path("run/ckpt/last");
    let held = Held::new(last.clone());
    run.wait_for("and the next save tries again");
    run.wait_for("last.step-");
    drop(held);
    let start = Instant::now();
    while !(last.is_file() && beside(&sandbox).is_empty()) {
        assert!(start.elapsed() < Duration::from_secs(20) && !run.has_ended());
        std::thread::sleep(Duration::from_millis(5));
    }
    sandbox.ok(&["generate", "--load", "run", "-n", "1"]);
}

#[test]
fn at_the_end_the_place_is_said_and_the_code_is_not_zero() {
    let sandbox = sandbox();
    let words = ["--eval-every", "0", "--max-time", "8s", "--steps", "100000000", "--gen", "0"];
    let mut run = begin(&sandbox, &words);
    let held = Held::new(sandbox.path("run/ckpt/last"));
    let outcome = run.end();
    assert_eq!(outcome.code, Some(74), "{outcome}");
    outcome.says(&["error: cannot save 'run", "put it there, or go on with it as it is"]);
    is_whole(&sandbox, &outcome);
    drop(held);
}

#[test]
fn the_best_state_lies_beside_its_place_until_a_better_one_is_in_it() {
    let sandbox = sandbox();
    let words = ["--eval-every", "10", "--max-time", "30s", "--steps", "100000000"];
    let mut run = begin(&sandbox, &words);
    let held = Held::new(sandbox.path("run/ckpt/best"));
    run.wait_for("ckpt/best': ");
    run.wait_for("best.step-");
    drop(held);
    let start = Instant::now();
    while !sandbox.path("run/ckpt/best").is_file() {
        assert!(start.elapsed() < Duration::from_secs(20) && !run.has_ended());
        std::thread::sleep(Duration::from_millis(5));
    }
}
