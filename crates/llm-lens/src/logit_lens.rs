//! What a model would say if it ended after each block.

use crate::inside::values;
use crate::rounded::first_choice;
use llm_core::model::Site;
use llm_core::{Result, Tensor, TinyGPT, TokenId, no_grad};

/// What would be said at one position after one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SaidThere {
    /// The first choice.
    pub token: TokenId,
    /// The probability of the first choice.
    pub p: f64,
    /// The probability of the token that comes next; `None` at the end.
    pub next: Option<f64>,
}

/// What the model would say at each position: a list before the first block, and one behind each; the last is
/// what it says. The stream there goes through the final norm and the output head,
/// [`TinyGPT::read_out`], as if the blocks behind added nothing.
///
/// ```
/// use llm_core::{Config, TinyGPT};
/// let model = TinyGPT::new(Config::new(256, 8, 16, 2), 1)?;
/// let said = llm_lens::logit_lens(&model, &b"once".map(u32::from))?;
/// assert_eq!((said.len(), said[0].len()), (3, 4));
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// As [`values`].
pub fn logit_lens(model: &TinyGPT, tokens: &[TokenId]) -> Result<Vec<Vec<SaidThere>>> {
    let found = values(model, tokens)?;
    let before = found.blocks.first().map(|block| block.at(Site::Before));
    let streams = before.into_iter().chain(found.blocks.iter().map(|block| block.at(Site::Behind)));
    let (t, v) = (tokens.len(), model.config().vocab_size);
    let mut said = Vec::new();
    for stream in streams {
        let shape = [1, t, model.config().d_model];
        let h = Tensor::from_vec(&shape, stream.iter().copied().collect())?;
        let logits = no_grad(|| model.read_out(&h))?;
        let rows = logits.data().chunks_exact(v).enumerate();
        said.push(rows.map(|(i, row)| there(row, tokens.get(i + 1))).collect());
    }
    Ok(said)
}

fn there(logits: &[f32], next: Option<&TokenId>) -> SaidThere {
    let token = first_choice(logits);
    let most = f64::from(logits.get(token as usize).copied().unwrap_or_default());
    let sum: f64 = logits.iter().map(|x| (f64::from(*x) - most).exp()).sum();
    let p = |token: usize| (f64::from(logits[token]) - most).exp() / sum;
    SaidThere { token, p: 1.0 / sum, next: next.map(|token| p(*token as usize)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;

    #[test]
    fn the_last_is_what_the_model_says_and_the_first_what_a_token_says_alone() {
        let model = TinyGPT::new(Config::new(11, 8, 8, 2), 3).unwrap();
        let tokens = [3, 1, 4, 1, 5];
        let said = logit_lens(&model, &tokens).unwrap();
        let logits = model.logits(&tokens, [1, 5]).unwrap();
        for (i, last) in said[2].iter().enumerate() {
            assert_eq!(*last, there(&logits.data()[i * 11..][..11], tokens.get(i + 1)));
        }
        assert!(said[0][4].next.is_none());
        // The first has seen nothing of what stands before: the same with another beginning.
        let other = logit_lens(&model, &[9, 1, 4, 1, 5]).unwrap();
        assert_eq!(said[0][1..], other[0][1..]);
        assert_ne!(said[2][1..], other[2][1..]);
        // By hand, for two tokens.
        let said = there(&[0.0, 3f32.ln()], Some(&0));
        assert!(said.token == 1 && (said.p - 0.75).abs() < 1e-6);
        assert!((said.next.unwrap() - 0.25).abs() < 1e-6);
    }
}
