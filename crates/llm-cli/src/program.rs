//! What a binary is: its name, its attention. All that differs between the trainers.

#[cfg(test)]
use llm_core::model::SingleHead;
use llm_core::{Attention, AttentionSpec, Error, Tensor};
use llm_lens::trace::HeadLayout;
use std::sync::Arc;

/// How many heads a program's models have.
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

/// Attention between the projections: `qkv [B, T, 3C]` and H to `[B, T, C]`.
pub type Attend = fn(&Tensor, usize) -> Result<Tensor, Error>;

/// A baseline-only program, for tests.
#[cfg(test)]
pub(crate) const BASELINE: Program = Program {
    name: "train-gpt",
    about: "",
    heads: Heads::One { other: "another" },
    attention: |_| Arc::new(SingleHead),
    described: AttentionFlags::of_heads,
    options: &[],
    beyond: None,
    attend: None,
    from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
};

/// One with everything that may go beyond it, for tests.
#[cfg(test)]
pub(crate) const EVERYTHING: Program = Program { options: ALL_OPTIONS, ..BASELINE };

/// Everything that a program may offer beyond the baseline, for [`Program::options`].
pub const ALL_OPTIONS: &[&str] = &[
    "norm",
    "mlp",
    "mlp-bias",
    "positions",
    "kv-heads",
    "head-dim",
    "rope-theta",
    "rotary-dim",
    "window",
    "qk-norm",
    "attention-bias",
];

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

    /// Of an attention that has heads and nothing else, for [`Program::described`].
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

/// A binary's description of itself, for [`run`](crate::run).
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name one types.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// Its heads.
    pub heads: Heads,
    /// The attention of a new model.
    pub attention: fn(&AttentionFlags) -> Arc<dyn Attention>,
    /// The flags that make an attention which [`from_spec`](Program::from_spec) takes.
    pub described: fn(&AttentionSpec) -> AttentionFlags,
    /// What its models may be beyond the baseline: flags of [`FURTHER`](crate::flags::FURTHER) and
    /// [`ATTENTION`](crate::flags::ATTENTION), by their names. Without the flag there is no such
    /// model: none is made, loaded or imported.
    pub options: &'static [&'static str],
    /// Who has models beyond those.
    pub beyond: Option<Beyond>,
    /// For `bench`; none where there is one head.
    pub attend: Option<Attend>,
    /// The attention that a checkpoint names; an error when this program does not have it.
    pub from_spec: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
}

impl Program {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of another program is opened there, and nowhere when nobody is known to have it.
    #[test]
    fn the_program_that_has_a_model_is_named() {
        let beyond = Some(Beyond { program: "modern", attention: "rare" });
        let (one, many) = (Program { beyond, ..BASELINE }, Heads::Many { default: 4 });
        let many = Program { heads: many, ..one };
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
        assert_eq!(EVERYTHING.other_for(&AttentionSpec::new("rare", 1), true), None);
    }
}
