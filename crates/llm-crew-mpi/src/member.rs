//! A rank of a process group.

use crate::error::MpiError;
use crate::launcher::Launcher;
#[cfg(unix)]
use crate::library::start;
use crate::line::{LastWords, Line};
#[cfg(not(unix))]
use crate::without::start;
use llm_core::Result;
use llm_core::crew::{Crew, double, halve};
use std::time::Duration;

/// Numbers that are summed at once, 8 MiB of them: what came is added, and sent on, while it is
/// still in the processor's cache. The order of the additions of an element does not depend on it.
const PIECE: usize = 2 << 20;

/// One of several processes that work on a step together.
///
/// One thread at a time may have it, and `finish` is called on the one that has joined: that is what
/// MPI asks for. When another process does not answer in time, or a call fails, the last words are
/// said and all processes end.
pub struct MpiCrew {
    line: Line,
    rank: usize,
    size: usize,
}

impl std::fmt::Debug for MpiCrew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("MpiCrew");
        let shown = shown.field("library", &self.library()).field("rank", &self.rank);
        shown.field("size", &self.size).finish_non_exhaustive()
    }
}

impl MpiCrew {
    /// Joins the others that `launcher` has started. Once in a process: MPI allows no second time.
    ///
    /// The environment variable `LLM_MPI` names a library, where the usual ones are not found or
    /// are another's than the launcher. `last_words` must neither wait nor call anything here.
    ///
    /// # Errors
    /// [`MpiError`].
    pub fn join(
        launcher: Option<(Launcher, usize)>,
        deadline: Duration,
        last_words: LastWords,
    ) -> std::result::Result<MpiCrew, MpiError> {
        let wanted = std::env::var("LLM_MPI").ok().filter(|path| !path.is_empty());
        let mpi = start(launcher.map(|(launcher, _)| launcher), wanted.as_deref())?;
        let (rank, size) = mpi.rank_and_size()?;
        let started = launcher.map_or(size, |(_, size)| size);
        if started != size {
            let library = mpi.name().into();
            return Err(MpiError::Other { started, known: size, library });
        }
        Ok(MpiCrew { line: Line::new(mpi, deadline, last_words), rank, size })
    }

    /// What the library calls itself.
    pub fn library(&self) -> &str {
        self.line.mpi().name()
    }

    /// Waits for the others as long as it takes, from now on: one of them still has work that is not
    /// the others'.
    pub fn without_deadline(self) -> MpiCrew {
        MpiCrew { line: self.line.without_deadline(), ..self }
    }

    /// Ends all processes with this exit code. For a panic or an error of one rank alone, which
    /// the others would wait for.
    pub fn abort(&self, code: i32) -> ! {
        self.line.mpi().abort(code)
    }

    /// The end that all ranks come to; waits for them. Also for an error that all have alike:
    /// a process that ends otherwise is taken for lost, and the others are killed, before they have
    /// said why perhaps.
    ///
    /// This may be the end of the process, with the exit code `code`: there are libraries that one
    /// cannot leave otherwise. So whatever is to be said, written or saved comes before.
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn finish(self, code: i32) -> std::result::Result<(), MpiError> {
        // MPI would wait without an end for one that never comes.
        self.line.meet(self.rank, self.size);
        self.line.finish(code)
    }
}

impl Crew for MpiCrew {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) -> Result<()> {
        self.line.exchange_numbers(with, give, take);
        Ok(())
    }

    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()> {
        self.line.exchange(with, give, with, take);
        Ok(())
    }

    fn sum(&mut self, x: &mut [f32]) -> Result<()> {
        for piece in x.chunks_mut(PIECE) {
            let spans = halve(self, &mut [&mut *piece], |span| span.start + span.len() / 2)?;
            double(self, &mut [piece], spans)?;
        }
        Ok(())
    }
}
