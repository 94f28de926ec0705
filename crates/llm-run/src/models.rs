//! What models a face makes: their heads, their attention. All that differs between the trainers.

use llm_core::model::SingleHead;
use llm_core::optim::{OPTIMIZERS, OptimizerRow};
use llm_core::{Attention, AttentionSpec, Error};
use llm_lens::trace::HeadLayout;
use std::sync::Arc;

/// How many heads the models of a face have.
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

/// What can be typed about the attention of a model. A program's attention takes of it what it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionFlags {
    /// H.
    pub n_heads: usize,
    /// G: heads of keys and values; none: as many as of queries.
    pub kv_heads: Option<usize>,
    /// D; none: C/H.
    pub head_dim: Option<usize>,
    /// θ of rotary positions; none: queries and keys are not turned.
    pub rope_theta: Option<f64>,
    /// Channels of a head that are turned; none: all.
    pub rotary_dim: Option<usize>,
    /// Are slow pairs slowed down further, for longer texts? Nobody can type that: it comes with
    /// models from elsewhere.
    pub slowed: bool,
    /// Positions that a query sees, its own among them; none: all up to its own.
    pub window: Option<usize>,
    /// Are queries and keys normed?
    pub qk_norm: bool,
    /// Has the projection to queries, keys and values a bias, and the one back?
    pub biases: [bool; 2],
}

impl AttentionFlags {
    /// Multi-head attention.
    pub fn new(n_heads: usize) -> AttentionFlags {
        AttentionFlags {
            n_heads,
            kv_heads: None,
            head_dim: None,
            rope_theta: None,
            rotary_dim: None,
            slowed: false,
            window: None,
            qk_norm: false,
            biases: [true; 2],
        }
    }

    /// How its heads lie, for whoever looks at them.
    pub fn layout(&self) -> HeadLayout {
        HeadLayout {
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            theta: self.rope_theta,
            rotary_dim: self.rotary_dim,
            window: self.window,
            qk_norm: self.qk_norm,
        }
    }

    /// Of an attention that has heads and nothing else, for [`Models::described`].
    pub fn of_heads(spec: &AttentionSpec) -> AttentionFlags {
        AttentionFlags::new(spec.n_heads)
    }
}

/// Another program, for models that this one has not.
#[derive(Clone, Copy, Debug)]
pub struct Beyond {
    /// The name one types.
    pub program: &'static str,
    /// What its attention calls itself in checkpoints.
    pub attention: &'static str,
}

/// A face's description of the models that it makes.
#[derive(Clone, Copy, Debug)]
pub struct Models {
    /// The name of the face, such as a program's.
    pub name: &'static str,
    /// Its heads.
    pub heads: Heads,
    /// The attention of a new model.
    pub attention: fn(&AttentionFlags) -> Arc<dyn Attention>,
    /// The flags that make an attention which [`from_spec`](Models::from_spec) takes.
    pub described: fn(&AttentionSpec) -> AttentionFlags,
    /// What its models may be beyond the baseline: settings of
    /// [`FURTHER`](crate::settings::FURTHER) and [`ATTENTION`](crate::settings::ATTENTION), by their
    /// names. Without the name there is no such model: none is made, loaded or imported.
    pub options: &'static [&'static str],
    /// Who has models beyond those.
    pub beyond: Option<Beyond>,
    /// The attention that a checkpoint names; an error where there is none.
    pub from_spec: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
    /// The optimizers that a run or a checkpoint may name.
    pub optimizers: &'static [OptimizerRow],
}

impl Models {
    /// Does it offer this option?
    pub fn offers(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// The attention of a new model with H heads and nothing else.
    pub fn with_heads(&self, n_heads: usize) -> Arc<dyn Attention> {
        (self.attention)(&AttentionFlags::new(n_heads))
    }

    /// The program that has a model with such an attention, when this one has not. `more`: is there
    /// anything else in the model that this program does not offer?
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

/// The baseline's models alone, from which those of another face differ in some fields.
pub const BASELINE: Models = Models {
    name: "train-gpt",
    heads: Heads::One { other: "another" },
    attention: |_| Arc::new(SingleHead),
    described: AttentionFlags::of_heads,
    options: &[],
    beyond: None,
    from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
    optimizers: OPTIMIZERS,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of another program is opened there, and nowhere when nobody is known to have it.
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
