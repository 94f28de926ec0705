//! The exact predictor: the probability of the next byte, given the story so far.
//!
//! It knows the grammar but not the choices behind a text. It keeps every way the text so far can
//! have come about as a hypothesis: the state after the branch being told, the bytes of that
//! branch still to come, and a probability. With H the hypotheses that agree with the text,
//!
//! P(next byte = b | text) = Σ over H whose next byte is b of p / Σ over H of p
//!
//! Hypotheses that agree in state and in bytes to come have the same future and are merged.

use std::collections::BTreeMap;

use crate::branches::branches;
use crate::state::State;
use crate::words::{FULL, Grammar};

/// What can be known about a story after some of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Belief<'a> {
    grammar: &'a Grammar,
    hypotheses: Vec<Hypothesis>,
}

#[derive(Clone, Debug)]
struct Hypothesis {
    /// The state once `text` is told.
    state: State,
    text: Vec<u8>,
    /// How much of `text` has been told already.
    told: usize,
    p: f64,
}

impl<'a> Belief<'a> {
    /// Before the first byte.
    pub(crate) fn new(grammar: &'a Grammar) -> Belief<'a> {
        let first = Hypothesis { state: State::start(), text: Vec::new(), told: 0, p: 1.0 };
        let mut belief = Belief { grammar, hypotheses: vec![first] };
        belief.expand();
        belief
    }

    /// P(next byte | text so far) for all 256 bytes: sums to 1, or to 0 when the story is over.
    #[cfg(test)]
    pub(crate) fn next(&self) -> [f64; 256] {
        let mut mass = [0.0; 256];
        for hypothesis in &self.hypotheses {
            if let Some(byte) = hypothesis.text.get(hypothesis.told) {
                mass[usize::from(*byte)] += hypothesis.p;
            }
        }
        mass
    }

    /// Takes in the next byte and returns its probability, or `None` if no story goes on so.
    pub(crate) fn advance(&mut self, byte: u8) -> Option<f64> {
        self.hypotheses.retain(|h| h.text.get(h.told) == Some(&byte));
        let agreeing = self.total();
        if self.hypotheses.is_empty() {
            return None;
        }
        let mut finished = false;
        for hypothesis in &mut self.hypotheses {
            hypothesis.p /= agreeing;
            hypothesis.told += 1;
            finished |= hypothesis.told == hypothesis.text.len();
        }
        if finished {
            self.expand();
        }
        Some(agreeing)
    }

    fn total(&self) -> f64 {
        self.hypotheses.iter().map(|h| h.p).sum()
    }

    /// Replaces every hypothesis with nothing left to tell by its branches, merges equal ones and
    /// scales the sum to 1. The map is ordered, so sums are formed in the same order everywhere.
    fn expand(&mut self) {
        let mut merged: BTreeMap<(Vec<u8>, State), f64> = BTreeMap::new();
        let mut open = std::mem::take(&mut self.hypotheses);
        while let Some(mut hypothesis) = open.pop() {
            if hypothesis.told < hypothesis.text.len() {
                let to_come = hypothesis.text.split_off(hypothesis.told);
                *merged.entry((to_come, hypothesis.state)).or_insert(0.0) += hypothesis.p;
                continue;
            }
            let ways = branches(self.grammar, &hypothesis.state);
            let total: f64 = ways.iter().map(|branch| f64::from(branch.weight)).sum();
            open.extend(ways.into_iter().map(|branch| Hypothesis {
                state: branch.next,
                text: branch.pieces.iter().flat_map(|piece| piece.text.bytes()).collect(),
                told: 0,
                p: hypothesis.p * f64::from(branch.weight) / total,
            }));
        }
        self.hypotheses = merged
            .into_iter()
            .map(|((text, state), p)| Hypothesis { state, text, told: 0, p })
            .collect();
        let total = self.total();
        for hypothesis in &mut self.hypotheses {
            hypothesis.p /= total;
        }
    }
}

/// −ln P(byte t | bytes before t) for every byte of one story, in nats, with P the exact
/// distribution of the generator: one number per byte, the first one included.
///
/// The beginning of a story is fine, and so is the empty text. `None` if no story of the grammar
/// begins with `text`.
pub fn surprise(text: &str) -> Option<Vec<f64>> {
    let mut belief = Belief::new(&FULL);
    text.bytes().map(|byte| belief.advance(byte).map(|p| -p.ln())).collect()
}

#[cfg(test)]
mod tests;
