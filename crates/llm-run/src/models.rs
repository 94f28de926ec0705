//! The models that a front end makes: their heads, their attentions. All that differs between the trainers.

use crate::arch::Arch;
use llm_core::base::Message;
use llm_core::model::SingleHead;
use llm_core::optim::{OPTIMIZERS, OptimizerRow};
use llm_core::settings::{Settings, Value};
use llm_core::{Attention, AttentionSpec, Error, message};
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

/// A kind of attention that a front end has.
#[derive(Clone, Copy, Debug)]
pub struct AttentionKind {
    /// What it calls itself in checkpoints, and how it is chosen.
    pub name: &'static str,
    /// One line of a help.
    pub doc: &'static str,
    /// Numbers of its own, kept in [`AttentionSpec::other`], each with its default.
    pub settings: &'static [(&'static str, Value)],
    /// The attention that a checkpoint describes; an error when it is another's.
    pub make: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
}

impl AttentionKind {
    /// One without numbers of its own.
    pub const fn plain(
        name: &'static str,
        make: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
    ) -> AttentionKind {
        AttentionKind { name, doc: "", settings: &[], make }
    }
}

/// A block that has a name: the settings that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct NamedBlock {
    /// The name.
    pub name: &'static str,
    /// Settings by their names, each as it is typed.
    pub settings: &'static [(&'static str, &'static str)],
}

/// A front end's description of the models that it makes.
#[derive(Clone, Copy, Debug)]
pub struct Models {
    /// The name of the front end, such as a program's.
    pub name: &'static str,
    /// Number of heads of its models.
    pub heads: Heads,
    /// Attentions: that of a new model first, which opens what none of the others does, then those that are
    /// chosen by name.
    pub attentions: &'static [AttentionKind],
    /// Blocks that can be compared by their names.
    pub blocks: &'static [NamedBlock],
    /// What its models may be beyond the baseline: settings of
    /// [`FURTHER`](crate::settings::FURTHER) and [`ATTENTION`](crate::settings::ATTENTION), by their
    /// names. Without the name there is no such model: none is made, loaded or imported.
    pub options: &'static [&'static str],
    /// The set of options of a new model for the user's text.
    pub for_text: Arch,
    /// The program that has models beyond these.
    pub beyond: Option<Beyond>,
    /// The optimizers that a run or a checkpoint may name.
    pub optimizers: &'static [OptimizerRow],
}

impl Models {
    /// Whether it offers this option.
    pub fn offers(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// Whether a new model may have one of several attentions.
    pub fn has_choice(&self) -> bool {
        self.attentions.len() > 1
    }

    /// The kind of attention with this name.
    pub fn kind(&self, name: &str) -> Option<&'static AttentionKind> {
        self.attentions.iter().find(|kind| kind.name == name)
    }

    /// The attention that a checkpoint describes.
    ///
    /// # Errors
    /// [`Error::Config`] when none of them is such.
    pub fn from_spec(&self, spec: &AttentionSpec) -> Result<Arc<dyn Attention>, Error> {
        let unknown = || {
            Error::config(
                "attention",
                message!("'{}' is not known here", spec.name.escape_default()),
            )
        };
        let kind = self.kind(&spec.name).or(self.attentions.first()).ok_or_else(unknown)?;
        (kind.make)(spec)
    }

    /// The attention of a new model: the one of this name, or the first, with these numbers of its own, each
    /// as NAME=X, and its defaults for the others.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that is not known, numbers that it does not have, and what else the
    /// description has that this attention has not.
    pub fn new_attention(
        &self,
        name: Option<&str>,
        own: &[String],
        mut described: AttentionSpec,
    ) -> Result<Arc<dyn Attention>, Error> {
        let first = self.attentions.first().map(|kind| kind.name);
        let name = name.or(first).unwrap_or_default();
        let Some(kind) = self.kind(name) else {
            let reason = message!("'{}' is not known here", name.escape_default());
            return Err(Error::config("attention", reason));
        };
        for (key, usual) in kind.settings {
            described.other.insert(key, usual.clone())?;
        }
        own_numbers("attention_set", name, kind.settings, own, &mut described.other)?;
        described.name = name.into();
        (kind.make)(&described).map_err(|e| match e {
            // A number has no option of its own: the error names the one by which it is set.
            Error::Config { field, reason }
                if kind.settings.iter().any(|(key, _)| *key == field) =>
            {
                Error::config("attention_set", message!("{} {}", field, reason))
            }
            other => other,
        })
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
    attentions: &[AttentionKind::plain(SingleHead::NAME, |spec| {
        Ok(Arc::new(SingleHead::from_spec(spec)?))
    })],
    blocks: &[],
    options: &[],
    for_text: Arch::Baseline,
    beyond: None,
    optimizers: OPTIMIZERS,
};

/// Puts what was typed as NAME=X among the settings of `whose`, an attention or an optimizer that has `known`
/// numbers, each with its default.
///
/// # Errors
/// [`Error::Config`] naming `field` for a name that is not there, and a value of another type.
pub fn own_numbers(
    field: &'static str,
    whose: &str,
    known: &[(&'static str, Value)],
    own: &[String],
    into: &mut Settings,
) -> Result<(), Error> {
    let refused = |reason| Error::config(field, reason);
    for text in own {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some((_, usual)) = known.iter().find(|(known, _)| *known == name) else {
            let names = Message::list(known.iter().map(|(name, _)| *name));
            let name = name.escape_default();
            return Err(refused(match known {
                [] => message!("'{}': {} has no numbers of its own", name, whose),
                _ => message!("{} has no '{}'; valid names: {}", whose, name, names),
            }));
        };
        let value = match usual {
            Value::Bool(_) => value.parse().map(Value::Bool).ok(),
            Value::Whole(_) => value.parse().map(Value::Whole).ok(),
            Value::Float(_) => value.parse().map(Value::Float).ok(),
            Value::Double(_) => value.parse().map(Value::Double).ok(),
            _ => Some(Value::Text(value.into())),
        };
        let wrong = || message!("'{}': expected {}", text.escape_default(), usual.kind());
        into.insert(name, value.ok_or_else(|| refused(wrong()))?)?;
    }
    Ok(())
}

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
