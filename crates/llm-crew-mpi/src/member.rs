//! A member of a crew of processes.

#![allow(unsafe_code)] // see the comments at each block

use crate::abi::Abi;
use crate::library::{Library, Request};
use crate::{Launcher, MpiError};
use llm_core::Result;
use llm_core::base::CrewError;
use llm_core::crew::Crew;
use std::time::{Duration, Instant};

/// Most bytes of one message: MPI counts in 32 bits.
const MESSAGE: usize = 1 << 30;

/// One of several processes that work on a step together.
///
/// The buffers of a message belong to MPI until it is through, so [`Crew::exchange`] cannot come
/// back with an error while one is under way: when a member does not answer in time, the last words
/// are said and all processes end.
pub struct MpiCrew {
    library: Library,
    rank: usize,
    size: usize,
    deadline: Duration,
    last_words: LastWords,
}

/// Says why, and gives the exit code.
pub type LastWords = Box<dyn Fn(&CrewError) -> i32 + Send>;

impl std::fmt::Debug for MpiCrew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MpiCrew { library, rank, size, deadline, last_words: _ } = self;
        let mut shown = f.debug_struct("MpiCrew");
        let shown = shown.field("library", &library.abi()).field("rank", rank);
        shown.field("size", size).field("deadline", deadline).finish_non_exhaustive()
    }
}

impl MpiCrew {
    /// Joins the others that `launcher` has started. Once in a process: MPI allows no second time.
    ///
    /// The environment variable `LLM_MPI` names a library, where the usual ones are not found or
    /// are another's than the launcher.
    ///
    /// # Errors
    /// [`MpiError`].
    pub fn join(
        launcher: Option<(Launcher, usize)>,
        deadline: Duration,
        last_words: LastWords,
    ) -> std::result::Result<MpiCrew, MpiError> {
        let wanted = std::env::var("LLM_MPI").ok().filter(|path| !path.is_empty());
        let first = match launcher {
            Some((Launcher::Mpich, _)) => Abi::Mpich,
            _ => Abi::OpenMpi,
        };
        let library = Library::start(first, wanted.as_deref())?;
        let (rank, size) = library.rank_and_size()?;
        let started = launcher.map_or(size, |(_, size)| size);
        if started != size {
            let name = match library.abi() {
                Abi::OpenMpi => "Open MPI",
                Abi::Mpich => "MPICH",
            };
            return Err(MpiError::Other { started, known: size, library: name.into() });
        }
        Ok(MpiCrew { library, rank, size, deadline, last_words })
    }

    /// Ends all processes with this exit code. For a panic or an error of one member alone, which
    /// the others would wait for.
    pub fn abort(&self, code: i32) -> ! {
        self.library.abort(code)
    }

    /// The end that all members come to; waits for them.
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn finish(self) -> std::result::Result<(), MpiError> {
        self.library.finish()
    }

    /// Sends and takes at once, in messages of at most [`MESSAGE`] bytes.
    fn both(&self, with: usize, give: &[u8], take: &mut [u8]) {
        let sent = give.chunks(MESSAGE).map(Some).chain(std::iter::repeat(None));
        let mut sent = sent.take(give.len().max(take.len()).div_ceil(MESSAGE));
        let mut takes = take.chunks_mut(MESSAGE);
        loop {
            let (out, into) = (sent.next().flatten(), takes.next());
            if out.is_none() && into.is_none() {
                break;
            }
            // SAFETY: both buffers are borrowed for the whole of this function, which does not
            // return before both messages are through; else the process ends.
            let receive = into.map(|bytes| unsafe { self.library.receive(bytes, with) });
            // SAFETY: likewise.
            let send = out.map(|bytes| unsafe { self.library.send(bytes, with) });
            let requests = [receive, send].into_iter().flatten();
            let mut requests: Vec<Request> = requests.map(|r| self.or_end(r)).collect();
            self.wait(&mut requests, with);
        }
    }

    /// Until all messages are through. The first looks come at once, since most answers are there
    /// within microseconds; then the core goes to whoever else has work.
    fn wait(&self, requests: &mut Vec<Request>, with: usize) {
        const AT_ONCE: u32 = 2_000;
        let mut looks = 0u32;
        let mut start = None;
        loop {
            requests.retain_mut(|request| !self.or_end(self.library.is_done(request)));
            if requests.is_empty() {
                return;
            }
            looks = looks.saturating_add(1);
            if looks < AT_ONCE {
                std::hint::spin_loop();
                continue;
            }
            let waited = start.get_or_insert_with(Instant::now).elapsed();
            if waited > self.deadline {
                let seconds = self.deadline.as_secs();
                self.end(&CrewError::Silent { member: with, seconds });
            }
            // A member that is far behind computes: short naps cost it nothing.
            match waited {
                short if short < Duration::from_millis(2) => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(100)),
            }
        }
    }

    fn or_end<T>(&self, done: std::result::Result<T, MpiError>) -> T {
        match done {
            Ok(done) => done,
            Err(MpiError::Call { call, reason }) => self.end(&CrewError::Engine { call, reason }),
            Err(other) => self.end(&CrewError::Engine { call: "MPI", reason: other.to_string() }),
        }
    }

    fn end(&self, why: &CrewError) -> ! {
        self.abort((self.last_words)(why))
    }
}

impl Crew for MpiCrew {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, with: usize, give: &[f32], take: &mut [f32]) -> Result<()> {
        // SAFETY: every f32 is four bytes, and every four bytes are an f32; a byte needs no
        // alignment. All processes are of one kind, so their order is the same.
        let give = unsafe { std::slice::from_raw_parts(give.as_ptr().cast(), size_of_val(give)) };
        // SAFETY: likewise, and borrowed exclusively.
        let take =
            unsafe { std::slice::from_raw_parts_mut(take.as_mut_ptr().cast(), size_of_val(take)) };
        self.both(with, give, take);
        Ok(())
    }

    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()> {
        self.both(with, give, take);
        Ok(())
    }
}
