//! The models that a front end makes: their heads, their attention. All that differs between the trainers.

use crate::arch::Arch;
use llm_core::model::SingleHead;
use llm_core::optim::{OPTIMIZERS, OptimizerRow};
use llm_core::{Attention, AttentionSpec, Error};
use std::sync::Arc;

/// Number of heads of a front end's models.
#[derive(Clone, Copy, Debug)]
pub enum Heads {
    /// One; for more there is another program.
    One {
        /// The other program's name.
        other: &'static str,
    },
    /// As many as `--heads` says.
    Many {
        /// Without the flag.
        default: usize,
    },
}

/// Another program, for models that this one has not.
#[derive(Clone, Copy, Debug)]
pub struct Beyond {
    /// The name one types.
    pub program: &'static str,
    /// What its attention calls itself in checkpoints.
    pub attention: &'static str,
}

/// A front end's description of the models that it makes.
#[derive(Clone, Copy, Debug)]
pub struct Models {
    /// The name of the front end, such as a program's.
    pub name: &'static str,
    /// Number of heads of its models.
    pub heads: Heads,
    /// The name of the attention of a new model, for [`from_spec`](Models::from_spec).
    pub attention: &'static str,
    /// What its models may be beyond the baseline: settings of
    /// [`FURTHER`](crate::settings::FURTHER) and [`ATTENTION`](crate::settings::ATTENTION), by their
    /// names. Without the name there is no such model: none is made, loaded or imported.
    pub options: &'static [&'static str],
    /// The set of options of a new model for the user's text.
    pub for_text: Arch,
    /// The program that has models beyond these.
    pub beyond: Option<Beyond>,
    /// The attention that a checkpoint names; an error when it is unknown.
    pub from_spec: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
    /// The optimizers that a run or a checkpoint may name.
    pub optimizers: &'static [OptimizerRow],
}

impl Models {
    /// Whether it offers this option.
    pub fn offers(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// The attention of a new model.
    ///
    /// # Errors
    /// [`Error::Config`] when the description has what this attention has not.
    pub fn new_attention(&self, described: AttentionSpec) -> Result<Arc<dyn Attention>, Error> {
        (self.from_spec)(&AttentionSpec { name: self.attention.into(), ..described })
    }

    /// The program that has a model with such an attention, when this one has not. `more`: whether
    /// the model has anything else that this program does not offer.
    pub fn other_for(&self, spec: &AttentionSpec, more: bool) -> Option<&'static str> {
        if let Some(Beyond { program, attention }) = self.beyond
            && (more || spec.name == attention)
        {
            return Some(program);
        }
        match self.heads {
            Heads::One { other } if spec.n_heads > 1 || !spec.head_mask.is_empty() => Some(other),
            _ => None,
        }
    }
}

/// The baseline's models alone, from which those of another front end differ in some fields.
pub const BASELINE: Models = Models {
    name: "train-gpt",
    heads: Heads::One { other: "another" },
    attention: SingleHead::NAME,
    options: &[],
    for_text: Arch::Baseline,
    beyond: None,
    from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
    optimizers: OPTIMIZERS,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of another program is opened there, and nowhere when no program is known to have it.
    #[test]
    fn the_program_that_has_a_model_is_named() {
        let beyond = Some(Beyond { program: "modern", attention: "rare" });
        let (one, many) = (Models { beyond, ..BASELINE }, Heads::Many { default: 4 });
        let many = Models { heads: many, ..one };
        for (name, n_heads, more, of_one, of_many) in [
            ("single-head", 1, true, Some("modern"), Some("modern")),
            ("multi-head", 4, true, Some("modern"), Some("modern")),
            ("multi-head", 4, false, Some("another"), None),
            ("rare", 4, false, Some("modern"), Some("modern")),
            ("unknown", 1, false, None, None),
        ] {
            let spec = AttentionSpec::new(name, n_heads);
            assert_eq!(
                (one.other_for(&spec, more), many.other_for(&spec, more)),
                (of_one, of_many)
            );
        }
        assert_eq!(BASELINE.other_for(&AttentionSpec::new("rare", 1), true), None);
    }
}
