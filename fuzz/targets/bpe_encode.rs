//! Any bytes through a learned vocabulary and back; any numbers to bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_core::tokenizer::Tokenizer;
use llm_formats::bpe::learn;
use llm_fuzz::seed;
use std::sync::{Arc, LazyLock};

const TEXT: &str = "The cat's hat isn't where the cats' hats were; they'll say we're late, I'm sure.\n\
    naïve Café 猫在垫子上 🐈\u{200d}⬛ 1,234 in 2024   \r\n\t\t\u{a0}end\n\n\n";

static BPE: LazyLock<Arc<dyn Tokenizer>> =
    LazyLock::new(|| learn(TEXT.repeat(3).as_bytes(), 340, &|_| {}).expect("a vocabulary"));

fuzz_target!(
    init: {
        let invalid = [b"\xff\xfe\x00".to_vec(), "猫".as_bytes()[..2].repeat(3), vec![b' '; 600]];
        seed(TEXT.split_inclusive(' ').map(|s| s.as_bytes().to_vec()).chain(invalid));
        LazyLock::force(&BPE);
    },
    |text: &[u8]| {
        let tokens = BPE.encode(text).expect("every byte is a token");
        assert_eq!(BPE.decode(&tokens).expect("its own tokens"), text);
        let numbers: Vec<u32> = text.chunks_exact(2).map(|n| u16::from_le_bytes([n[0], n[1]]).into()).collect();
        let known = numbers.iter().all(|&n| (n as usize) < BPE.vocab_size());
        assert_eq!(BPE.decode(&numbers).is_ok(), known);
    }
);
