//! Several processes on one run: how they come together, and how all of them end. What they must have in
//! common is `llm-run`'s.
//!
//! The first process alone prints, logs and saves. An error that only one has ends all, since the
//! others would wait for it; what all find out at the same place is said once.

use crate::error::{Result, RunError, exit};
use crate::voice;
use crate::words::words;
use llm_core::Error;
use llm_core::base::{CrewError, Message, with_causes};
use llm_core::crew::Crew;
use llm_core::message;
use llm_crew_mpi::{Launcher, MpiCrew};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a process may be silent.
const TIMEOUT: Duration = Duration::from_secs(300);

words! {
    /// The processes that work on each step.
    pub enum CrewKind {
        /// All that a launcher has started, if one has
        /// zh: 启动器启动的所有进程，如果有的话
        Auto = "auto",
        /// All that the MPI library knows of
        /// zh: MPI 库知道的所有进程
        Mpi = "mpi",
        /// This process alone
        /// zh: 只有这一个进程
        None = "none",
    }
}

/// The crew of this process, if it is one of several.
static TEAM: Mutex<Option<Team>> = Mutex::new(None);

/// This process as one of several.
#[derive(Debug)]
pub(crate) struct Team {
    /// The channel between the processes.
    pub crew: MpiCrew,
    /// The others wait for this process, within the same call.
    pub together: Arc<AtomicBool>,
}

/// Does `run`, with the crew that was started, if one was.
///
/// # Errors
/// [`RunError::Unavailable`]; what `run` says.
pub(crate) fn with_crew(
    kind: Option<CrewKind>,
    timeout: Option<Duration>,
    run: impl FnOnce(Option<&mut Team>) -> Result<()>,
) -> Result<()> {
    let launcher = Launcher::found();
    let several = match kind.unwrap_or(CrewKind::Auto) {
        CrewKind::None => false,
        CrewKind::Auto => launcher.is_some(),
        CrewKind::Mpi => true,
    };
    if !several {
        return run(None);
    }
    let deadline = timeout.unwrap_or(TIMEOUT);
    let joined = MpiCrew::join(launcher, deadline, Box::new(last_words));
    let crew = joined.map_err(|e| RunError::Unavailable(not_joined(&e, launcher)))?;
    voice::is_of(crew.rank());
    let done = {
        let mut held = TEAM.lock().unwrap_or_else(PoisonError::into_inner);
        let team = held.insert(Team { crew, together: Arc::default() });
        if team.crew.size() == 1 { run(None) } else { run(Some(team)) }
    };
    let team = TEAM.lock().unwrap_or_else(PoisonError::into_inner).take();
    team.map_or(Ok(()), |team| team.end(done))
}

/// Number of processes that a launcher has started to work on a step, before they have met.
pub(crate) fn members(kind: Option<CrewKind>) -> usize {
    let started = Launcher::found().filter(|_| kind != Some(CrewKind::None));
    started.map_or(1, |(_, size)| size)
}

/// After a panic: lets no other process wait for this one.
pub(crate) fn abandon(code: u8) {
    if let Some(team) = TEAM.lock().unwrap_or_else(PoisonError::into_inner).take() {
        team.crew.abort(code.into());
    }
}

/// What comes to light before the processes know each other is said by the first alone: all were
/// given the same words.
pub(crate) fn first_speaks() {
    if Launcher::found().is_some() {
        voice::is_of(Launcher::rank().unwrap_or(0));
    }
}

/// An error that every process finds: the first alone says it.
pub(crate) fn said_once(e: RunError) -> RunError {
    if voice::is_silent() { RunError::Elsewhere(e.kind().code()) } else { e }
}

/// Refuses a command that several processes would do at once, each for itself. The first one says
/// so.
///
/// # Errors
/// [`RunError::Usage`].
pub(crate) fn alone(what: &str) -> Result<()> {
    let Some((launcher, size)) = Launcher::found() else { return Ok(()) };
    first_speaks();
    let launcher = launcher.name();
    Err(said_once(RunError::Usage(message!(
        "{} is for one process, and {} has started {}; type it without {}",
        what,
        launcher,
        size,
        launcher
    ))))
}

/// Why there is no crew, and what helps.
fn not_joined(e: &llm_crew_mpi::MpiError, launcher: Option<(Launcher, usize)>) -> Message {
    let how = match launcher {
        Some((of, size)) => message!("{} processes were started by {}", size, of.name()),
        None => message!("--crew mpi"),
    };
    let why = e.message();
    message!("{}: {}; install openmpi-bin or mpich, or name the library with LLM_MPI", how, why)
}

/// What is said when all must end because of one.
fn last_words(why: &CrewError) -> i32 {
    let kept = "what was saved is kept, --load goes on with as many processes as are left";
    said_now(RunError::hint(Error::Crew(why.clone()), kept)).into()
}

impl Team {
    /// The end of a command: together, or of all at once for a reason of this process alone.
    fn end(self, done: Result<()>) -> Result<()> {
        match done {
            Err(own) if self.together.load(Ordering::Relaxed) && !is_of_all(&own) => {
                self.crew.abort(said_now(own).into())
            }
            done => {
                // Said now: with some libraries the process ends together with the crew.
                let code = done.map_or_else(said_now, |()| 0);
                let _nobody_reads = io::stdout().flush();
                // The first may still write text, or measure what is its own.
                let left = self.crew.without_deadline().finish(code.into());
                match code {
                    0 => left.map_err(|e| RunError::Unavailable(with_causes(&e))),
                    code => Err(RunError::Elsewhere(code)),
                }
            }
        }
    }
}

/// Says why this process ends; its exit code.
fn said_now(e: RunError) -> u8 {
    let code = e.kind().code();
    exit(Err(e));
    code
}

/// Whether all processes come to this end at the same place.
fn is_of_all(e: &RunError) -> bool {
    match e {
        RunError::Core { source, .. } => matches!(
            source,
            Error::Diverged { .. }
                | Error::Unusable { .. }
                | Error::Crew(CrewError::Unequal { .. } | CrewError::Size { .. })
        ),
        RunError::Spikes { .. } | RunError::Signal(_) | RunError::Elsewhere(_) => true,
        _ => false,
    }
}
