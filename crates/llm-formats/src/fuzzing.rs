//! The doors of the fuzz targets `safetensors_in`, `gguf_in`, `meta_in` and `chat_template`: weights from memory,
//! under our names, under Hugging Face's and under llama.cpp's, nanoGPT's table of characters, and
//! conversations with their template. Compiled for them and for tests.

use crate::error::FormatError;
use crate::imported::{FromSpec, Imported};
use crate::safetensors::{Data, Named, write};
use crate::{gguf, hugging_face, nano_gpt, own_names, tokenizers};
#[cfg(feature = "bpe")]
use llm_core::base::Message;
#[cfg(feature = "bpe")]
use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads `weights` with a config.json under Hugging Face's names; with one byte, the number of
/// heads, or nothing in its place, under ours. What is accepted must make a model.
///
/// # Panics
/// When a refusal is not one clean line, or what was accepted cannot be used.
pub fn read(config: &[u8], weights: &[u8], from_spec: &FromSpec<'_>) {
    let imported = match config {
        [] => own_names::read(weights, weights.len() as u64, None, from_spec),
        [heads] => own_names::read(weights, weights.len() as u64, Some((*heads).into()), from_spec),
        _ => hugging_face::from_parts(config, weights, from_spec),
    };
    // The same bytes might be an index of several files.
    if let Err(e) = hugging_face::weights::parse(config) {
        assert!(!e.to_string().contains(char::is_control), "{e:?}");
    }
    check(imported);
}

/// Reads a GGUF file.
///
/// # Panics
/// As [`read`].
pub fn read_gguf(file: &[u8], from_spec: &FromSpec<'_>) {
    check(gguf::read(file, file.len() as u64, from_spec));
}

/// Reads a `meta.pkl`.
///
/// # Panics
/// When a refusal is not one clean line, or what was accepted has no characters.
pub fn read_meta(file: &[u8]) {
    match nano_gpt::characters(file) {
        Ok(tokenizer) => assert!(tokenizer.vocab_size() > 0),
        Err(e) => assert!(!e.to_string().contains(char::is_control), "{e:?}"),
    }
}

/// Reads the bytes as a chat template and, after a 0, lines of conversations that it writes down.
///
/// # Panics
/// When a refusal is not one clean line, or an answer does not lie in what is written.
#[cfg(feature = "bpe")]
pub fn read_chat(input: &[u8]) {
    use crate::chat::{Conversations, Line, Template, end_of_answer, remarks, written_down};
    let (source, lines) = input.split_at(input.iter().position(|&b| b == 0).unwrap_or(input.len()));
    let lines = lines.get(1..).unwrap_or_default();
    let clean = |why: Message| assert!(!why.to_string().contains(char::is_control), "{why:?}");
    if let Err(why) = Conversations::parse([(message!("lines"), lines)]) {
        clean(why);
    }
    let source = String::from_utf8_lossy(source).into_owned();
    let template = match Template::new(source, "<s>".into(), "</s>".into(), true) {
        Ok(template) => template,
        Err(why) => return clean(why),
    };
    remarks(&template).chain(end_of_answer(&template).err()).for_each(clean);
    for line in String::from_utf8_lossy(lines).lines() {
        let Ok(Line::Turns(turns)) = Line::parse(line) else { continue };
        match written_down(&template, &turns) {
            Ok(written) => {
                assert!(
                    written.answers.iter().all(|answer| written.text.get(answer.clone()).is_some())
                );
            }
            Err(why) => clean(why),
        }
    }
}

/// Templates with conversations to begin with.
pub fn chat_seeds() -> Vec<Vec<u8>> {
    let line = r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}"#;
    let seeds = [
        "{% for m in messages %}{{ '<|' + m.role + '|>' + m['content'] | trim + eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        "{%- set ns = namespace(x=[]) -%}{% for m in messages[1:] if m.role != 'user' %}{% set ns.x = ns.x + [m.content.split('</t>')[-1]] %}{% endfor %}{{ ns.x | join('\n') }}",
        "{% macro f(a, b=1) %}{{ a ~ b }}{% endmacro %}{{ f(messages | length) }}{% if tools is iterable %}{{ tools | tojson }}{% else %}{{ strftime_now('%d') }}{% endif %}",
        "{% set x = {'a': [1, (2, 3)]} %}{% raw %}{{ }}{% endraw %}{# c #}{{ '{:>9}'.format(x.a[0]) }}{{ x | items | list }}{{ raise_exception('no') if not x }}",
    ];
    seeds.map(|source| [source.as_bytes(), b"\0", line.as_bytes()].concat()).into()
}

#[cfg(feature = "bpe")]
#[test]
fn the_door_of_chats_takes_its_seeds_and_nonsense() {
    for seed in chat_seeds() {
        for i in 0..seed.len() {
            let mut other = seed.clone();
            other[i] ^= 1 << (i % 7);
            read_chat(&other);
        }
        read_chat(&seed);
    }
}

/// A `meta.pkl` of n characters, to begin with.
///
/// # Panics
/// When it cannot be written.
pub fn meta(characters: u32) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Meta {
        vocab_size: u32,
        itos: BTreeMap<u32, char>,
        stoi: BTreeMap<char, u32>,
    }
    let all = (0..characters).filter_map(|i| Some((i, char::from_u32(i + 32)?)));
    let itos: BTreeMap<u32, char> = all.collect();
    let stoi = itos.iter().map(|(&i, &c)| (c, i)).collect();
    let meta = Meta { vocab_size: characters, itos, stoi };
    serde_pickle::to_vec(&meta, serde_pickle::SerOptions::new()).expect("a table of characters")
}

#[test]
fn the_door_of_meta_takes_its_seeds_and_nonsense() {
    for characters in [0, 1, 65, 300] {
        let file = meta(characters);
        assert_eq!(nano_gpt::characters(&file).is_ok(), characters > 0);
        for i in 0..file.len() {
            let mut other = file.clone();
            other[i] ^= 1 << (i % 8);
            read_meta(&other);
            read_meta(&file[..i]);
        }
    }
}

/// What is accepted makes a model, what is refused is refused in a line.
fn check(imported: crate::Result<Imported>) {
    match imported.and_then(Imported::into_trainer) {
        Ok((trainer, tokenizer)) => {
            let again = tokenizers::from_spec(&tokenizer).expect("its own tokenizer");
            assert!(again.vocab_size() <= trainer.model.config().vocab_size);
            assert!(
                trainer.model.parameters().all(|(_, p)| p.data().iter().all(|x| x.is_finite()))
            );
        }
        Err(FormatError::Core(llm_core::Error::Memory { .. })) => {}
        Err(FormatError::Io(e)) => panic!("memory can be read: {e}"),
        Err(e) => {
            let line = e.to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}

/// A place in the system's temporary folder that nothing else has, in this process either.
fn own_place(what: &str) -> std::path::PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let (process, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
    std::env::temp_dir().join(format!("llm-fuzz-{what}-{process}-{call}"))
}

/// Files to begin with: each a config.json and weights.
pub fn seeds() -> Vec<(Vec<u8>, Vec<u8>)> {
    use llm_core::tokenizer::{CharTokenizer, IdsTokenizer, Tokenizer};
    use llm_core::{Config, TinyGPT};
    let folder = own_place("hf");
    let chars = CharTokenizer::from_text(b"ab").expect("characters");
    let ids = IdsTokenizer::new(2).expect("numbers");
    let mut seeds = Vec::new();
    for config in
        [Config::gpt2(2, 1, 1, 1), Config { tied_head: false, ..Config::gpt2(2, 1, 1, 1) }]
    {
        for tokenizer in [&chars as &dyn Tokenizer, &ids] {
            let model = TinyGPT::new(config.clone(), 1).expect("a model");
            std::fs::create_dir_all(&folder).expect("a folder for the seeds");
            hugging_face::export(&folder, &model, tokenizer).expect("a folder of a model");
            let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
            seeds.push((read(hugging_face::CONFIG), read(hugging_face::WEIGHTS)));
            let few = serde_json::json!({"vocab_size": 2, "n_positions": 1, "n_embd": 1, "n_layer": 1,
                "n_head": 1, "tie_word_embeddings": config.tied_head});
            seeds.push((few.to_string().into_bytes(), read(hugging_face::WEIGHTS)));
            own_names::export(&folder.join("own"), &model, tokenizer).expect("a file of a model");
            seeds.push((Vec::new(), read("own")));
            seeds.push((vec![1], read("own")));
        }
    }
    seeds.push(llama(&folder.join("llama")));
    let _ = std::fs::remove_dir_all(&folder);
    seeds
}

/// A small Llama.
fn llama(file: &Path) -> (Vec<u8>, Vec<u8>) {
    let config = serde_json::json!({"model_type": "llama", "vocab_size": 2, "hidden_size": 2,
        "intermediate_size": 1, "num_hidden_layers": 1, "num_attention_heads": 1,
        "max_position_embeddings": 2, "tie_word_embeddings": true, "rope_scaling": {"rope_type":
        "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}});
    let shapes: [(&str, &[usize]); 11] = [
        ("embed_tokens", &[2, 2]),
        ("layers.0.input_layernorm", &[2]),
        ("layers.0.self_attn.q_proj", &[2, 2]),
        ("layers.0.self_attn.k_proj", &[2, 2]),
        ("layers.0.self_attn.v_proj", &[2, 2]),
        ("layers.0.self_attn.o_proj", &[2, 2]),
        ("layers.0.post_attention_layernorm", &[2]),
        ("layers.0.mlp.gate_proj", &[1, 2]),
        ("layers.0.mlp.up_proj", &[1, 2]),
        ("layers.0.mlp.down_proj", &[2, 1]),
        ("norm", &[2]),
    ];
    let tensor = |(name, shape): (&str, &[usize])| {
        let values = vec![0.5; shape.iter().product()];
        let (name, data) = (format!("model.{name}.weight"), Data::Floats(values.into()));
        Named { name, shape: shape.to_vec(), data }
    };
    write(file, ("format", "pt"), shapes.map(tensor).into()).expect("a file of a model");
    (config.to_string().into_bytes(), std::fs::read(file).expect("it was written"))
}

/// GGUF files to begin with: of each family, with each way to store numbers.
pub fn gguf_seeds(from_spec: &FromSpec<'_>) -> Vec<Vec<u8>> {
    use gguf::Stored;
    use llm_core::model::{Mlp, Norm, Positions, Rotary};
    use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, Tokenizer};
    use llm_core::{AttentionSpec, Config, TinyGPT};
    let path = own_place("gguf");
    let chars = CharTokenizer::from_text("ab\u{732b}".as_bytes()).expect("characters");
    let rotary = AttentionSpec {
        kv_heads: Some(1),
        rotary: Some(Rotary::new(100.0)),
        biases: [false; 2],
        ..AttentionSpec::new("modern", 2)
    };
    let mut seeds = Vec::new();
    for (rows, tokenizer) in [(3, &chars as &dyn Tokenizer), (256, &ByteTokenizer)] {
        let plain = Config::gpt2(rows, 2, 4, 1);
        let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
        let llama = Config { norm, mlp, positions, mlp_bias: false, ..plain.clone() };
        let wide = Config { d_model: 32, n_inner: 32, ..plain.clone() };
        let one = AttentionSpec::new("single-head", 1);
        for (config, spec, stored) in
            [(plain, &one, Stored::F32), (wide, &one, Stored::Q8_0), (llama, &rotary, Stored::BF16)]
        {
            let attention = from_spec(spec).expect("an attention");
            let model = TinyGPT::with_attention(config, attention, 1).expect("a model");
            gguf::export(&path, &model, tokenizer, stored, "m").expect("a file of a model");
            seeds.push(std::fs::read(&path).expect("it was written"));
        }
    }
    let _ = std::fs::remove_file(&path);
    seeds
}

#[test]
fn the_door_of_gguf_takes_its_seeds_and_nonsense() {
    let modern = |spec: &llm_core::AttentionSpec| -> llm_core::Result<_> {
        Ok(std::sync::Arc::new(llm_variant_modern::Modern::from_spec(spec)?)
            as std::sync::Arc<dyn llm_core::Attention>)
    };
    for file in gguf_seeds(&modern) {
        assert!(gguf::read(&file[..], file.len() as u64, &modern).is_ok());
        // Every byte up to the tensors, and some of those, changed in turn.
        for i in 0..file.len().min(1200) {
            let mut other = file.clone();
            other[i] ^= 1 << (i % 8);
            read_gguf(&other, &modern);
        }
    }
    read_gguf(b"", &modern);
}

#[test]
fn the_door_takes_its_seeds_and_nonsense() {
    for (config, weights) in seeds() {
        read(&config, &weights, &crate::tests::one_head);
        read(&weights, &config, &crate::tests::one_head);
        read(b"", b"", &crate::tests::one_head);
    }
}

#[test]
fn the_door_takes_a_small_llama() {
    let (config, weights) = seeds().pop().unwrap();
    let modern =
        |spec: &_| Ok(std::sync::Arc::new(llm_variant_modern::Modern::from_spec(spec)?) as _);
    read(&config, &weights, &modern);
    let made = hugging_face::from_parts(&config, &weights, &modern).and_then(Imported::into_model);
    assert!(made.unwrap().0.wpe.is_none());
}
