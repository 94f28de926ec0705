//! What a page says about causes: which heads and MLPs carry an answer, and what would be said after each
//! block. Measured with llm-lens, on so little that the end of a run is not held up.

use crate::data::{Causes, Lens};
use crate::label::label;
use llm_core::checkpoint::Snapshot;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId};
use llm_lens::{Part, explain, logit_lens};
use llm_run::data::{LARGEST_PATCHED, unseen_twins};
use llm_run::log::HeadMoment;
use llm_stories::FactKind;

/// Pairs of stories that are tried.
const PAIRS: usize = 24;
/// Most parts: each is a pass over every pair.
const MOST_PARTS: usize = 64;
/// Tokens at the end of a text for which the choices after each block are shown.
const MOST_TOKENS: usize = 24;

/// What carries the other person's name in unseen stories; nothing for a model of other data, or one that is
/// too large or does not show itself.
pub(super) fn causes(
    run: &Snapshot<'_>,
    tokenizer: &dyn Tokenizer,
    moments: &[HeadMoment],
) -> Option<Causes> {
    let (model, parts) = (run.model, Part::at_the_end(run.model));
    if model.parameter_count() > LARGEST_PATCHED || parts.len() > MOST_PARTS {
        return None;
    }
    let seq_len = model.config().seq_len;
    let kind = FactKind::OtherPerson;
    let pairs = unseen_twins(&run.recipe.data, kind, tokenizer, seq_len, PAIRS)?;
    let found = explain(model, &pairs, &parts, || false).ok().filter(|found| found.tried > 0)?;
    let right = found.right.len();
    Some(Causes { tried: found.tried, right, parts: found.rows, moments: moments.to_vec() })
}

/// What the model would say after each block at the end of a text; nothing where it does not show itself.
pub(super) fn lens(model: &TinyGPT, text: &[TokenId], tokenizer: &dyn Tokenizer) -> Option<Lens> {
    let said = logit_lens(model, text).ok()?;
    let first = text.len().saturating_sub(MOST_TOKENS);
    let layer = |layer: &Vec<llm_lens::SaidThere>| {
        layer[first..].iter().map(|there| (label(tokenizer, there.token), there.p)).collect()
    };
    let tokens = text[first..].iter().map(|token| label(tokenizer, *token)).collect();
    Some(Lens { tokens, layers: said.iter().map(layer).collect() })
}
