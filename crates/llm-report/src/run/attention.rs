//! What a page says about the heads: P for a short text, and what each head does. Measured with
//! llm-lens, on so little that the end of a run is not held up.

use crate::data::AttentionMaps;
use llm_core::base::Message;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, TinyGPT, TokenId, message};
use llm_lens::{HeadsReport, KnownText, Piece, attention_maps, measure_heads};
use llm_run::data::Validation;
use std::ops::Range;

/// A page shows no longer text than this, ..
const MOST_TOKENS: usize = 128;
/// Most weights of all heads together.
const MOST_WEIGHTS: usize = 150_000;
/// Most operations of the forward pass for it: a tenth of a second on a slow machine.
const MOST_OPERATIONS: u64 = 4_000_000_000;
/// Fewer say nothing, unless the model's context is no longer.
const FEWEST_TOKENS: usize = 8;
/// Heads are measured on no more tokens than this, ..
const MOST_MEASURED: usize = 8192;
/// Longest window in which heads are measured.
const LONGEST: usize = 256;

/// As many tokens as can be shown; 0: none, the model is too large.
pub(super) fn most_tokens(model: &TinyGPT) -> usize {
    let config = model.config();
    let heads = config.n_layers * model.attention().spec().n_heads;
    let weights = (2 * MOST_WEIGHTS / heads.max(1)).isqrt();
    let most = MOST_TOKENS.min(weights).min(affordable(model));
    if most < FEWEST_TOKENS { 0 } else { most.min(config.seq_len) }
}

/// Tokens that the model reads in a short time.
fn affordable(model: &TinyGPT) -> usize {
    let of_one = (2 * model.parameter_count()).max(1);
    usize::try_from(MOST_OPERATIONS / of_one).unwrap_or(usize::MAX)
}

/// What the heads look at in `text`, or why that is not shown: there is no text, no memory for it, or
/// an attention that does not show its weights.
pub(super) fn maps(
    model: &TinyGPT,
    text: &[TokenId],
    tokenizer: &dyn Tokenizer,
) -> Result<AttentionMaps, Message> {
    if text.is_empty() {
        return Err(too_large());
    }
    match attention_maps(model, text, text.len()) {
        Ok(maps) => Ok(AttentionMaps::new(maps, tokenizer)),
        Err(Error::Config { field: "attention", .. }) => Err(message!(
            "The attention of this model is not shown: this kind does not show its weights."
        )),
        Err(_) => Err(too_large()),
    }
}

fn too_large() -> Message {
    message!("The attention of this model is not shown: the model is too large for that.")
}

/// A [`Piece`] with the text that it knows.
#[derive(Debug)]
struct OwnPiece {
    tokens: Vec<TokenId>,
    known: Option<(String, Vec<Range<usize>>)>,
}

impl OwnPiece {
    fn of(Piece { tokens, known }: Piece<'_>) -> OwnPiece {
        OwnPiece { tokens, known: known.map(|known| (known.text.to_string(), known.words)) }
    }

    fn piece(&self) -> Piece<'_> {
        let known = self.known.as_ref();
        let known = known.map(|(text, words)| KnownText { text, words: words.clone() });
        Piece { tokens: self.tokens.clone(), known }
    }
}

/// Unseen text to measure heads on, kept from the beginning of a run to its end.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pieces: Vec<OwnPiece>,
    /// There is unseen text, and the model would take too long for it.
    pub too_large: bool,
}

impl Measured {
    /// Evenly spaced windows; none where the model is too large.
    ///
    /// # Errors
    /// What reading them says.
    pub(super) fn of(val: &Validation, model: &TinyGPT) -> llm_run::Result<Measured> {
        let longest = LONGEST.min(model.config().seq_len);
        let limit = MOST_MEASURED.min(affordable(model));
        if limit < longest {
            return Ok(Measured { too_large: true, ..Measured::default() });
        }
        let pieces = val.pieces(limit, longest).map(|piece| piece.map(OwnPiece::of));
        Ok(Measured { pieces: pieces.collect::<Result<_, _>>()?, too_large: false })
    }

    /// What each head of `model` does there; nothing when there is no memory for it.
    pub(super) fn heads(&self, model: &TinyGPT, tokenizer: &dyn Tokenizer) -> Option<HeadsReport> {
        if self.pieces.is_empty() {
            return None;
        }
        let pieces = self.pieces.iter().map(|piece| Ok::<_, Error>(piece.piece()));
        measure_heads(model, tokenizer, pieces, || false).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Context, Parameters};
    use llm_core::tokenizer::ByteTokenizer;
    use llm_core::{Attention, AttentionSpec, Config, Tensor};
    use std::sync::Arc;

    /// Looks at nothing, and says nothing about it.
    struct Shy;

    impl Attention for Shy {
        fn spec(&self) -> AttentionSpec {
            AttentionSpec::new("shy", 1)
        }
        fn check(&self, _: &Config) -> llm_core::Result<()> {
            Ok(())
        }
        fn forward(&self, x: &Tensor, _: &Parameters, _: &Context<'_>) -> llm_core::Result<Tensor> {
            Ok(x.clone())
        }
    }

    #[test]
    fn why_no_attention_is_shown_is_said_as_it_is() {
        let config = Config::new(256, 8, 8, 1);
        let shy = TinyGPT::with_attention(config.clone(), Arc::new(Shy), 1).unwrap();
        let why = |text: &[TokenId]| maps(&shy, text, &ByteTokenizer).unwrap_err();
        assert!(why(&[1, 2, 3]).to_string().ends_with("does not show its weights."));
        assert_eq!(why(&[]), too_large());
        let open = TinyGPT::new(config, 1).unwrap();
        assert!(maps(&open, &[1, 2, 3], &ByteTokenizer).is_ok());
    }
}
