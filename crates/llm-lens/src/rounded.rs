//! Whether rounding changes what a model would say.

use llm_core::TokenId;
use llm_core::train::Scored;

/// The likeliest token at each scored place, by the model as it is, and how often it is the same by
/// a rounded one.
#[derive(Debug, Default)]
pub struct FirstChoices {
    tokens: Vec<TokenId>,
    compared: usize,
    same: usize,
}

impl FirstChoices {
    /// Adds what the model as it is said.
    pub fn remember(&mut self, scored: &Scored<'_>) {
        self.tokens.extend(logits_of(scored).map(first_choice));
    }

    /// Adds what the rounded one says of the same places, in the same order.
    pub fn compare(&mut self, scored: &Scored<'_>) {
        let known = self.tokens[self.compared..].iter();
        self.same +=
            logits_of(scored).map(first_choice).zip(known).filter(|(a, b)| a == *b).count();
        self.compared += scored.targets.len();
    }

    /// The share of places where both said the same.
    pub fn same(&self) -> f64 {
        self.same as f64 / self.compared.max(1) as f64
    }
}

/// The logits at each place, `[V]`.
pub fn logits_of<'a>(scored: &'a Scored<'_>) -> impl Iterator<Item = &'a [f32]> {
    let v = scored.logits.len() / scored.targets.len().max(1);
    scored.logits.chunks_exact(v.max(1))
}

/// The token with the greatest logit, the first of equals.
pub fn first_choice(logits: &[f32]) -> TokenId {
    let better = |best: usize, (i, x): (usize, &f32)| if *x > logits[best] { i } else { best };
    logits.iter().enumerate().fold(0, better) as TokenId
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
        assert_eq!(choices.same(), 0.75);
    }
}
