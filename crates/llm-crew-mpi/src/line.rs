//! The line to the other processes: messages come through, or all processes end.

#![allow(unsafe_code)] // see the comments at each block

use crate::error::MpiError;
use crate::mpi::{Mpi, Request};
use crate::patience::Patience;
use llm_core::base::CrewError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Says why all processes end, and gives the exit code.
pub type LastWords = Box<dyn Fn(&CrewError) -> i32 + Send>;

/// Most bytes of one message. A long list goes as many, so that something comes through every
/// millisecond or so, and no rank takes naps while the bytes flow (see `patience.rs`); and since
/// MPI counts in 32 bits. Half a piece of a sum (see `member.rs`) is one message.
const MESSAGE: usize = 4 << 20;

/// Messages that are begun before the first of them is through, in each direction: short lists, of
/// which each is one, need not wait for each other.
const AHEAD: usize = 16;

/// Carries bytes between this process and others.
///
/// The bytes of a message belong to MPI until it is through. So nothing here comes back with an
/// error, or unwinds, while one is under way: when another process does not answer in time, the last
/// words are said and all processes end.
pub struct Line {
    mpi: Box<dyn Mpi>,
    deadline: Duration,
    last_words: LastWords,
}

impl Line {
    pub fn new(mpi: Box<dyn Mpi>, deadline: Duration, last_words: LastWords) -> Line {
        Line { mpi, deadline, last_words }
    }

    /// Waits as long as it takes, from now on.
    pub fn without_deadline(self) -> Line {
        Line { deadline: Duration::MAX, ..self }
    }

    pub fn mpi(&self) -> &dyn Mpi {
        &*self.mpi
    }

    /// Sends bytes to a process, and takes as many as fit from another, which may be the same.
    pub fn exchange(&self, to: usize, give: &[u8], from: usize, take: &mut [u8]) {
        self.exchange_lists(to, [give], from, [take]);
    }

    /// [`Line::exchange`] of numbers with one process, from where they lie and to where they go.
    pub fn exchange_numbers(&self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) {
        let give = give.iter().map(|list| {
            // SAFETY: an f32 is four bytes, none of them padding; a byte needs no alignment.
            unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), size_of_val(*list)) }
        });
        let take = take.iter_mut().map(|list| {
            let bytes = size_of_val(&**list);
            // SAFETY: likewise, all bytes are an f32, and these are borrowed for us alone. All
            // processes have the same order of bytes: MPI hands on bytes as they are.
            unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), bytes) }
        });
        self.exchange_lists(with, give, with, take);
    }

    /// Each list goes as one message or several; none where it is empty.
    fn exchange_lists<'b>(
        &self,
        to: usize,
        give: impl IntoIterator<Item = &'b [u8]>,
        from: usize,
        take: impl IntoIterator<Item = &'b mut [u8]>,
    ) {
        let mut give = give.into_iter().flat_map(|list| list.chunks(MESSAGE));
        let mut take = take.into_iter().flat_map(|list| list.chunks_mut(MESSAGE));
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        loop {
            while coming.len() < AHEAD
                && let Some(bytes) = take.next()
            {
                // SAFETY: the bytes are borrowed for all of this function, which neither returns
                // nor unwinds before every message is through: `wait` and `or_end` rather end the
                // process. Each piece is handed out once.
                coming.push(self.or_end(unsafe { self.mpi.receive(bytes, from) }));
            }
            while going.len() < AHEAD
                && let Some(bytes) = give.next()
            {
                // SAFETY: likewise.
                going.push(self.or_end(unsafe { self.mpi.send(bytes, to) }));
            }
            if coming.is_empty() && going.is_empty() {
                return;
            }
            let waits_for = if coming.is_empty() { to } else { from };
            self.wait(&mut going, &mut coming, waits_for);
        }
    }

    /// Comes back when all processes have called it, however many they are: in round k each hears
    /// from the one 2ᵏ places below, and so of twice as many.
    pub fn meet(&self, rank: usize, size: usize) {
        let mut distance = 1;
        while distance < size {
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            self.exchange(to, &[0], from, &mut [0]);
            distance *= 2;
        }
    }

    /// Ends the library's work, together with all others, or the process. Nothing is under way.
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn finish(self, code: i32) -> Result<(), MpiError> {
        self.mpi.finish(code)
    }

    /// Until a message is through; takes out those that are.
    fn wait(&self, going: &mut Vec<Request>, coming: &mut Vec<Request>, member: usize) {
        let under_way = going.len() + coming.len();
        let mut patience = Patience::new(self.deadline);
        loop {
            for requests in [&mut *going, &mut *coming] {
                requests.retain_mut(|request| !self.or_end(self.mpi.is_done(request)));
            }
            if going.len() + coming.len() < under_way {
                return;
            }
            if !patience.pause() {
                self.end(&CrewError::Silent { member, seconds: self.deadline.as_secs() });
            }
        }
    }

    fn or_end<T>(&self, done: Result<T, MpiError>) -> T {
        match done {
            Ok(done) => done,
            Err(MpiError::Call { call, reason }) => self.end(&CrewError::Engine { call, reason }),
            Err(other) => self.end(&CrewError::Engine { call: "MPI", reason: other.message() }),
        }
    }

    fn end(&self, why: &CrewError) -> ! {
        /// Where even the last words fail, say because their reader has gone.
        const SPEECHLESS: i32 = 70;
        let code = catch_unwind(AssertUnwindSafe(|| (self.last_words)(why)));
        self.mpi.abort(code.unwrap_or(SPEECHLESS))
    }
}
