//! Any bytes as text to learn: cut, drawn from, scored by a small model, and back to bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, Tokenizer};
use llm_core::train::evaluate;
use llm_core::{Config, TinyGPT, TokenDataset};
use llm_formats::data_files::kind::{Kind, gunzip, utf16};
use llm_fuzz::seed;
use std::ops::ControlFlow;
use std::sync::OnceLock;

const CONTEXT: usize = 4;

static MODEL: OnceLock<TinyGPT> = OnceLock::new();

fn model() -> &'static TinyGPT {
    MODEL.get_or_init(|| TinyGPT::new(Config::new(256, CONTEXT, 2, 1), 1).expect("a model"))
}

fuzz_target!(
    init: {
        seed([&b""[..], b"\0", b"ab", b"once upon a time, a cat", &[0xff; 40], "猫\r\n\u{feff}".as_bytes(),
            b"\x1F\x8B\x08\0\0\0\0\0\0\x03\x4B\x04\0\x43\xBE\xB7\xE8\x01\0\0\0", b"\xFF\xFEa\0"]
            .map(|text| [&[3, 2, 128, 7][..], text].concat()));
        model();
    },
    |input: &[u8]| {
        let Some((&[seq_len, rows, share, step], text)) = input.split_first_chunk() else { return };
        let _ = (Kind::of(text), utf16(text, step & 1 == 0), gunzip(text, 1 << 16));
        let tokens = ByteTokenizer.encode(text).expect("every byte is a token");
        assert_eq!(ByteTokenizer.decode(&tokens).expect("bytes"), text);
        if let Ok(chars) = CharTokenizer::from_text(text) {
            let tokens = chars.encode(text).expect("its own text");
            assert_eq!(chars.decode(&tokens).expect("its own tokens"), text);
            let again = CharTokenizer::from_blob(&chars.blob()).expect("its own blob");
            assert_eq!(again.blob(), chars.blob());
        }
        let _ = CharTokenizer::from_blob(text);

        let data = TokenDataset::from_bytes(text.to_vec());
        let (train, val) = data.split(f64::from(share) / 255.0);
        assert_eq!(train.len() + val.len(), text.len());
        let (t, b) = (usize::from(seq_len % 12), usize::from(rows % 4));
        if t > 0 && b > 0 {
            match train.batch(step.into(), 1 << (step % 64), [b, t]) {
                Ok(batch) => {
                    assert!(train.len() > t);
                    for (input, target) in batch.inputs.chunks(t).zip(batch.targets.chunks(t)) {
                        assert_eq!(input[1..], target[..t - 1]);
                    }
                }
                Err(_) => assert!(train.len() <= t),
            }
        }
        let windows = val.windows(t);
        if t > 0 {
            let scored: usize = windows.iter().map(|w| w.len).sum();
            assert_eq!(scored, val.len().saturating_sub(1));
        }
        let few = &windows.evenly_spaced(usize::from(step).min(4 * t));
        let go_on = |_: llm_core::train::Scored<'_>| ControlFlow::Continue(());
        match evaluate(model(), &val, few, b, go_on) {
            Ok(found) => assert!(found.loss.is_finite() && (0.0..=1.0).contains(&found.accuracy)),
            Err(_) => assert!(t == 0 || few.iter().any(|w| w.len > CONTEXT)),
        }
    }
);
