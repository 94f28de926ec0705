//! The settings in which the trainings of a comparison differ.

use llm_core::base::Message;
use llm_core::counted;
use llm_run::ladder::Rung;
use serde::{Serialize, Serializer};

/// The setting that has its own name, and says how models differ when nothing else does.
pub const HEADS: &str = "heads";
/// What stands for a setting where kinds of models are compared.
pub const KIND: &str = "variant";
/// What stands for the settings that a ladder moves.
pub const SIZE: &str = "size";

/// A training apart from its seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// The settings in which it differs: names and values, as they were typed.
    #[serde(serialize_with = "by_name")]
    pub settings: Vec<(String, String)>,
    /// H.
    #[serde(rename = "heads")]
    pub n_heads: usize,
    /// D.
    pub head_dim: usize,
    /// Number of weights.
    pub parameters: u64,
    /// Steps of each run.
    #[serde(skip)]
    pub steps: u64,
    /// Tokens of a step.
    #[serde(skip)]
    pub tokens_per_step: u64,
    /// The size of a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
}

/// Settings as an object.
pub(super) fn by_name<S: Serializer>(all: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(all.iter().map(|(name, value)| (name, value)))
}

impl Variant {
    /// Tokens that a run learns from.
    pub fn learned(&self) -> u64 {
        self.steps.saturating_mul(self.tokens_per_step)
    }

    /// `4 heads`, or `lr 0.003, heads 4`.
    pub fn name(&self) -> Message {
        match self.settings.as_slice() {
            [(name, _)] if name == HEADS => counted!(self.n_heads, "head"),
            _ => self.in_words(" ", ", ").into(),
        }
    }

    /// `heads 4`, or `lr 0.003  heads 4`.
    pub fn in_a_line(&self) -> String {
        self.in_words(" ", "  ")
    }

    /// `heads-4-seed-1`: the folder of one of its runs.
    pub fn folder(&self, seed: u64) -> String {
        // A name is a folder's on every system.
        let name = self.in_words("-", "-").replace([':', '+'], "-");
        format!("{name}-seed-{seed}")
    }

    /// `0.003/4`: its values alone.
    pub fn values(&self) -> String {
        self.settings.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("/")
    }

    fn in_words(&self, within: &str, between: &str) -> String {
        let each = self.settings.iter().map(|(name, value)| match name.as_str() {
            KIND => value.clone(),
            _ => format!("{name}{within}{value}"),
        });
        each.collect::<Vec<_>>().join(between)
    }
}

/// Without those that came before, in order.
pub fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_named_by_what_differs() {
        let variant = |settings: &[(&str, &str)]| Variant {
            settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            n_heads: 4,
            head_dim: 8,
            parameters: 1,
            steps: 1,
            tokens_per_step: 1,
            rung: None,
        };
        let heads = variant(&[(HEADS, "4")]);
        assert_eq!(
            (heads.name().to_string(), heads.in_a_line()),
            ("4 heads".into(), "heads 4".into())
        );
        let both = variant(&[("lr", "3e-3"), (HEADS, "4")]);
        assert_eq!(both.name().to_string(), "lr 3e-3, heads 4");
        assert_eq!(
            (both.folder(2), both.values()),
            ("lr-3e-3-heads-4-seed-2".into(), "3e-3/4".into())
        );
        let kind = variant(&[(KIND, "gqa:2+nope")]);
        assert_eq!(
            (kind.name().to_string(), kind.values()),
            ("gqa:2+nope".into(), "gqa:2+nope".into())
        );
        assert_eq!(kind.folder(3), "gqa-2-nope-seed-3");
    }
}
