//! A connection's bytes, with deadlines: for a request, and for the client to take its answer.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// From the first byte of a request to its last.
const REQUEST: Duration = Duration::from_secs(10);
/// Between two requests.
const IDLE: Duration = Duration::from_secs(30);
/// For the client to make room for more of an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A client's connection.
#[derive(Clone)]
pub struct Socket(Arc<Inner>);

struct Inner {
    stream: TcpStream,
    phase: Mutex<Phase>,
}

/// What a connection is about.
#[derive(Clone, Copy)]
enum Phase {
    /// No byte of a request came, since then.
    Waiting(Instant),
    /// A request is to be there by then.
    Reading(Instant),
    Answering,
}

impl Socket {
    pub fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(ANSWER))?;
        let phase = Mutex::new(Phase::Waiting(Instant::now()));
        Ok(Socket(Arc::new(Inner { stream, phase })))
    }

    fn phase(&self) -> Phase {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_now(&self, phase: Phase) {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// The request is there.
    pub fn answering(&self) {
        self.is_now(Phase::Answering);
    }

    /// The time from which on it has not been asked for anything, or not all of it.
    pub fn idle_since(&self) -> Option<Instant> {
        match self.phase() {
            Phase::Waiting(since) => Some(since),
            Phase::Reading(until) => until.checked_sub(REQUEST),
            Phase::Answering => None,
        }
    }

    /// Ends it, whatever it is about.
    pub fn close(&self) {
        let _ = self.0.stream.shutdown(Shutdown::Both);
    }

    /// Whether the client has closed its end.
    pub fn has_left(&self) -> bool {
        let stream = &self.0.stream;
        if stream.set_nonblocking(true).is_err() {
            return true;
        }
        let seen = stream.peek(&mut [0]);
        let blocks = stream.set_nonblocking(false);
        let nothing_yet = |e: &io::Error| e.kind() == io::ErrorKind::WouldBlock;
        blocks.is_err() || matches!(seen, Ok(0)) || seen.is_err_and(|e| !nothing_yet(&e))
    }

    fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let now = Instant::now();
        let until = match self.phase() {
            Phase::Waiting(since) => since + IDLE,
            Phase::Reading(until) => until,
            Phase::Answering => {
                self.is_now(Phase::Waiting(now));
                now + IDLE
            }
        };
        let left = until.saturating_duration_since(now);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.stream.set_read_timeout(Some(left))?;
        let n = (&self.0.stream).read(bytes)?;
        if let Phase::Waiting(_) = self.phase() {
            self.is_now(Phase::Reading(Instant::now() + REQUEST));
        }
        Ok(n)
    }
}

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 8192];
        let most = buffer.remaining().min(bytes.len());
        Poll::Ready(self.read(&mut bytes[..most]).map(|n| buffer.put_slice(&bytes[..n])))
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready((&self.0.stream).write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.stream.shutdown(Shutdown::Write))
    }
}
