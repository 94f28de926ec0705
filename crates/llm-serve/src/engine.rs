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
use std::ops::ControlFlow;
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
    End(Finish, Vec<u8>),
    Failed(Refusal),
}

/// A token and its log-probability.
pub struct Scored {
    pub token: TokenId,
    /// Nothing for the first of a prompt.
    pub logprob: Option<f64>,
    /// The likeliest tokens in its place.
    pub top: Vec<(TokenId, f64)>,
}

/// Why a text ended, as OpenAI's API says it.
#[derive(Clone, Copy)]
pub enum Finish {
    Stop,
    Length,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    /// Texts that were being written, or waited to be.
    pub cut: usize,
    /// Texts that were written.
    pub written: u64,
}

/// A text that is written.
struct Active {
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
    active: HashMap<u64, Active>,
    /// Texts of the request that was taken last which have no place yet.
    waiting: VecDeque<(Arc<Ask>, Sender<Event>, usize)>,
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
        while !stop() {
            if self.take(jobs).is_break() {
                break;
            }
            self.place();
            if !self.writers.is_empty() {
                self.step();
            }
        }
        let queued = jobs.try_iter().filter_map(|job| match job {
            Job::Write(ask, to) => Some((ask, to)),
            Job::Look(_, to) => {
                let _ = to.send(Err(stopping()));
                None
            }
        });
        let mut cut = self.active.len() + self.waiting.len();
        for (ask, to) in queued {
            cut += ask.choices();
            tell(&to, 0, What::Failed(stopping()));
        }
        self.active.values().for_each(|text| tell(&text.to, text.choice, What::Failed(stopping())));
        self.waiting.iter().for_each(|(_, to, choice)| tell(to, *choice, What::Failed(stopping())));
        Stopped { cut, written: self.written }
    }

    /// Takes requests while there are places for their texts.
    fn take(&mut self, jobs: &Receiver<Job>) -> ControlFlow<()> {
        while self.waiting.is_empty() && self.writers.room() > 0 {
            let job = match self.writers.is_empty() {
                true => jobs.recv_timeout(BREATH),
                false => jobs.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            };
            match job {
                Ok(Job::Write(ask, to)) => {
                    let all = 0..ask.choices();
                    self.waiting.extend(all.map(|choice| (ask.clone(), to.clone(), choice)));
                }
                Ok(Job::Look(look, to)) => {
                    let _ = to.send(look.answer(self.model, &self.served));
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    }

    /// Gives waiting texts their places.
    fn place(&mut self) {
        while self.writers.room() > 0
            && let Some((ask, to, choice)) = self.waiting.pop_front()
        {
            let scored = ask.echo && ask.logprobs.is_some();
            let (prompt, sampling) = ask.choice(choice);
            let left = ask.most.min(self.served.context - prompt.len());
            // Also how it is noticed that the client of a text has left before its turn.
            let begun = match scored {
                true => {
                    let top = Vec::new();
                    What::Prompt(vec![Scored { token: prompt[0], logprob: None, top }])
                }
                false => What::Prompt(Vec::new()),
            };
            if to.send(Event { choice, what: begun }).is_err() {
                continue;
            }
            if left == 0 && !scored {
                self.written += 1;
                tell(&to, choice, What::End(Finish::Length, Vec::new()));
                continue;
            }
            match self.writers.join(prompt, left, sampling, scored) {
                Ok(number) => {
                    let (stops, scored) = (ask.stops.clone(), 0);
                    let text = Active { stops, ask, to, choice, left, scored };
                    self.active.insert(number, text);
                }
                Err(e) => tell(&to, choice, What::Failed(Refusal::of_model(e))),
            }
        }
    }

    /// A token of each text.
    fn step(&mut self) {
        let Engine { writers, active, served, written, .. } = self;
        let mut ended = Vec::new();
        let stepped = writers.step(|number, choice, scores| {
            let Some(text) = active.get_mut(&number) else { return };
            if text.hear(choice, scores, served).is_break() {
                ended.push(number);
            }
        });
        if let Err(e) = stepped {
            let why = Refusal::of_model(e);
            for (number, text) in active.drain() {
                tell(&text.to, text.choice, What::Failed(why.clone()));
                writers.leave(number);
            }
            return;
        }
        for number in ended {
            active.remove(&number);
            writers.leave(number);
            *written += 1;
        }
    }
}

impl Active {
    /// What the writer says; whether to go on.
    fn hear(&mut self, drawn: Option<Choice>, scores: &[f32], served: &Served) -> ControlFlow<()> {
        let v = served.tokenizer.vocab_size();
        let Some(Choice { token, .. }) = drawn else {
            let prompt = self.ask.choice(self.choice).0;
            let tokens = &prompt[(self.scored + 1).min(prompt.len())..];
            let all: Vec<Scored> = scores
                .chunks_exact(v)
                .zip(tokens)
                .map(|(scores, &token)| self.scored(token, scores))
                .collect();
            self.scored += scores.len() / v;
            let whole = self.scored == prompt.len();
            self.say(What::Prompt(all))?;
            return if whole && self.left == 0 {
                self.end(Finish::Length)
            } else {
                ControlFlow::Continue(())
            };
        };
        self.left -= 1;
        if Some(token) == served.tokenizer.end_of_text() {
            return self.end(Finish::Stop);
        }
        let scored = match self.ask.logprobs {
            Some(_) => self.scored(token, scores),
            None => Scored { token, logprob: None, top: Vec::new() },
        };
        let (bytes, stop) = self.stops.push(served.tokenizer.bytes_of(token));
        self.say(What::Token(scored, bytes))?;
        match (stop, self.left) {
            (true, _) => self.end(Finish::Stop),
            (false, 0) => self.end(Finish::Length),
            (false, _) => ControlFlow::Continue(()),
        }
    }

    fn end(&mut self, finish: Finish) -> ControlFlow<()> {
        let rest = self.stops.finish();
        self.say(What::End(finish, rest))?;
        ControlFlow::Break(())
    }

    /// Breaks where no one hears it any more.
    fn say(&self, what: What) -> ControlFlow<()> {
        match self.to.send(Event { choice: self.choice, what }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// The log-probability of a token among the scores `[V]`, and the likeliest ones; in f64, for whoever adds up.
    fn scored(&self, token: TokenId, scores: &[f32]) -> Scored {
        let n = self.ask.logprobs.unwrap_or(0);
        let mut top: Vec<(TokenId, f32)> = Vec::with_capacity(n + 1);
        for (other, &score) in scores.iter().enumerate() {
            if top.len() < n || top.last().is_some_and(|last| score > last.1) {
                let place = top.partition_point(|better| better.1 >= score);
                top.insert(place, (other as TokenId, score));
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

/// Tells a client that may have left.
fn tell(to: &Sender<Event>, choice: usize, what: What) {
    let _ = to.send(Event { choice, what });
}
