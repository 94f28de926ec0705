//! Answers as they come: all at once, or event by event.

use crate::answer::Answer;
use crate::engine::{Event, What};
use crate::error::{Refusal, Res, stopping};
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

/// The next of what is awaited, while the client waits too.
pub fn next<T>(from: &Receiver<T>, socket: &Socket) -> Res<T> {
    loop {
        match from.recv_timeout(GLANCE) {
            Ok(event) => return Ok(event),
            Err(RecvTimeoutError::Disconnected) => return Err(stopping()),
            Err(RecvTimeoutError::Timeout) if socket.has_left() => {
                return Err(Refusal::new(499, "the client has left"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The whole answer.
pub fn whole(mut answer: Answer, from: &Receiver<Event>, socket: &Socket) -> Res<Value> {
    while !answer.is_done() {
        answer.hear(next(from, socket)?)?;
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
    /// What was heard of each text; they take turns, so that bytes do not depend on who was quicker.
    heard: Vec<VecDeque<Event>>,
    turn: usize,
    is_over: bool,
    /// Whether what was given before has been sent.
    sent: bool,
}

impl Events {
    pub fn new(answer: Answer, from: Receiver<Event>, socket: Socket) -> Events {
        let ready = answer.beginning().iter().map(event).collect();
        let heard = (0..answer.ask.choices()).map(|_| VecDeque::new()).collect();
        Events { answer, from, socket, ready, heard, turn: 0, is_over: false, sent: false }
    }

    fn hear(&mut self, new: Event) -> Res<()> {
        if let What::Failed(why) = new.what {
            return Err(why);
        }
        self.heard[new.choice].push_back(new);
        while let Some(next) = self.heard[self.turn].pop_front() {
            let choice = self.answer.hear(next)?;
            self.ready.extend(self.answer.news(choice).as_ref().map(event));
            if self.answer.is_done() {
                self.ready.extend(self.answer.ending().as_ref().map(event));
                self.ready.push_back("data: [DONE]\n\n".into());
                self.is_over = true;
            }
            let all = self.heard.len();
            let mut others = (1..=all).map(|i| (choice + i) % all);
            self.turn = others.find(|&other| !self.answer.has_ended(other)).unwrap_or(0);
        }
        Ok(())
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
                Ok(heard) => Ok(heard),
                // Before this thread waits, what it has is sent.
                Err(TryRecvError::Empty) if !self.sent => {
                    self.sent = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(_) => next(&self.from, &self.socket),
            };
            if let Err(why) = heard.and_then(|heard| self.hear(heard)) {
                self.ready.push_back(event(&why.json()));
                self.is_over = true;
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
            Content::Whole(Some(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
