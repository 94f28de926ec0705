//! A crew of threads.

use super::Crew;
use crate::base::{CrewError, Error, Result};
use crate::message;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// One of several threads of this process that work on a step together.
///
/// ```
/// use llm_core::crew::{Crew, InProcess};
///
/// let sums = InProcess::run(4, |crew| {
///     let mut x = [crew.rank() as f32, 1.0];
///     crew.sum(&mut x).map(|()| x)
/// });
/// assert!(sums.into_iter().all(|sum| sum.unwrap() == [6.0, 4.0]));
/// ```
#[derive(Debug)]
pub struct InProcess {
    rank: usize,
    everyone: Arc<Vec<Sender<Letter>>>,
    inbox: Receiver<Letter>,
    /// Letters that came before they were asked for.
    early: VecDeque<Letter>,
    deadline: Duration,
    traffic: Traffic,
}

/// What a rank has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that held something.
    pub messages: u64,
    /// Bytes in these messages.
    pub bytes: u64,
}

#[derive(Debug)]
struct Letter {
    from: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Numbers(Vec<f32>),
    Bytes(Vec<u8>),
}

impl InProcess {
    /// How long a rank waits for another.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// A crew of `size`, to be spread over threads.
    pub fn crew(size: usize) -> Vec<InProcess> {
        let (senders, inboxes): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
        let everyone = Arc::new(senders);
        let member = |(rank, inbox)| InProcess {
            rank,
            everyone: everyone.clone(),
            inbox,
            early: VecDeque::new(),
            deadline: InProcess::DEADLINE,
            traffic: Traffic::default(),
        };
        inboxes.into_iter().enumerate().map(member).collect()
    }

    /// Does `work` with every rank of a crew of `size`, each on a thread of its own; the results
    /// in the order of their numbers.
    ///
    /// # Panics
    /// When a rank does.
    pub fn run<T: Send>(size: usize, work: impl Fn(&mut InProcess) -> T + Sync) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let start = |mut member: InProcess| scope.spawn(move || work(&mut member));
            let threads: Vec<_> = InProcess::crew(size).into_iter().map(start).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, T>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }

    /// Waits so long for others, and no longer.
    pub fn with_deadline(self, deadline: Duration) -> InProcess {
        InProcess { deadline, ..self }
    }

    /// What this rank has sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn send(&mut self, to: usize, content: Content, bytes: usize) -> Result<()> {
        if bytes > 0 {
            self.traffic.messages += 1;
            self.traffic.bytes += bytes as u64;
        }
        let letter = Letter { from: self.rank, content };
        let sent = self.everyone.get(to).is_some_and(|sender| sender.send(letter).is_ok());
        if sent { Ok(()) } else { Err(Error::Crew(CrewError::Gone { member: to })) }
    }

    /// The oldest letter of a rank.
    fn take(&mut self, from: usize) -> Result<Content> {
        let early = self.early.iter().position(|letter| letter.from == from);
        if let Some(letter) = early.and_then(|place| self.early.remove(place)) {
            return Ok(letter.content);
        }
        let end = Instant::now() + self.deadline;
        loop {
            match self.inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(letter) if letter.from == from => return Ok(letter.content),
                Ok(letter) => self.early.push_back(letter),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Crew(CrewError::Gone { member: from }));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = self.deadline.as_secs();
                    return Err(Error::Crew(CrewError::Silent { member: from, seconds }));
                }
            }
        }
    }
}

/// What came is not what was asked for: ranks call other methods than each other.
fn unfitting(call: &'static str) -> Error {
    let reason = message!("the other member sent something else");
    Error::Crew(CrewError::Engine { call, reason })
}

impl Crew for InProcess {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.everyone.len()
    }

    fn exchange(&mut self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) -> Result<()> {
        let give = give.concat();
        let bytes = size_of_val(&give[..]);
        self.send(with, Content::Numbers(give), bytes)?;
        let room: usize = take.iter().map(|list| list.len()).sum();
        match self.take(with)? {
            Content::Numbers(theirs) if theirs.len() == room => {
                let mut rest = &theirs[..];
                for list in take {
                    let (first, others) = rest.split_at(list.len());
                    list.copy_from_slice(first);
                    rest = others;
                }
            }
            _ => return Err(unfitting("exchange")),
        }
        Ok(())
    }

    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()> {
        self.send(with, Content::Bytes(give.to_vec()), give.len())?;
        match self.take(with)? {
            Content::Bytes(theirs) if theirs.len() == take.len() => take.copy_from_slice(&theirs),
            _ => return Err(unfitting("exchange_bytes")),
        }
        Ok(())
    }
}
