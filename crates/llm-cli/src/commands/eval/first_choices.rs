//! `eval --weights`: whether rounding changes what the model would say.

use crate::events::BesideF32;
use llm_core::base::Message;
use llm_core::kernels::small::SmallKind;
use llm_core::train::Scored;
use llm_core::{TokenId, message};
use llm_messages::unit;
use llm_run::data::Report;

/// The likeliest token at each scored place, by the model as it is, and how often it is the same by
/// the rounded one.
#[derive(Debug, Default)]
pub(super) struct FirstChoices {
    tokens: Vec<TokenId>,
    compared: usize,
    same: usize,
}

impl FirstChoices {
    /// What the model as it is said.
    pub(super) fn remember(&mut self, scored: &Scored<'_>) {
        self.tokens.extend(logits_of(scored).map(first_choice));
    }

    /// What the rounded one says of the same places, in the same order.
    pub(super) fn compare(&mut self, scored: &Scored<'_>) {
        let known = self.tokens[self.compared..].iter();
        self.same +=
            logits_of(scored).map(first_choice).zip(known).filter(|(a, b)| a == *b).count();
        self.compared += scored.targets.len();
    }

    /// With the loss that f32 had.
    pub(super) fn beside(&self, kind: SmallKind, f32_loss: f64) -> BesideF32 {
        let same_first_choice = self.same as f64 / self.compared.max(1) as f64;
        BesideF32 { weights: kind.name(), f32_loss, same_first_choice }
    }
}

/// The logits at each place, `[V]`.
pub(super) fn logits_of<'a>(scored: &'a Scored<'_>) -> impl Iterator<Item = &'a [f32]> {
    let v = scored.logits.len() / scored.targets.len().max(1);
    scored.logits.chunks_exact(v.max(1))
}

/// The greatest, the first of equals.
pub(super) fn first_choice(logits: &[f32]) -> TokenId {
    let better = |best: usize, (i, x): (usize, &f32)| if *x > logits[best] { i } else { best };
    logits.iter().enumerate().fold(0, better) as TokenId
}

/// For a person.
pub(super) fn lines(beside: &BesideF32, report: &Report) -> Message {
    let change = 100.0 * (report.evaluation.loss / beside.f32_loss - 1.0);
    message!(
        "in f32         {:.4} nats per {}: {} changes it by {:+.3} %\n\
         same choice    {:.2} %\n",
        beside.f32_loss,
        unit(report),
        beside.weights,
        change,
        100.0 * beside.same_first_choice
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_compared_in_their_order() {
        let scored = |logits: &'static [f32]| Scored {
            window: 0,
            inputs: &[0; 2],
            targets: &[0; 2],
            losses: &[0.0; 2],
            right: &[true; 2],
            logits,
        };
        let mut choices = FirstChoices::default();
        choices.remember(&scored(&[0.0, 1.0, 0.5, 2.0, 1.0, 2.0])); // 1, and the first of 0 and 2
        choices.remember(&scored(&[0.0, 0.0, 0.5, 2.0, 1.0, 3.0])); // 2, 2
        choices.compare(&scored(&[0.0, 2.0, 0.5, 2.0, 1.0, 0.0])); // 1, 0
        choices.compare(&scored(&[0.0, 2.0, 0.5, 2.0, 1.0, 2.5])); // 1, 2
        let beside = choices.beside(SmallKind::Q8, 1.5);
        assert_eq!((beside.weights, beside.same_first_choice), ("q8", 0.75));
    }
}
