//! The attentions that a GGUF file can describe.

use crate::error::shown;
use crate::imported::{MODERN, SEVERAL, several};
use llm_core::base::Message;
use llm_core::model::{Rotary, SingleHead};
use llm_core::{AttentionSpec, message};

/// Refuses what a GGUF file cannot say.
///
/// # Errors
/// In words, what it has.
pub(super) fn check(spec: &AttentionSpec) -> Result<(), Message> {
    if ![SingleHead::NAME, SEVERAL, MODERN].contains(&spec.name.as_str()) {
        return Err(message!("'{}' attention", shown(&spec.name)));
    }
    if let Some((key, _)) = spec.other.iter().next() {
        return Err(message!("attention with '{}'", shown(key)));
    }
    if spec.window.is_some() {
        return Err(message!("a window of the last positions (window)"));
    }
    match spec.rotary {
        Some(Rotary { width: Some(_), .. }) => {
            Err(message!("heads that are turned in part (rotary.width)"))
        }
        Some(Rotary { scaling: Some(_), .. }) => {
            Err(message!("rotary positions that are slowed down (rotary.scaling.factor)"))
        }
        _ => Ok(()),
    }
}

/// The description with its name; what is as in multi-head attention is left out.
pub(super) fn named(spec: AttentionSpec, d_model: usize) -> AttentionSpec {
    let plain = several(spec.n_heads);
    let head_dim = spec.head_dim.filter(|d| *d != plain.head_dim(d_model));
    let spec = AttentionSpec { head_dim, ..spec };
    if spec.is_plain() { plain } else { AttentionSpec { name: MODERN.into(), ..spec } }
}
