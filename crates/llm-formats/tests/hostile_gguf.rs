//! What a GGUF file says of itself takes no memory before it is known to fit. A program of its own: the
//! most memory that a process has had is one number for all of it.

use llm_core::AttentionSpec;
use llm_core::base::memory::peak_resident;
use llm_formats::gguf;
use llm_variant_modern::Modern;
use std::io::{self, Read};
use std::sync::Arc;

const MOST: u64 = 100_000_000;
const TEXT: u32 = 8;
const LIST: u32 = 9;
const U32: u32 = 4;
const F32: u32 = 6;

/// The beginning of a file that goes on with zeros for ever.
#[derive(Clone, Default)]
struct File {
    tensors: u64,
    entries: u64,
    rest: Vec<u8>,
    /// Bytes of the tensors.
    end: u64,
}

impl File {
    fn text(mut self, text: &[u8]) -> File {
        self.rest.extend((text.len() as u64).to_le_bytes());
        self.rest.extend(text);
        self
    }

    fn key(mut self, key: &str, kind: u32) -> File {
        self.entries += 1;
        let mut file = self.text(key.as_bytes());
        file.rest.extend(kind.to_le_bytes());
        file
    }

    fn word(self, key: &str, text: &str) -> File {
        self.key(key, TEXT).text(text.as_bytes())
    }

    fn number(self, key: &str, n: u32) -> File {
        let mut file = self.key(key, U32);
        file.rest.extend(n.to_le_bytes());
        file
    }

    /// A list of which only the length is there.
    fn list(self, key: &str, kind: u32, count: u64) -> File {
        let mut file = self.key(key, LIST);
        file.rest.extend(kind.to_le_bytes());
        file.rest.extend(count.to_le_bytes());
        file
    }

    fn texts(self, key: &str, count: u64, text: impl Fn(u64) -> String) -> File {
        (0..count).fold(self.list(key, TEXT, count), |file, i| file.text(text(i).as_bytes()))
    }

    /// A tensor of f32, the first of the data.
    fn tensor(mut self, name: &str, shape: &[u64]) -> File {
        self.tensors += 1;
        self.end = shape.iter().fold(4, |bytes: u64, n| bytes.saturating_mul(*n));
        let mut file = self.text(name.as_bytes());
        file.rest.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|n| file.rest.extend(n.to_le_bytes()));
        file.rest.extend(0u32.to_le_bytes());
        file.rest.extend(0u64.to_le_bytes());
        file
    }

    /// A model of these sizes, so far without tensors.
    fn gpt2(self, sizes: [u32; 5]) -> File {
        let names = ["context_length", "embedding_length", "feed_forward_length", "block_count"];
        let file = self.word("general.architecture", "gpt2");
        let all = names.into_iter().chain(["attention.head_count"]).zip(sizes);
        let file = all.fold(file, |file, (name, n)| file.number(&format!("gpt2.{name}"), n));
        let mut file = file.key("gpt2.attention.layer_norm_epsilon", F32);
        file.rest.extend(1e-5f32.to_le_bytes());
        file
    }

    /// What is said of a file that is as long as its tensors want, or longer by so much.
    fn refused(&self, longer: u64) -> String {
        let head = [&b"GGUF"[..], &3u32.to_le_bytes(), &self.tensors.to_le_bytes()].concat();
        let all = [&head[..], &self.entries.to_le_bytes(), &self.rest].concat();
        let from_spec = |spec: &AttentionSpec| -> llm_core::Result<Arc<dyn llm_core::Attention>> {
            Ok(Arc::new(Modern::from_spec(spec)?))
        };
        let length = (all.len() as u64).next_multiple_of(32).saturating_add(self.end);
        let length = length.saturating_add(longer);
        gguf::read(all.chain(io::repeat(0)), length, &from_spec).expect_err("a liar").to_string()
    }
}

#[test]
fn liars_are_refused_within_a_hundred_megabytes() {
    let file = File::default();
    let tokens = |i: u64| format!("{i}");
    let many = file.clone().gpt2([8, 1, 4, 1, 1]).word("tokenizer.ggml.model", "gpt2");
    let many = many.texts("tokenizer.ggml.tokens", 400_000, tokens);
    let many = many.texts("tokenizer.ggml.merges", 400_000, tokens);
    let short = File { rest: vec![0; 40], ..file.clone() };
    for (what, liar) in [
        ("tensors", File { tensors: u64::MAX, ..short.clone() }),
        ("entries", File { entries: u64::MAX, ..short.clone() }),
        ("entries without names", File { entries: 4096, ..short.clone() }),
        ("tensors without names", File { tensors: 4096, ..short }),
        ("a long list", file.clone().list("a", TEXT, u64::MAX)),
        ("texts", file.clone().list("a", TEXT, 1 << 20)),
        ("bytes", (0..20).fold(file.clone(), |file, i| file.list(&format!("{i}"), 12, 1 << 20))),
        ("axes", file.clone().tensor("a", &[u64::MAX, 2])),
        ("numbers", file.clone().tensor("a", &[1 << 62, 1])),
        (
            "a table",
            file.clone().gpt2([8, 32, 64, 1, 1]).tensor("token_embd.weight", &[32, 1 << 40]),
        ),
        (
            "blocks",
            file.clone().gpt2([8, 32, 64, u32::MAX, 1]).tensor("token_embd.weight", &[32, 4]),
        ),
        ("many blocks", file.gpt2([8, 32, 64, 512, 1]).tensor("token_embd.weight", &[32, 4])),
        ("tokens", many.tensor("token_embd.weight", &[1, 400_000])),
    ] {
        for longer in [0, 1 << 40, u64::MAX] {
            let said = liar.refused(longer);
            let peak = peak_resident();
            assert!(peak < MOST, "{what}: {said}: {peak} bytes");
        }
    }
    // Where it can be learned at all.
    assert!(peak_resident() > 0 || !cfg!(target_os = "linux"));
}
