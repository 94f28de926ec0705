//! How good a run is on unseen text, as the trainers measure it, in as many calls as one likes.

use crate::data::Data;
use crate::failure::Result;
use llm_core::TinyGPT;
use llm_core::data::{Window, Windows};
use llm_core::train::{Scored, evaluate};
use llm_stories::{FactKind, FactTable, Tally, surprise};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Most tokens that a measurement during training scores.
pub const PERIODIC_TOKENS: usize = 65_536;

/// A measurement that may not be done. It is of the weights that were there when it began.
#[derive(Debug)]
pub struct Measuring {
    /// The step that the weights are of.
    step: u64,
    /// What it was asked to score.
    pub tokens: usize,
    model: TinyGPT,
    windows: Windows,
    /// Windows that are scored.
    next: usize,
    loss: f64,
    right: u64,
    scored: u64,
    stories: Option<OfStories>,
}

/// What is known of the stories that are scored.
#[derive(Debug, Default)]
struct OfStories {
    facts: FactTable,
    /// Right without reading.
    guessed: BTreeMap<FactKind, Tally>,
    /// The sum of what no model can know, in nats.
    floor: f64,
}

impl OfStories {
    fn add(&mut self, data: &Data, window: Window, scored: &Scored<'_>) {
        let Some(story) = data.story(window) else { return };
        self.facts.add(story, window, scored);
        for (kind, tally) in data.guessed(story, window) {
            let sum = self.guessed.entry(kind).or_default();
            *sum = sum.plus(tally);
        }
        // The first byte is no target.
        let nats = surprise(&story.text).unwrap_or_default();
        self.floor += nats.iter().skip(1).take(window.len).sum::<f64>();
    }

    fn found(&self) -> Value {
        let kinds = self.facts.kinds.iter().map(|(kind, of)| {
            let guessed = self.guessed.get(kind).copied().unwrap_or_default();
            json!({
                "kind": kind.name(),
                "places": kind.places(),
                "right": of.right,
                "of": of.all,
                "frequent": guessed.most_frequent,
                "last": guessed.last_mentioned,
            })
        });
        kinds.collect()
    }
}

impl Measuring {
    /// One of at most so many tokens, evenly spread; 0: of all.
    pub fn new(model: &TinyGPT, step: u64, data: &Data, tokens: usize) -> Measuring {
        let limit = if tokens == 0 { usize::MAX } else { tokens };
        Measuring {
            step,
            tokens,
            model: model.clone(),
            windows: data.windows.evenly_spaced(limit),
            next: 0,
            loss: 0.0,
            right: 0,
            scored: 0,
            stories: data.is_stories().then(OfStories::default),
        }
    }

    /// Scores so many more windows, or all that are left.
    ///
    /// # Errors
    /// What [`evaluate`] refuses.
    pub fn go_on(&mut self, data: &Data, slice: usize, batch_size: usize) -> Result<()> {
        let left = self.windows.len() - self.next;
        let count = if slice == 0 { left } else { slice.min(left) };
        let some: Windows =
            (self.next..self.next + count).filter_map(|i| self.windows.get(i)).collect();
        let Measuring { model, loss, right, scored: all, stories, .. } = self;
        evaluate(model, &data.unseen, &some, batch_size, |scored| {
            *loss += scored.losses.iter().map(|&l| f64::from(l)).sum::<f64>();
            *right += scored.right.iter().filter(|&&r| r).count() as u64;
            *all += scored.targets.len() as u64;
            if let (Some(stories), Some(window)) = (stories.as_mut(), some.get(scored.window)) {
                stories.add(data, window, &scored);
            }
            ControlFlow::Continue(())
        })?;
        self.next += count;
        Ok(())
    }

    /// Are all windows scored?
    pub fn is_done(&self) -> bool {
        self.next == self.windows.len()
    }

    /// What it found, or how far it is.
    pub fn found(&self) -> Value {
        let part = self.next as f64 / self.windows.len().max(1) as f64;
        if !self.is_done() {
            return json!({ "done": false, "part": part, "step": self.step });
        }
        let tokens = self.scored.max(1) as f64;
        let mut found = json!({
            "done": true,
            "step": self.step,
            "validation_tokens": self.scored,
            "validation_loss": self.loss / tokens,
            "top1": self.right as f64 / tokens,
        });
        if let Some(stories) = &self.stories {
            found["facts"] = stories.found();
            found["facts_share"] = json!(stories.facts.total().share());
            found["floor"] = json!(stories.floor / tokens);
        }
        found
    }
}
