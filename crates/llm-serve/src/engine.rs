//! The thread that owns the model: it writes all answers, a token of each a step.

use crate::ask::Ask;
use crate::attention::Look;
use crate::error::{Refusal, Res, stopping};
use crate::model::Served;
use llm_core::generate::{Choice, Stops, Writers};
use llm_core::kernels::small::SmallKind;
use llm_core::{TinyGPT, TokenId};
use llm_run::Result;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Texts that are written at the same time.
pub const WRITERS: usize = 8;
/// How long it waits at most until it asks again whether to stop.
const BREATH: Duration = Duration::from_millis(50);

/// What a connection hands in.
pub enum Job {
    Write(Arc<Ask>, Sender<Event>),
    Look(Look, Sender<Res<Value>>),
}

/// What is heard of text number `choice` of a request.
pub struct Event {
    pub choice: usize,
    pub what: What,
}

pub enum What {
    /// Tokens of the prompt, which is to be echoed.
    Prompt(Vec<Scored>),
    /// A token, and what is certain to be in the text.
    Token(Scored, Vec<u8>),
    /// The end, why, and what was held back before it.
    End(&'static str, Vec<u8>),
    Failed(Refusal),
}

/// A token and its log-probability.
#[derive(Default)]
pub struct Scored {
    pub token: TokenId,
    /// Nothing for the first of a prompt.
    pub logprob: Option<f64>,
    /// The likeliest tokens in its place.
    pub top: Vec<(TokenId, f64)>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    /// Texts that were being written, or waited to be.
    pub cut: usize,
    /// Texts that were written.
    pub written: u64,
}

/// A text of a request, from the time that it waits for a place.
struct Text {
    ask: Arc<Ask>,
    to: Sender<Event>,
    choice: usize,
    stops: Stops,
    /// Tokens that are still to come.
    left: usize,
    /// Tokens of the prompt that were scored.
    scored: usize,
}

pub struct Engine<'m> {
    model: &'m TinyGPT,
    writers: Writers<'m>,
    served: Arc<Served>,
    active: HashMap<u64, Text>,
    /// Texts of the request that was taken last which have no place yet.
    waiting: VecDeque<Text>,
    written: u64,
}

impl<'m> Engine<'m> {
    pub fn new(
        model: &'m TinyGPT,
        weights: Option<SmallKind>,
        served: Arc<Served>,
    ) -> Result<Engine<'m>> {
        let writers = Writers::new(model, weights, WRITERS)?;
        let (active, waiting) = (HashMap::new(), VecDeque::new());
        Ok(Engine { model, writers, served, active, waiting, written: 0 })
    }

    /// Works until `stop` says so; then what was under way is cut, and told so.
    pub fn run(mut self, jobs: &Receiver<Job>, stop: impl Fn() -> bool) -> Stopped {
        while !stop() && self.take(jobs).is_continue() {
            self.place();
            self.step();
        }
        for job in jobs.try_iter() {
            match job {
                Job::Write(ask, to) => self.wait(ask, to),
                Job::Look(_, to) => drop(to.send(Err(stopping()))),
            }
        }
        let under_way = self.active.into_values().chain(self.waiting);
        let cut = under_way.inspect(|text| _ = text.say(What::Failed(stopping()))).count();
        Stopped { cut, written: self.written }
    }

    fn wait(&mut self, ask: Arc<Ask>, to: Sender<Event>) {
        self.waiting.extend((0..ask.choices()).map(|choice| {
            let left = ask.most.min(self.served.context - ask.choice(choice).0.len());
            let (ask, to, stops) = (ask.clone(), to.clone(), ask.stops.clone());
            Text { ask, to, choice, stops, left, scored: 0 }
        }));
    }

    /// Takes requests while there are places for their texts.
    fn take(&mut self, jobs: &Receiver<Job>) -> ControlFlow<()> {
        while self.waiting.is_empty() && self.writers.room() > 0 {
            let job = match self.writers.is_empty() {
                true => jobs.recv_timeout(BREATH),
                false => jobs.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            };
            match job {
                Ok(Job::Write(ask, to)) => self.wait(ask, to),
                Ok(Job::Look(look, to)) => drop(to.send(look.answer(self.model, &self.served))),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Break(()),
            }
        }
        Continue(())
    }

    /// Gives waiting texts their places.
    fn place(&mut self) {
        while self.writers.room() > 0
            && let Some(mut text) = self.waiting.pop_front()
        {
            let scored = text.ask.echo && text.ask.logprobs.is_some();
            let (prompt, sampling) = text.ask.choice(text.choice);
            let first = Scored { token: prompt[0], ..Scored::default() };
            // Also how it is noticed that the client of a text has left before its turn.
            if text.say(What::Prompt(scored.then_some(first).into_iter().collect())).is_break() {
                continue;
            }
            if text.left == 0 && !scored {
                self.written += u64::from(text.end("length").is_break());
                continue;
            }
            match self.writers.join(prompt, text.left, sampling, scored) {
                Ok(number) => drop(self.active.insert(number, text)),
                Err(e) => drop(text.say(What::Failed(Refusal::of_model(e)))),
            }
        }
    }

    /// A token of each text.
    fn step(&mut self) {
        let Engine { writers, active, served, written, .. } = self;
        let mut ended = Vec::new();
        let stepped = writers.step(|number, drawn, scores| {
            if active
                .get_mut(&number)
                .is_none_or(|text| text.hear(drawn, scores, served).is_break())
            {
                ended.push(number);
            }
        });
        if let Err(e) = stepped {
            let why = Refusal::of_model(e);
            ended = active.keys().copied().collect();
            active.values().for_each(|text| _ = text.say(What::Failed(why.clone())));
        }
        for number in ended {
            *written += u64::from(active.remove(&number).is_some());
            writers.leave(number);
        }
    }
}

impl Text {
    /// What the writer says; whether to go on.
    fn hear(&mut self, drawn: Option<Choice>, scores: &[f32], served: &Served) -> ControlFlow<()> {
        let Some(Choice { token, .. }) = drawn else {
            let prompt = self.ask.choice(self.choice).0;
            let rows = scores.chunks_exact(served.tokenizer.vocab_size());
            self.scored += rows.len();
            let (first, whole) = (self.scored + 1 - rows.len(), self.scored == prompt.len());
            let pairs = rows.zip(prompt.iter().skip(first));
            self.say(What::Prompt(pairs.map(|(row, &token)| self.scored(token, row)).collect()))?;
            return if whole && self.left == 0 { self.end("length") } else { Continue(()) };
        };
        self.left -= 1;
        if Some(token) == served.tokenizer.end_of_text() {
            return self.end("stop");
        }
        let (bytes, stop) = self.stops.push(served.tokenizer.bytes_of(token));
        let scored = match self.ask.logprobs {
            Some(_) => self.scored(token, scores),
            None => Scored::default(),
        };
        self.say(What::Token(scored, bytes))?;
        match (stop, self.left) {
            (true, _) => self.end("stop"),
            (false, 0) => self.end("length"),
            (false, _) => Continue(()),
        }
    }

    fn end(&mut self, finish: &'static str) -> ControlFlow<()> {
        let rest = self.stops.finish();
        self.say(What::End(finish, rest))?;
        Break(())
    }

    /// Breaks where no one hears it any more.
    fn say(&self, what: What) -> ControlFlow<()> {
        let said = self.to.send(Event { choice: self.choice, what });
        said.map_or(Break(()), Continue)
    }

    /// The log-probability of a token among the scores `[V]`, and the likeliest ones; in f64, for whoever adds up.
    fn scored(&self, token: TokenId, scores: &[f32]) -> Scored {
        let n = self.ask.logprobs.unwrap_or(0);
        let mut top: Vec<(TokenId, f32)> = Vec::with_capacity(n + 1);
        for (other, &score) in (0..).zip(scores) {
            if top.len() < n || top.last().is_some_and(|last| score > last.1) {
                top.insert(top.partition_point(|better| better.1 >= score), (other, score));
                top.truncate(n);
            }
        }
        let most = f64::from(scores.iter().copied().fold(f32::MIN, f32::max));
        let sum: f64 = scores.iter().map(|&x| (f64::from(x) - most).exp()).sum();
        let logprob = |score: f32| f64::from(score) - most - sum.ln();
        let top = top.into_iter().map(|(token, score)| (token, logprob(score))).collect();
        Scored { token, logprob: Some(logprob(scores[token as usize])), top }
    }
}
