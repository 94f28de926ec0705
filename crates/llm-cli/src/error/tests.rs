//! Every kind of error is caused by something that a person, or the system, can do.

use super::*;
use crate::args::Cli;
use crate::command_line::{Parsed, parse};
use crate::console::Out;
use crate::crew::{self, CrewKind};
use crate::panics::Panics;
use crate::program::BASELINE;
use crate::signals::Signals;
use crate::threads::in_pool;
use llm_run::folder::Target;
use llm_run::plan::Plan;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// A number for every kind of error; a new kind does not compile until it has one here.
fn number(error: &RunError) -> usize {
    match error {
        RunError::Usage(_) => 0,
        RunError::Data(_) => 1,
        RunError::Input { .. } => 2,
        RunError::Create { .. } => 3,
        RunError::Busy { .. } => 4,
        RunError::Memory(..) => 5,
        RunError::Threads(_) => 6,
        RunError::Output(_) => 7,
        RunError::Core { .. } => 8,
        RunError::Signal(_) => 9,
        RunError::Internal(_) => 10,
        RunError::Spikes { .. } => 11,
        RunError::Accuracy { .. } => 12,
        RunError::Unavailable(_) => 13,
        RunError::Elsewhere(_) => 14,
        RunError::Foreign { .. } => 15,
    }
}
const KINDS: usize = 16;

fn typed(words: &[&str]) -> Cli {
    let words = std::iter::once(&"train-gpt").chain(words).map(Into::into);
    match parse(&BASELINE, words) {
        Parsed::Run(cli) => *cli,
        Parsed::Text(text) => panic!("{text}"),
        Parsed::Wrong(line) => panic!("{line}"),
        Parsed::Failed(e) => panic!("{e}"),
    }
}

fn refused(words: &[&str]) -> RunError {
    Plan::new(&BASELINE.models, &typed(words).train.options(), &|_, _| ()).map(drop).unwrap_err()
}

/// An output that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Little memory for the stacks of threads is a property of a process, and signals and panics are
/// caught for a whole process: so this happens in another one, this test again.
#[test]
fn every_error_happens_and_reads_well() {
    const VARIABLE: &str = "LLM_CLI_TEST_ERRORS";
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return check_all(Path::new(&folder));
    }
    let folder = std::env::temp_dir().join(format!("llm-cli-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let done = Command::new("sh")
        .args(["-c", "ulimit -v 1500000; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg("error::tests::every_error_happens_and_reads_well")
        .env(VARIABLE, &folder)
        .env("LLM_MPI", folder.join("text"))
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}

fn check_all(folder: &Path) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (empty, text, missing) = (path("empty"), path("text"), path("missing"));
    std::fs::write(&empty, "").unwrap();
    std::fs::write(&text, "once upon a time").unwrap();
    let picture = path("picture");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\n").unwrap();
    let target = |name: &str| Target::file(Path::new(&path(name)), None);
    let first = target("model").unwrap();
    let busy = target("model").map(drop).unwrap_err();
    drop(first);

    let mut full = Out::default();
    full.write_to(&mut Full, b"x");
    full.write_to(&mut Full, b"nothing more is tried");
    let many = typed(&["--threads", "1024"]).train.output;
    let signals = Signals::listen();
    signals.heed();
    signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
    let panics = Panics::default();
    std::panic::set_hook(panics.hook());
    let internal = panics.caught::<()>(|| panic!("planted")).unwrap_err();
    drop(std::panic::take_hook());

    // Hardly a step is below the mean in both loss and norm, so ten in a row stand out soon.
    let train = |words: &str| {
        let small =
            "--seq 4 --batch 1 --layers 1 --dmodel 8 --gen 0 --val-frac 0 --no-save -q --data";
        let words: Vec<&str> = small.split(' ').chain([&*text]).chain(words.split(' ')).collect();
        {
            let args = typed(&words).train;
            crate::commands::train(&BASELINE, &args, &args.options(), 1, None).unwrap_err()
        }
    };
    let spikes = train("--steps 20000 --lr 1e-9 --skip-spikes 1e-6");
    let accuracy = train("--steps 1 --sanity-next-from-data 50 --min-acc 1");

    let no_library = crew::with_crew(Some(CrewKind::Mpi), None, |_| Ok(())).unwrap_err();
    voice::is_of(1);
    let elsewhere = crew::said_once(refused(&["--heads", "4"]));
    voice::is_of(0);

    let all = [
        (no_library, 69, "name the library with LLM_MPI"),
        (elsewhere, 2, "another process"),
        (spikes, 3, "in a row were skipped"),
        (accuracy, 3, "--min-acc 1"),
        (refused(&["--heads", "4"]), 2, "--heads 4"),
        (refused(&["--lr", "nan"]), 2, "--lr: "),
        (refused(&["--data", &empty]), 65, "is empty"),
        (refused(&["--data", &missing]), 66, "cannot read"),
        (target("missing/model").map(drop).unwrap_err(), 73, "cannot write"),
        (busy, 75, "in use by another run"),
        (refused(&["--dmodel", "16384", "--layers", "2"]), 71, "; lower --dmodel"),
        (in_pool(&many, |_| Ok(())).unwrap_err(), 71, "--threads 1024"),
        (full.finish().unwrap_err(), 74, "standard output"),
        (refused(&["--load", &text]), 65, "not a checkpoint"),
        (refused(&["--load", &picture]), 65, "it is a picture"),
        (refused(&["--load", &missing]), 66, "cannot read"),
        (llm_run::folder::to_load(folder).unwrap_err(), 66, "cannot read"),
        (signals.check().unwrap_err(), 143, "signal 15"),
        (internal, 70, "planted"),
    ];
    let mut seen = [false; KINDS];
    for (error, code, needle) in &all {
        let line = line(error);
        assert!(line.starts_with("error: ") && line.contains(needle), "{line:?} lacks {needle:?}");
        assert!(!line.contains(char::is_control) && !line.ends_with('.'), "{line:?}");
        assert_eq!(error.kind().code(), *code, "{line}");
        seen[number(error)] = true;
    }
    assert!(seen.iter().all(|&s| s), "{seen:?}");
}
