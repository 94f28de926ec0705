//! Options with what is chosen in their gaps.

use super::choose::{FEWEST_BYTES_FOR_BPE, Size, VOCAB_SIZE};
use crate::models::{Heads, Models};
use crate::options::Options;
use crate::tokenizers::TokenizerKind;
use llm_core::settings::Value;
use llm_formats::bpe;

/// Options, and what was chosen of them.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    pub(super) options: Options,
    /// By their names, in the order in which they are said.
    pub(super) settings: Vec<(&'static str, Value)>,
}

impl Filled {
    pub(super) fn new(options: &Options) -> Filled {
        Filled { options: options.clone(), settings: Vec::new() }
    }

    /// A setting, unless it was asked for.
    pub(super) fn put(&mut self, name: &'static str, value: impl Into<Value>) {
        if self.options.given.contains_key(name) {
            return;
        }
        let value = value.into();
        self.options.given.insert(name, value.clone());
        self.settings.push((name, value));
    }

    /// The sizes. Heads have to divide the width, and are chosen together with it.
    pub(super) fn size(&mut self, models: &Models, size: &Size) {
        let Size { layers, d_model, heads, seq_len, batch, .. } = *size;
        let width = !self.options.given.contains_key("dmodel");
        self.put("layers", layers);
        self.put("dmodel", d_model);
        let many = matches!(models.heads, Heads::Many { .. });
        if width && many {
            self.put("heads", heads);
        }
        self.put("seq", seq_len);
        self.put("batch", batch);
    }

    /// How a text of this many bytes is cut.
    pub(super) fn tokenizer(&mut self, bytes: u64) {
        let of = &mut self.options.tokenizer;
        if of.bpe_vocab.is_some() || of.bpe_merges.is_some() {
            return;
        }
        if of.kind.is_none() {
            let asked = of.vocab_size.is_some();
            let long = bpe::AVAILABLE && bytes >= FEWEST_BYTES_FOR_BPE;
            let kind = if asked || long { TokenizerKind::Bpe } else { TokenizerKind::Byte };
            let word = if kind == TokenizerKind::Bpe { "bpe" } else { "byte" };
            of.kind = Some(kind);
            self.settings.push(("tokenizer", String::from(word).into()));
        }
        if self.learns() && self.options.tokenizer.vocab_size.is_none() {
            self.options.tokenizer.vocab_size = Some(VOCAB_SIZE);
            self.settings.push(("vocab_size", VOCAB_SIZE.into()));
        }
    }

    /// Whether a vocabulary is learned from the text.
    pub(super) fn learns(&self) -> bool {
        let of = &self.options.tokenizer;
        of.kind == Some(TokenizerKind::Bpe) && of.bpe_vocab.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose::SIZES;
    use super::*;
    use crate::models::BASELINE;
    use proptest::prelude::*;

    const NAMES: [&str; 6] = ["layers", "dmodel", "seq", "batch", "dropout", "steps"];

    proptest! {
        /// What is typed stays, and is not said again; the rest is filled.
        #[test]
        fn what_is_typed_wins(typed in proptest::collection::btree_set(0..NAMES.len(), 0..6)) {
            let mut options = Options::default();
            let own: Value = 7u64.into();
            for &number in &typed {
                options.given.insert(NAMES[number], own.clone());
            }
            let heads = Heads::Many { default: 4 };
            for models in [BASELINE, Models { heads, ..BASELINE }] {
                let mut filled = Filled::new(&options);
                filled.size(&models, &SIZES[1]);
                filled.put("dropout", 0.1f32);
                filled.put("steps", 2000u64);
                for (number, name) in NAMES.iter().enumerate() {
                    let is_typed = typed.contains(&number);
                    prop_assert_eq!(filled.options.given[name] == own, is_typed);
                    let said = filled.settings.iter().any(|(said, _)| said == name);
                    prop_assert_eq!(said, !is_typed);
                }
                // Heads go with the width, where a program has several.
                let many = matches!(models.heads, Heads::Many { .. });
                let with_heads = many && !options.given.contains_key("dmodel");
                let heads = with_heads.then_some(SIZES[1].heads.into());
                prop_assert_eq!(filled.options.given.get("heads"), heads.as_ref());
            }
        }
    }

    #[test]
    fn a_vocabulary_is_learned_where_the_text_is_long_enough() {
        let of = |options: &Options, bytes| {
            let mut filled = Filled::new(options);
            filled.tokenizer(bytes);
            (filled.options.tokenizer.kind.clone(), filled.options.tokenizer.vocab_size)
        };
        let mut options = Options::default();
        assert_eq!(of(&options, 99_999), (Some(TokenizerKind::Byte), None));
        if bpe::AVAILABLE {
            let learned = (Some(TokenizerKind::Bpe), Some(VOCAB_SIZE));
            assert_eq!(of(&options, FEWEST_BYTES_FOR_BPE), learned);
        }
        options.tokenizer.kind = Some(TokenizerKind::Char);
        assert_eq!(of(&options, 1 << 30), (Some(TokenizerKind::Char), None));
        options.tokenizer.kind = Some(TokenizerKind::Bpe);
        options.tokenizer.vocab_size = Some(300);
        assert_eq!(of(&options, 10), (Some(TokenizerKind::Bpe), Some(300)));
    }
}
