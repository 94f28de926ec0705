//! The tokenizer of a new run: what the flags ask for, read from files or trained on the run's
//! text.

mod choice;
mod learn;

pub use choice::{Choice, TokenizerKind, TokenizerOptions};
pub use learn::{Made, Watching, make};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Input;
    use llm_core::checkpoint::TokenizerSpec;
    use llm_formats::bpe;
    use llm_formats::tokenizers::from_spec;

    #[test]
    fn every_kind_comes_back_from_what_is_stored() {
        let learned = Choice::Learn { vocab_size: Some(300) };
        let learned = bpe::AVAILABLE.then_some(learned);
        for choice in [Choice::Byte, Choice::Char].into_iter().chain(learned) {
            let input = Input::Stories { seed: 1, count: 9 };
            let tokenizer = make(&choice, &input, 0.0, &|_, _| ()).unwrap().tokenizer;
            assert_eq!(tokenizer.name(), choice.kind());
            let again = from_spec(&TokenizerSpec::of(&*tokenizer)).unwrap();
            assert_eq!(again.blob(), tokenizer.blob());
            assert_eq!(choice.differs(&*tokenizer).unwrap(), None);
        }
        let unknown = TokenizerSpec { kind: "words\n".into(), blob: Vec::new() };
        let refused = from_spec(&unknown).err().unwrap().to_string();
        assert!(refused.starts_with("words\\n tokenizer: "), "{refused}");
    }
}
