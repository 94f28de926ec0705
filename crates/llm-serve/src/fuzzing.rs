//! The door of the fuzz target `requests`: bodies of any bytes. Compiled for it and for tests.

use crate::ask::Ask;
use crate::attention::Look;
use crate::error::Res;
use crate::model::Served;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, TinyGPT};
use std::sync::{Arc, OnceLock};

const CONTEXT: usize = 64;

/// Bodies that are understood, each behind the number of its path.
pub fn seeds() -> Vec<Vec<u8>> {
    let bodies: [&[u8]; 8] = [
        b"\x00{\"prompt\": \"once\", \"max_tokens\": 3, \"temperature\": 0.5, \"top_p\": 0.9, \"seed\": 1}",
        b"\x00{\"prompt\": [[1, 2], \"a\"], \"n\": 2, \"echo\": true, \"logprobs\": 2, \"stop\": [\"b\"]}",
        b"\x00{\"prompt\": [1, 2], \"stream\": true, \"stream_options\": {\"include_usage\": true}, \"min_p\": 0.1}",
        b"\x01{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"logprobs\": true, \"top_logprobs\": 2}",
        b"\x01{\"messages\": [{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}]}], \"top_k\": 3}",
        b"\x01{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": [], \"model\": \"m\", \"user\": \"u\"}",
        b"\x02{\"tokens\": [1, 2, 3], \"position\": 1}",
        b"\x02{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"answer\": \"b\"}",
    ];
    bodies.into_iter().map(<[u8]>::to_vec).collect()
}

/// Reads a body, the first byte of which says for which path; whether it is understood.
///
/// # Panics
/// When what is understood is beyond its bounds, or a refusal has no status of one.
pub fn read(bytes: &[u8]) -> bool {
    static SERVED: OnceLock<Arc<Served>> = OnceLock::new();
    let served = SERVED.get_or_init(|| {
        let model = TinyGPT::new(Config::new(256, CONTEXT, 8, 1), 1).expect("a small model");
        Served::new("m", &model, Arc::new(ByteTokenizer))
    });
    let Some((path, body)) = bytes.split_first() else { return false };
    let asked = |ask: Res<Ask>| {
        ask.map(|ask| {
            assert!((1..=64).contains(&ask.choices()) && ask.sampling.check().is_ok());
            for choice in 0..ask.choices() {
                let (prompt, _) = ask.choice(choice);
                let context = CONTEXT - usize::from(ask.most > 0);
                assert!((1..=context).contains(&prompt.len()) && prompt.iter().all(|&t| t < 256));
            }
        })
    };
    let read = match path % 3 {
        0 => asked(Ask::completion(body, served)),
        1 => asked(Ask::chat(body, served)),
        _ => Look::read(body, served).map(|look| assert!(look.position < look.tokens.len())),
    };
    if let Err(refusal) = &read {
        assert!(
            (400..500).contains(&refusal.status) && refusal.message.len() < 1000,
            "{refusal:?}"
        );
    }
    read.is_ok()
}

#[test]
fn seeds_are_understood_and_pieces_of_them_are_not() {
    for seed in seeds() {
        assert!(read(&seed), "{}", String::from_utf8_lossy(&seed));
        (0..seed.len()).for_each(|n| assert!(!read(&seed[..n])));
    }
}
