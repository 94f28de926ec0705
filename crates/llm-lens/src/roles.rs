//! What a head may be doing, and when its scores say so.

/// A kind of place to look at, and so a thing that a head may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The token before.
    Previous,
    /// The first token, where little is to be had.
    First,
    /// The token itself.
    Itself,
    /// The letters of its own word.
    Word,
    /// Earlier mentions of the same word.
    Same,
    /// What followed the same token before: induction.
    After,
    /// Tokens like the one that comes next: copying.
    Copy,
    /// Spaces, punctuation and line ends.
    Separator,
    /// Earlier mentions of the word that comes next.
    Answer,
}

/// Number of kinds of places.
pub(crate) const N: usize = Role::ALL.len();

impl Role {
    /// All kinds, in the order of the columns; `marks.rs` says exactly which places they are.
    pub const ALL: [Role; 9] = [
        Role::Previous,
        Role::First,
        Role::Itself,
        Role::Word,
        Role::Same,
        Role::After,
        Role::Copy,
        Role::Separator,
        Role::Answer,
    ];

    /// As files and pages call it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Previous => "previous",
            Role::First => "first",
            Role::Itself => "itself",
            Role::Word => "word",
            Role::Same => "same",
            Role::After => "after",
            Role::Copy => "copy",
            Role::Separator => "separator",
            Role::Answer => "answer",
        }
    }
}

/// What is measured of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// Mean weight on such places, 0..=1.
    Weight(Role),
    /// Mean entropy of the weights, in nats.
    Entropy,
    /// The entropy as a share of its most, ln(i + 1).
    EntropyShare,
}

impl Column {
    /// As files and pages call it.
    pub fn name(self) -> &'static str {
        match self {
            Column::Weight(role) => role.name(),
            Column::Entropy => "entropy",
            Column::EntropyShare => "entropy_share",
        }
    }
}

/// A role needs a score of this many times what uniform attention gives.
const TIMES: f64 = 2.0;
/// Share of the way from uniform attention to 1 that a role's score goes at least.
const WAY: f64 = 0.1;

/// How much of the way from `uniform` to 1 a score goes; 0 or less when it is no higher.
fn way(score: f64, uniform: f64) -> f64 {
    if uniform >= 1.0 { 0.0 } else { (score - uniform) / (1.0 - uniform) }
}

/// What the scores say: the role whose score goes the farthest beyond even attention, if it goes
/// far enough; of equals the first (who looks at the previous letter looks into its word).
/// Scores without a value were not measured.
pub(crate) fn role_of(scores: &[Option<f64>; N], uniform: &[Option<f64>; N]) -> Option<Role> {
    let measured = (0..N).filter_map(|i| Some((i, scores[i]?, uniform[i]?)));
    measured
        .filter(|&(_, score, even)| score >= TIMES * even && way(score, even) >= WAY)
        .rev()
        .max_by(|a, b| way(a.1, a.2).total_cmp(&way(b.1, b.2)))
        .map(|(i, ..)| Role::ALL[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_needs_to_stand_out() {
        let uniform = [Some(0.05); N];
        let with = |changes: &[(usize, f64)]| {
            let mut scores = uniform;
            changes.iter().for_each(|&(i, score)| scores[i] = Some(score));
            role_of(&scores, &uniform)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[(2, 0.09)]), None); // not twice
        assert_eq!(with(&[(2, 0.14)]), None); // not a tenth of the way
        assert_eq!(with(&[(2, 0.15)]), Some(Role::Itself));
        assert_eq!(with(&[(2, 0.3), (5, 0.4)]), Some(Role::After));
        assert_eq!(with(&[(0, 0.4), (3, 0.4)]), Some(Role::Previous));
        // A third of everything is a separator: 0.6 there says less than 0.5 elsewhere.
        let mut even = uniform;
        even[7] = Some(0.33);
        let mut scores = uniform;
        (scores[7], scores[0]) = (Some(0.6), Some(0.5));
        assert_eq!(role_of(&scores, &even), Some(Role::Previous));
        assert_eq!(role_of(&[None; N], &even), None);
        assert_eq!(role_of(&[Some(1.0); N], &[Some(1.0); N]), None);
    }
}
