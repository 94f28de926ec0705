//! How many of the stories' facts a model gets right.

use crate::fact::{FactKind, Story};
use llm_core::data::Window;
use llm_core::train::Scored;
use std::collections::BTreeMap;

/// Right and all, of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactScores {
    /// Every byte of the word was the model's first choice, given the true text before it.
    pub right: u64,
    /// Facts that lay inside the window.
    pub all: u64,
}

impl FactScores {
    /// right / all; 0 when there were none.
    pub fn share(&self) -> f64 {
        if self.all == 0 { 0.0 } else { self.right as f64 / self.all as f64 }
    }
}

/// Scores by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactTable {
    /// Only kinds that occurred.
    pub kinds: BTreeMap<FactKind, FactScores>,
}

impl FactTable {
    /// Adds the facts of a story that was scored from its first byte on.
    pub fn add(&mut self, story: &Story, window: Window, scored: &Scored<'_>) {
        for fact in &story.facts {
            // Byte p of the story is the target of position p − 1.
            if fact.start == 0 || fact.end - 1 > window.len {
                continue;
            }
            let entry = self.kinds.entry(fact.kind).or_default();
            entry.all += 1;
            let right = scored.right.get(fact.start - 1..fact.end - 1);
            entry.right += u64::from(right.is_some_and(|r| r.iter().all(|&x| x)));
        }
    }

    /// All kinds together.
    pub fn total(&self) -> FactScores {
        self.filtered(|_| true)
    }

    /// All kinds that need this many earlier places.
    pub fn with_places(&self, places: u8) -> FactScores {
        self.filtered(|kind| kind.places() == places)
    }

    fn filtered(&self, keep: impl Fn(FactKind) -> bool) -> FactScores {
        let kept = self.kinds.iter().filter(|(kind, _)| keep(**kind));
        kept.fold(FactScores::default(), |sum, (_, s)| FactScores {
            right: sum.right + s.right,
            all: sum.all + s.all,
        })
    }
}
