//! How text is cut before anything is merged: the names that llama.cpp has for it.

use crate::bpe::Words;

/// How text is cut where it does not matter, since nothing is merged across characters. By this name
/// llama.cpp leaves spaces in front of full stops alone when it makes text of tokens; by GPT-2's it
/// would take them away.
pub(super) const UNITS: &str = "smollm";

/// The names of ways to cut text.
pub(super) const WAYS: [(&str, Words); 4] = [
    ("gpt-2", Words::Gpt2),
    (UNITS, Words::Gpt2Digits),
    ("llama-bpe", Words::Llama3),
    ("qwen2", Words::Qwen2),
];

/// Words that are tokens are taken whole, whatever the merges say: llama.cpp does so by this name.
pub(super) fn ignores_merges(pre: &str) -> bool {
    pre == "llama-bpe"
}
