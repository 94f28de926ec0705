//! Several processes on one run: how they come together, what they must have in common, how all of
//! them end.
//!
//! The first process alone prints, logs and saves. An error that only one has ends all, since the
//! others would wait for it; what all find out at the same place is said once.

use crate::error::{Result, RunError, code, exit, reason};
use crate::machine::version;
use crate::voice;
use crate::words::words;
use llm_core::Error;
use llm_core::base::{CrewError, Message, with_causes};
use llm_core::crew::Crew;
use llm_core::kernels::gemm::bf16::{self, Order};
use llm_core::kernels::gemm::engine::{self, Engine};
use llm_core::kernels::simd::{self, Level};
use llm_core::message;
use llm_crew_mpi::{Launcher, MpiCrew};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a process may be silent.
const TIMEOUT: Duration = Duration::from_secs(300);

words! {
    /// Who works on each step.
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

/// What the process with the least has, and that with the most, of kinds given by their places. A place
/// that there is not, which no process of this version sends, counts as the first.
fn least_and_most<T: Copy>(kinds: &[T], places: impl Iterator<Item = u8> + Clone) -> [T; 2] {
    [places.clone().min(), places.max()]
        .map(|place| *kinds.get(usize::from(place.unwrap_or(0))).unwrap_or(&kinds[0]))
}

/// What is said when processes have not all the same: each has less than it could.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    /// Of the kernels.
    pub kernels: Option<Message>,
    /// Of who multiplies.
    pub engine: Option<Message>,
    /// Of the order of sums in bf16.
    pub order: Option<Message>,
}

/// This process as one of several.
#[derive(Debug)]
pub(crate) struct Team {
    crew: MpiCrew,
    /// The others wait for this process, within the same call.
    together: Arc<AtomicBool>,
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

/// How many processes work on a step, as far as that is known before they met.
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

/// The same for an error.
pub(crate) fn said_once(e: RunError) -> RunError {
    if voice::is_silent() { RunError::Elsewhere(code::of(&e)) } else { e }
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
        Some((launcher, size)) => {
            message!("{} processes were started by {}", size, launcher.name())
        }
        None => message!("--crew mpi"),
    };
    message!(
        "{}: {}; install openmpi-bin or mpich, or name the library with LLM_MPI",
        how,
        e.message()
    )
}

/// What is said when all must end because of one.
fn last_words(why: &CrewError) -> i32 {
    let kept = "what was saved is kept, --load goes on with as many processes as are left";
    said_now(RunError::hint(Error::Crew(why.clone()), kept)).into()
}

impl Team {
    /// The number of this process.
    pub(crate) fn rank(&self) -> usize {
        self.crew.rank()
    }

    /// How many there are.
    pub(crate) fn size(&self) -> usize {
        self.crew.size()
    }

    /// Who carries numbers from one to another.
    pub(crate) fn crew(&mut self) -> &mut dyn Crew {
        &mut self.crew
    }

    /// Whether the others wait for this one within the same calls.
    pub(crate) fn together(&self) -> Arc<AtomicBool> {
        self.together.clone()
    }

    /// What this process found out, if all the others could do the same. One that could speaks no
    /// word; of several that found the same reason the first says it.
    ///
    /// # Errors
    /// This process's own, or [`RunError::Elsewhere`].
    pub(crate) fn agree<T>(&mut self, mine: Result<T>) -> Result<T> {
        let found = |e: &RunError| {
            let reason = blake3::hash(reason(e).as_bytes());
            (code::of(e), reason.as_bytes()[..8].to_vec())
        };
        let (code, reason) = mine.as_ref().err().map_or((0, vec![0; 8]), found);
        let all = self.crew.gather(&[&[code], &reason[..]].concat())?;
        let mut all = all.chunks_exact(1 + reason.len());
        let first = all.clone().next().map(|of| of[1..].to_vec());
        let Some(failed) = all.find(|of| of[0] != 0) else { return mine };
        match mine {
            Ok(_) => Err(RunError::Elsewhere(failed[0])),
            Err(_) if self.rank() > 0 && first == Some(reason) => Err(RunError::Elsewhere(code)),
            own => own,
        }
    }

    /// Before anything is read: one program for all, and kernels that add up in one order. What is to be said
    /// about these.
    ///
    /// # Errors
    /// [`RunError::Usage`] for all when the programs differ.
    pub(crate) fn greet(&mut self) -> Result<Lowered> {
        self.same("program", version().as_bytes(), |member| {
            RunError::Usage(message!(
                "process {} runs another version of the program than process 0",
                member
            ))
        })?;
        let engine = (engine::asked() != Engine::Own).then(|| {
            engine::own_alone();
            message!("LLM_ENGINE has no effect: several processes compute the same bits")
        });
        let all = self.crew.gather(&[simd::available() as u8, bf16::available() as u8])?;
        let members = all.as_chunks::<2>().0;
        let [least, most] = least_and_most(&Level::ALL, members.iter().map(|[level, _]| *level));
        // Each keeps its own where all round alike.
        let kernels = (least.is_fused() != most.is_fused()).then(|| {
            let used = simd::at_most(least);
            message!("kernels are {} for all: not every process has {}", used.name(), most.name())
        });
        let [least, most] = least_and_most(&Order::ALL, members.iter().map(|[_, order]| *order));
        let used = bf16::at_most(least);
        let order = (most > used).then(|| {
            let (used, most) = (used.name(), most.name());
            message!(
                "products in bf16 are added up in {} for all: not every process has {}",
                used,
                most
            )
        });
        Ok(Lowered { kernels, engine, order })
    }

    /// Checks that all processes have the same.
    ///
    /// # Errors
    /// `differs`, for all, with the first that differs from process 0.
    pub(crate) fn same(
        &mut self,
        what: &'static str,
        text: &[u8],
        differs: impl FnOnce(usize) -> RunError,
    ) -> Result<()> {
        let same = self.crew.equal(what.into(), blake3::hash(text).as_bytes());
        same.map_err(|e| match e {
            Error::Crew(CrewError::Unequal { member, .. }) => said_once(differs(member)),
            other => other.into(),
        })
    }

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
    let code = code::of(&e);
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
