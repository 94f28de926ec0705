//! The launchers of this machine, and this program started by them.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The environment variable that says what to do as a member.
pub const PART: &str = "LLM_CREW_PART";

/// Nothing here takes longer, on a busy machine either, unless it hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// An installed MPI.
#[derive(Clone, Copy)]
pub struct Mpi {
    pub name: &'static str,
    /// What the loader calls its library.
    pub library: &'static str,
    /// What its launcher says when it is asked for its version.
    says: &'static str,
    launcher: &'static str,
    options: &'static [&'static str],
}

/// Debian has both side by side; elsewhere the launcher has the plain name.
const KNOWN: [Mpi; 4] = [
    Mpi { launcher: "mpirun.openmpi", ..OPEN_MPI },
    Mpi { launcher: "mpirun.mpich", ..MPICH },
    OPEN_MPI,
    MPICH,
];

const OPEN_MPI: Mpi = Mpi {
    name: "Open MPI",
    library: "libmpi.so.40",
    says: "Open",
    launcher: "mpirun",
    options: &["--oversubscribe"],
};

const MPICH: Mpi = Mpi {
    name: "MPICH",
    library: "libmpich.so.12",
    says: "HYDRA",
    launcher: "mpirun",
    options: &[],
};

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    /// What all said, on both streams.
    pub text: String,
}

impl Mpi {
    /// Kinds of MPI whose launcher is there, each once.
    pub fn installed() -> Vec<Mpi> {
        let mut found: Vec<Mpi> = Vec::new();
        for mpi in KNOWN {
            let version = Command::new(mpi.launcher).arg("--version").output();
            let said = version.map(|v| String::from_utf8_lossy(&v.stdout).into_owned());
            let is_it = said.is_ok_and(|said| said.contains(mpi.says));
            if is_it && found.iter().all(|other| other.name != mpi.name) {
                found.push(mpi);
            }
        }
        found
    }

    /// Starts `processes` processes that play `part`, and waits for their end.
    pub fn start(&self, processes: usize, part: &str, set: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(self.launcher);
        command.args(self.options).args(["-n", &processes.to_string()]);
        command.arg(std::env::current_exe().unwrap());
        // In a container everybody is root, which Open MPI would have confirmed.
        for variable in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            command.env(variable, "1");
        }
        run(command.env("RAYON_NUM_THREADS", "1"), part, set)
    }
}

/// This program without a launcher.
pub fn alone(part: &str, set: &[(&str, &str)]) -> Outcome {
    run(&mut Command::new(std::env::current_exe().unwrap()), part, set)
}

fn run(command: &mut Command, part: &str, set: &[(&str, &str)]) -> Outcome {
    // A file and no pipe: a process that is left behind would keep a pipe open.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{part}.txt"));
    let file = File::create(&path).unwrap();
    command.env(PART, part).envs(set.iter().copied());
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let status = ended(command.spawn().unwrap());
    let text = std::fs::read(&path).unwrap();
    Outcome {
        code: status.and_then(|status| status.code()),
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// `None` when it had to be killed.
fn ended(mut child: Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

impl Outcome {
    /// Checks that it ended with this code, and that none of its processes is left.
    #[track_caller]
    pub fn ends_with(&self, code: i32) -> &Outcome {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let process = |line: &str| line.split_once("process id ")?.1.trim().parse::<u32>().ok();
        for id in self.text.lines().filter_map(process) {
            // Those that were killed may need a moment to go.
            let waits = (0..100).take_while(|_| is_alive(id));
            waits.for_each(|_| std::thread::sleep(Duration::from_millis(50)));
            assert!(!is_alive(id), "process {id} is still there: {self:#?}");
        }
        self
    }

    #[track_caller]
    pub fn says(&self, what: &str) -> &Outcome {
        assert!(self.text.contains(what), "no {what:?} in {self:#?}");
        self
    }
}

/// Still there, and not only as an entry that waits to be asked about. Where the system does not
/// show its processes as files, all are gone.
fn is_alive(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}
