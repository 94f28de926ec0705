//! Models that go to Hugging Face's format and come back, with every option and number of heads:
//! the function is the same to the bit, and so are the weights where there is nothing to rewrite.

use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, Tokenizer};
use llm_core::{Attention, AttentionSpec, Config, TinyGPT, TokenId, no_grad};
use llm_formats::{bpe, hugging_face, own_names};
use llm_variant_mha::MultiHead;
use std::sync::Arc;

fn from_spec(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(MultiHead::from_spec(spec)?))
}

/// A model none of whose biases and gains is at its start, but for the output head's bias.
fn model(config: &Config, attention: MultiHead) -> TinyGPT {
    let mut model = TinyGPT::with_attention(config.clone(), Arc::new(attention), 3).unwrap();
    for (k, (name, p)) in model.parameters_mut().enumerate() {
        if name != "b_lm" {
            let moved = |i: usize| ((i * 7 + k) % 11) as f32 / 16.0;
            p.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x += moved(i));
        }
    }
    model
}

fn logits(model: &TinyGPT) -> Vec<f32> {
    let tokens: Vec<TokenId> = (0..12).map(|i| i * i % 5).collect();
    no_grad(|| model.logits(&tokens, [2, 6])).unwrap().data().to_vec()
}

fn through_hf(model: &TinyGPT, tokenizer: &dyn Tokenizer) -> TinyGPT {
    let folder = tempfile::tempdir().unwrap();
    hugging_face::export(folder.path(), model, tokenizer).unwrap();
    let imported = hugging_face::import(folder.path(), &from_spec).unwrap();
    assert_eq!(imported.tokenizer.name(), tokenizer.name());
    assert_eq!(imported.tokenizer.blob(), tokenizer.blob());
    imported.into_trainer().unwrap().0.model
}

#[test]
fn every_option_goes_to_hugging_face_and_comes_back() {
    let chars = CharTokenizer::from_text("abcde\n猫".as_bytes()).unwrap();
    let text = b"the cat sat on the mat, the cat sat on the hat".repeat(9);
    let bpe = bpe::learn(&text, 262, &|_| {}).ok(); // none in a build without it
    let all = [&ByteTokenizer as &dyn Tokenizer, &chars].into_iter().chain(bpe.as_deref());
    for tokenizer in all {
        for options in 0..8 {
            let [norm_affine, tied_head, head_bias] = [1, 2, 4].map(|bit| options & bit != 0);
            let base = Config::gpt2(tokenizer.vocab_size(), 6, 8, 2);
            let config = Config { norm_affine, tied_head, head_bias, dropout: 0.5, ..base };
            for n_heads in [1, 2, 4] {
                let before = model(&config, MultiHead::new(n_heads));
                let after = through_hf(&before, tokenizer);
                assert_eq!(logits(&before), logits(&after), "{config:?}, {n_heads} heads");
                assert_eq!(before.attention().spec(), after.attention().spec());
                let settings = Config { norm_affine: true, head_bias: false, ..config.clone() };
                assert_eq!(*after.config(), settings);
                let again: Vec<_> = after.parameters().collect();
                for (name, p) in before.parameters().filter(|(name, _)| name != "b_lm") {
                    let found = again.iter().find(|(other, _)| *other == name);
                    assert_eq!(found.unwrap().1.data(), p.data(), "{name}");
                }
            }
        }
    }
}

#[test]
fn heads_that_are_switched_off_stay_off() {
    let config = Config::gpt2(256, 6, 8, 2);
    let mask = vec![true, false, true, true, false, false, true, false];
    let before = model(&config, MultiHead::with_head_mask(4, mask));
    let all = model(&config, MultiHead::new(4));
    let after = through_hf(&before, &ByteTokenizer);
    assert!(after.attention().spec().head_mask.is_empty());
    assert_eq!(logits(&before), logits(&after));
    assert_ne!(logits(&before), logits(&all));
}

#[test]
fn our_own_file_keeps_heads_and_their_mask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let config = Config::new(256, 6, 8, 2);
    let mask = vec![true, false, true, true];
    for attention in [MultiHead::new(4), MultiHead::new(1), MultiHead::with_head_mask(2, mask)] {
        let mut before = model(&config, attention);
        before.b_lm.as_mut().unwrap().data_mut()[3] = 0.5;
        own_names::export(&path, &before, &ByteTokenizer).unwrap();
        let imported = own_names::import(&path, None, &from_spec).unwrap();
        let after = imported.into_trainer().unwrap().0.model;
        assert_eq!(before.attention().spec(), after.attention().spec());
        assert_eq!(logits(&before), logits(&after));
    }
}
