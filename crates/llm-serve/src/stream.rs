//! Answers as they come: all at once, or event by event.

use crate::answer::Answer;
use crate::engine::{Event, What};
use crate::error::{Refusal, Res};
use crate::socket::Socket;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::task::{Context, Poll};
use std::time::Duration;

/// How often it is asked whether the client is still there.
const GLANCE: Duration = Duration::from_millis(100);

/// The next of what is awaited; none when the engine ended, `Err` when the client left.
pub fn next<T>(from: &Receiver<T>, socket: &Socket) -> io::Result<Option<T>> {
    loop {
        match from.recv_timeout(GLANCE) {
            Ok(event) => return Ok(Some(event)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) if socket.has_left() => {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The whole answer.
pub fn whole(mut answer: Answer, from: &Receiver<Event>, socket: &Socket) -> Res<Value> {
    while !answer.is_done() {
        match next(from, socket) {
            Ok(Some(event)) => answer.hear(event)?,
            Ok(None) => return Err(crate::error::stopping()),
            Err(_) => return Err(Refusal::new(499, "the client has left")),
        };
    }
    Ok(answer.whole())
}

/// What a response holds.
pub enum Content {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

/// Server-sent events.
pub struct Events {
    answer: Answer,
    from: Receiver<Event>,
    socket: Socket,
    ready: VecDeque<Bytes>,
    /// What is new of each text; they take turns, so that bytes do not depend on who was quicker.
    news: Vec<VecDeque<Event>>,
    turn: usize,
    is_over: bool,
    /// Whether what was given before has been sent.
    sent: bool,
}

impl Events {
    pub fn new(answer: Answer, from: Receiver<Event>, socket: Socket) -> Events {
        let ready = answer.beginning().iter().map(event).collect();
        let news = (0..answer.ask.choices()).map(|_| VecDeque::new()).collect();
        Events { answer, from, socket, ready, news, turn: 0, is_over: false, sent: false }
    }

    fn hear(&mut self, heard: Event) {
        if let What::Failed(_) = heard.what {
            return self.tell(heard);
        }
        self.news[heard.choice].push_back(heard);
        while !self.is_over
            && let Some(next) = self.news[self.turn].pop_front()
        {
            self.tell(next);
            let others = (1..=self.news.len()).map(|i| (self.turn + i) % self.news.len());
            self.turn = others.into_iter().find(|&i| !self.answer.has_ended(i)).unwrap_or(0);
        }
    }

    fn tell(&mut self, heard: Event) {
        match self.answer.hear(heard) {
            Ok(choice) => self.ready.extend(self.answer.news(choice).as_ref().map(event)),
            Err(why) => {
                self.ready.push_back(event(&why.json()));
                self.is_over = true;
                return;
            }
        }
        if self.answer.is_done() {
            self.ready.extend(self.answer.ending().as_ref().map(event));
            self.ready.push_back("data: [DONE]\n\n".into());
            self.is_over = true;
        }
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                self.sent = false;
                return Poll::Ready(Some(Ok(bytes)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            let heard = match self.from.try_recv() {
                Ok(heard) => Some(heard),
                Err(TryRecvError::Disconnected) => None,
                // Before this thread waits, what it has is sent.
                Err(TryRecvError::Empty) if !self.sent => {
                    self.sent = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(TryRecvError::Empty) => match next(&self.from, &self.socket) {
                    Ok(heard) => heard,
                    Err(e) => return Poll::Ready(Some(Err(e))),
                },
            };
            match heard {
                Some(heard) => self.hear(heard),
                None => return Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into()))),
            }
        }
    }
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match self.get_mut() {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Content::Events(events) => events.poll(cx),
        };
        next.map(|next| next.map(|bytes| bytes.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Content::Events(_) => SizeHint::default(),
        }
    }
}
