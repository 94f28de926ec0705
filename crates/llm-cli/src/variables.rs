//! Variables of the environment that choose kernels or the language: an unknown word is refused,
//! not ignored.

use crate::error::{Result, usage};
use crate::lang::{self, Lang};
use llm_core::base::escape::one_line;
use llm_core::kernels::gemm::bf16;
use llm_core::kernels::gemm::engine::Engine;
use llm_core::kernels::simd;
use llm_core::message;

/// `LLM_KERNELS`, `LLM_ENGINE`, `LLM_BF16` and `LLM_LANG` hold words that are known.
///
/// # Errors
/// [`RunError::Usage`](crate::RunError::Usage) with the first that is not.
pub(crate) fn check() -> Result<()> {
    let orders = bf16::Order::ALL.map(bf16::Order::name);
    let levels: Vec<_> = simd::Level::HERE.iter().map(|level| level.name()).collect();
    let engines: Vec<_> = Engine::HERE.iter().map(|engine| engine.name()).collect();
    let of = |variable| std::env::var(variable).unwrap_or_default();
    check_words("LLM_KERNELS", &[&of("LLM_KERNELS")], &levels)?;
    check_words("LLM_ENGINE", &[&of("LLM_ENGINE")], &engines)?;
    let lang = of(lang::VARIABLE);
    if Lang::named(&lang).is_none() {
        check_words(lang::VARIABLE, &[&lang], &["en", "zh"])?;
    }
    let known = [&orders[..], &[bf16::EMULATED]].concat();
    let words = of("LLM_BF16");
    check_words("LLM_BF16", &words.split(',').map(str::trim).collect::<Vec<_>>(), &known)
}

fn check_words(variable: &str, words: &[&str], known: &[&str]) -> Result<()> {
    let is_unknown = |word: &&str| !word.is_empty() && !known.contains(word);
    let Some(word) = words.iter().copied().find(is_unknown) else { return Ok(()) };
    let (word, known) = (one_line(word), known.join(", "));
    usage(message!("{} is '{}': possible values: {}", variable, word, known))
}

#[cfg(test)]
mod tests {
    use super::check_words;

    #[test]
    fn a_word_that_is_not_known_is_named_with_those_that_are() {
        let known = ["pairs", "tiles"];
        assert!(check_words("LLM_BF16", &["tiles", ""], &known).is_ok());
        let refused = check_words("LLM_BF16", &["pairs", "tils"], &known).unwrap_err();
        assert_eq!(refused.to_string(), "LLM_BF16 is 'tils': possible values: pairs, tiles");
    }
}
