//! The three attentions: models as train-gpt and train-gpt-mha make them, and those of train-gpt-modern.

use crate::words::keyword;
use llm_core::model::SingleHead;
use llm_core::{Attention, AttentionSpec, Error};
use llm_run::arch::Arch;
use llm_run::models::{AttentionKind, BASELINE, Heads, Models};
use llm_run::settings::{ALL_OPTIONS, Given, settings_of};
use llm_variant_mha::{MultiHead, one_or_several};
use llm_variant_modern::Modern;
use std::sync::Arc;

/// One head or several.
pub static PLAIN: Models = Models {
    name: "traingpt",
    heads: Heads::Many { default: 4 },
    attentions: &[AttentionKind::plain(MultiHead::NAME, from_spec)],
    ..BASELINE
};

/// What today's models have; it opens every other model as well.
pub static MODERN: Models = Models {
    attentions: &[AttentionKind::plain(Modern::NAME, from_spec)],
    options: ALL_OPTIONS,
    for_text: Arch::Llama,
    ..PLAIN
};

fn from_spec(spec: &AttentionSpec) -> Result<Arc<dyn Attention>, Error> {
    match spec.name == Modern::NAME {
        true => Ok(Arc::new(Modern::from_spec(spec)?)),
        false => one_or_several(spec),
    }
}

/// The models of a new run: modern ones where that is said, or something is asked for that only they
/// have.
///
/// # Errors
/// What to say to an unknown name.
pub fn of_new(
    attention: Option<&str>,
    arch: Option<Arch>,
    given: &Given,
) -> Result<&'static Models, String> {
    let is_beyond = arch.is_some_and(|arch| !Arch::EVERYWHERE.contains(&arch));
    let more = settings_of(&MODERN)
        .find(|setting| ALL_OPTIONS.contains(&setting.name) && given.contains_key(setting.name));
    match (attention, more) {
        (Some("modern"), _) => Ok(&MODERN),
        (Some(MultiHead::NAME | SingleHead::NAME), None) if !is_beyond => Ok(&PLAIN),
        (Some(name @ (MultiHead::NAME | SingleHead::NAME)), more) => {
            let more = more.map_or("arch", keyword);
            Err(format!("{more}: {name} attention does not have it; leave attention out"))
        }
        (Some(other), _) => Err(format!(
            "attention '{other}': valid values: '{}', '{}' and '{}'",
            SingleHead::NAME,
            MultiHead::NAME,
            Modern::NAME
        )),
        (None, Some(_)) => Ok(&MODERN),
        (None, None) if is_beyond => Ok(&MODERN),
        (None, None) => Ok(&PLAIN),
    }
}
