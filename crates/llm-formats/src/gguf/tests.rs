//! Files that are GGUF, and files that are not what they should be.

#[cfg(feature = "bpe")]
use super::block::BlockType;
use super::import::rounded;
use super::tokens::Tokens;
use super::value::{MetaValue, write_text};
use super::{Architecture, Gguf, Needed, Stored, check_model, export, import, is_ours, read};
use crate::error::{FormatError, Result};
use crate::imported::Note;
use crate::tests::{Mend, mend};
use llm_core::model::{Activation, Mlp, Norm, Positions};
use llm_core::tokenizer::{
    ByteTokenizer, CharTokenizer, IdsTokenizer, PaddedTokenizer, Tokenizer, WithEndOfText,
};
use llm_core::{Attention, AttentionSpec, Config, TinyGPT};
use llm_variant_modern::{Modern, RotaryScaling};
use proptest::prelude::*;
#[cfg(feature = "bpe")]
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn modern(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(Modern::from_spec(spec)?))
}

/// A model whose weights are all different, those that start as 0 or 1 too.
fn model(config: Config, attention: Modern) -> TinyGPT {
    let model = TinyGPT::with_attention(config.clone(), Arc::new(attention), 1).unwrap();
    let (spec, mut n) = (model.attention().spec(), 0.0);
    let parameters = model.parameters().map(|(name, p)| {
        let values = p.data().iter().map(|x| {
            n += 1.0;
            x + n / 1024.0
        });
        (name, crate::imported::parameter(p.shape(), values.collect()).unwrap())
    });
    let parameters = parameters.collect();
    TinyGPT::from_parameters(config, modern(&spec).unwrap(), parameters).unwrap()
}

fn llama(tied_head: bool) -> Config {
    let config = Config::gpt2(256, 8, 24, 2);
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    Config { tied_head, norm, mlp, mlp_bias: false, positions, ..config }
}

/// Every kind of model that is written: with the attention that is a Llama's or a Qwen's.
fn kinds() -> Vec<(Architecture, TinyGPT)> {
    let rotary = || Modern::grouped(4, 2).with_rotary(500.0);
    let own = |config| Config { tied_head: false, n_inner: 40, ..config };
    let biased = Config { mlp_bias: true, ..llama(true) };
    vec![
        (Architecture::Gpt2, model(Config::gpt2(256, 8, 24, 2), Modern::new(3))),
        (Architecture::Gpt2, model(own(Config::gpt2(256, 8, 24, 1)), Modern::new(1))),
        (Architecture::Llama, model(llama(true), rotary().without_biases())),
        (Architecture::Llama, model(own(llama(true)), rotary().without_biases().with_head_dim(10))),
        (Architecture::Llama, model(biased, Modern::new(2).with_rotary(10_000.0))),
        (Architecture::Qwen3, model(llama(false), rotary().without_biases().with_qk_norm())),
    ]
}

fn written(model: &TinyGPT, tokenizer: &dyn Tokenizer, stored: Stored) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    export(&path, model, tokenizer, stored, "m").unwrap();
    assert!(is_ours(&path));
    std::fs::read(path).unwrap()
}

fn of_bytes(bytes: &[u8]) -> Result<crate::Imported> {
    read(bytes, bytes.len() as u64, &modern)
}

#[test]
fn models_come_back_bit_for_bit() {
    for (family, model) in kinds() {
        assert_eq!(check_model(&model).unwrap(), family);
        let imported = of_bytes(&written(&model, &ByteTokenizer, Stored::F32)).unwrap();
        assert_eq!((imported.config.clone(), imported.notes.len()), (model.config().clone(), 0));
        assert_eq!(imported.attention.spec(), model.attention().spec());
        let (again, tokenizer) = imported.into_model().unwrap();
        assert_eq!(tokenizer.name(), "byte");
        for ((name, a), (_, b)) in model.parameters().zip(again.parameters()) {
            assert_eq!(a.data(), b.data(), "{name}");
        }
    }
}

/// What a file has under a name: its shape, and its numbers.
fn tensor(file: &[u8], name: &str) -> (Vec<usize>, Vec<f32>) {
    let file = Gguf::open(file, file.len() as u64).unwrap();
    let needed: Vec<Needed> = file.tensors.iter().map(Needed::from).collect();
    let place = needed.iter().position(|needed| needed.name == name).unwrap();
    let (shape, mut found) = (needed[place].shape.clone(), Vec::new());
    let take = |i, _, rows: &[f32]| {
        if i == place {
            found.extend(rows);
        }
        Ok(())
    };
    file.read(&needed, take).unwrap();
    (shape, found)
}

/// Both ways with the same mistake would still come back.
#[test]
fn names_are_the_columns_that_llama_cpp_takes_them_for() {
    let mut model = model(llama(true), Modern::grouped(4, 2).with_rotary(10.0).without_biases());
    let columns = |n: usize| {
        let values = (0..24 * n).map(|i| (i % n) as f32).collect();
        crate::imported::parameter(&[24, n], values).unwrap()
    };
    // 4 heads of queries over 2 of keys and of values, 6 channels each; an MLP of 64.
    *model.blocks[1].attention.get_mut("w_qkv").unwrap() = columns(48);
    model.blocks[1].w_fc = columns(128);
    let file = written(&model, &ByteTokenizer, Stored::F32);
    let rows = |name: &str| -> (Vec<usize>, Vec<f32>) {
        let (shape, numbers) = tensor(&file, name);
        (shape, numbers.chunks_exact(24).map(|row| row[0]).collect())
    };
    let (q, k, v) =
        (rows("blk.1.attn_q.weight"), rows("blk.1.attn_k.weight"), rows("blk.1.attn_v.weight"));
    assert_eq!((q.0, k.0, v.0), (vec![24, 24], vec![12, 24], vec![12, 24]));
    assert_eq!(q.1[..8], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 6.0, 9.0]);
    assert_eq!(k.1[..8], [24.0, 27.0, 25.0, 28.0, 26.0, 29.0, 30.0, 33.0]);
    assert_eq!((v.1[0], v.1[1], v.1[11]), (36.0, 37.0, 47.0));
    let (gate, up) = (rows("blk.1.ffn_gate.weight").1, rows("blk.1.ffn_up.weight").1);
    assert_eq!((gate[0], gate[63], up[0], up[63]), (0.0, 63.0, 64.0, 127.0));
    let (shape, table) = tensor(&file, "token_embd.weight");
    assert_eq!((shape, &table[..]), (vec![256, 24], model.wte.data()));
}

#[test]
fn rounded_models_come_back_rounded() {
    for (family, model) in kinds() {
        let imported = of_bytes(&written(&model, &ByteTokenizer, Stored::BF16)).unwrap();
        for ((name, a), (_, b)) in model.parameters().zip(&imported.parameters) {
            let vector = a.shape().len() == 1 || name == "wpe";
            for (a, b) in a.data().iter().zip(b.data()) {
                let off = if vector { 0.0 } else { a.abs() / 256.0 };
                assert!((a - b).abs() <= off, "{family:?} {name}: {a} as {b}");
            }
        }
    }
}

#[test]
fn rows_that_are_no_whole_blocks_stay_as_they_are() {
    let config = Config { n_inner: 64, ..Config::gpt2(256, 8, 24, 2) };
    let model = model(config, Modern::new(1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let exported = export(&path, &model, &ByteTokenizer, Stored::Q8_0, "m").unwrap();
    // All matrices have rows of 24 but the two of 64 out of the MLPs; and wte.
    assert_eq!((exported.unrounded, exported.ends_at), (7, None));
    let imported = import(&path, &modern).unwrap();
    assert_eq!(imported.notes, [Note::Rounded { kind: "Q8_0" }]);
    for ((name, a), (_, b)) in model.parameters().zip(&imported.parameters) {
        assert_eq!(a.data() == b.data(), !name.ends_with("w_out"), "{name}");
    }
}

#[test]
fn what_is_not_there_is_written_as_what_computes_the_same() {
    let plain = Config { head_bias: false, mlp_bias: false, ..Config::new(256, 8, 16, 2) };
    let mask = vec![true, false, true, true];
    let model = model(plain, Modern::new(2).with_head_mask(mask));
    let imported = of_bytes(&written(&model, &ByteTokenizer, Stored::F32)).unwrap();
    let config = Config { tied_head: false, ..Config::gpt2(256, 8, 16, 2) };
    assert_eq!(imported.config, config);
    let (again, _) = imported.into_model().unwrap();
    let ids = [1, 2, 3, 4, 5];
    let logits = |model: &TinyGPT| model.logits(&ids, [1, 5]).unwrap().data().to_vec();
    for (a, b) in logits(&model).iter().zip(logits(&again)) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }
}

#[test]
fn models_that_llama_cpp_has_not_are_refused_by_what_is_different() {
    let gpt2 = Config::gpt2(256, 8, 24, 1);
    let (plain, rotary) = (Modern::new(3), Modern::new(3).with_rotary(100.0).without_biases());
    let slowed = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
    let layer = Config { norm: Norm::Layer, ..llama(true) };
    let gelu = Config { mlp: Mlp::Gelu, ..llama(true) };
    let none = Config { positions: Positions::None, ..gpt2.clone() };
    let exact = Config { activation: Activation::Gelu, ..gpt2.clone() };
    for (config, attention, needle) in [
        (
            Config { norm: Norm::Rms, ..gpt2.clone() },
            plain.clone(),
            "(rms), which a GGUF file for gpt2",
        ),
        (Config { mlp: Mlp::SwiGlu, ..gpt2.clone() }, plain.clone(), "(swiglu)"),
        (Config { mlp: Mlp::Relu2, ..gpt2.clone() }, plain.clone(), "(relu2)"),
        (exact, plain.clone(), "exact GELU"),
        (none, plain.clone(), "(none)"),
        (gpt2.clone(), plain.clone().with_window(4), "(window)"),
        (gpt2.clone(), plain.with_qk_norm(), "(qk_norm)"),
        (gpt2.clone(), Modern::multi_query(3), "(kv_heads)"),
        (gpt2, Modern::new(3).with_head_dim(6), "(head_dim)"),
        (layer, rotary.clone(), "(layer), which a GGUF file for llama"),
        (gelu, rotary.clone(), "(gelu)"),
        (llama(true), Modern::new(3).with_partial_rotary(100.0, 4), "(rotary.width)"),
        (llama(true), rotary.clone().with_rotary_scaling(slowed), "(rotary.scaling.factor)"),
        (
            Config { mlp_bias: true, ..llama(true) },
            rotary.with_qk_norm(),
            "biases, which a GGUF file for qwen3",
        ),
    ] {
        let refused = check_model(&model(config, attention)).unwrap_err();
        assert!(matches!(refused, FormatError::NotInGguf { .. }));
        assert!(refused.to_string().contains(needle), "{refused}");
    }
    let biased = model(Config::new(256, 8, 24, 1), Modern::new(1));
    assert!(check_model(&biased).unwrap_err().to_string().contains("(b_lm)"));
}

fn round_trip(tokenizer: &dyn Tokenizer) -> Arc<dyn Tokenizer> {
    let config = Config::gpt2(tokenizer.vocab_size(), 4, 8, 1);
    let imported =
        of_bytes(&written(&model(config, Modern::new(1)), tokenizer, Stored::F32)).unwrap();
    imported.tokenizer
}

#[test]
fn bytes_and_characters_are_known_again() {
    let mut all: Vec<Arc<dyn Tokenizer>> = vec![Arc::new(ByteTokenizer)];
    for text in [&b"once upon\na time"[..], "na\u{ef}ve 猫, 犬\t🐈".as_bytes(), b"a\xffb\xfe", b"x"]
    {
        all.push(Arc::new(CharTokenizer::from_text(text).unwrap()));
    }
    for plain in all {
        let ended = WithEndOfText::extend(plain.clone()).unwrap();
        let rows = ended.vocab_size() + 7;
        for tokenizer in [plain, ended.clone(), PaddedTokenizer::pad(ended, rows)] {
            let again = round_trip(&*tokenizer);
            assert_eq!((again.name(), again.blob()), (tokenizer.name(), tokenizer.blob()));
            assert_eq!(again.end_of_text(), tokenizer.end_of_text());
            assert_eq!(again.vocab_size(), tokenizer.vocab_size());
        }
    }
    let ids = IdsTokenizer::new(9).unwrap();
    let model = model(Config::gpt2(9, 4, 8, 1), Modern::new(1));
    let refused = export(Path::new("none/m"), &model, &ids, Stored::F32, "m").unwrap_err();
    assert!(refused.to_string().starts_with("a ids tokenizer cannot be written"), "{refused}");
}

#[cfg(feature = "bpe")]
#[test]
fn bpe_is_known_again() {
    let text = "the cat sat on the mat, the cat sat. na\u{ef}ve 猫\n".repeat(20);
    let learnt = crate::bpe::learn(text.as_bytes(), 300, |_| {}).unwrap();
    let ended = crate::tokenizers::with_end_of_text(learnt.clone()).unwrap();
    let rows = ended.vocab_size() + 3;
    for tokenizer in [learnt, ended.clone(), PaddedTokenizer::pad(ended, rows)] {
        let again = round_trip(&*tokenizer);
        assert_eq!((again.name(), again.blob()), ("bpe", tokenizer.blob()));
        assert_eq!(again.end_of_text(), tokenizer.end_of_text());
        assert_eq!(
            again.encode(text.as_bytes()).unwrap(),
            tokenizer.encode(text.as_bytes()).unwrap()
        );
    }
}

/// As in models that were taught to talk: a text of theirs ends with another token than GPT-2's.
#[cfg(feature = "bpe")]
#[test]
fn what_stands_beside_the_tokens_is_kept() {
    let words = Tokens::of(&*crate::bpe::learn(b"the cat sat", 260, |_| {}).unwrap()).unwrap();
    let mut entries: BTreeMap<_, _> = words.entries().into_iter().collect();
    let Some(MetaValue::Texts(names)) = entries.get_mut("tokenizer.ggml.tokens") else { panic!() };
    let first = names.len() as u32;
    names.extend(["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(String::from));
    let Some(MetaValue::Ints(kinds)) = entries.get_mut("tokenizer.ggml.token_type") else {
        panic!()
    };
    kinds.extend([3; 3]);
    let key = |name: &str| format!("tokenizer.{name}");
    let said = [
        (key("ggml.pre"), MetaValue::text("smollm")),
        (key("ggml.bos_token_id"), MetaValue::u32(first + 1)),
        (key("ggml.eos_token_id"), MetaValue::u32(first + 2)),
        (key("chat_template"), MetaValue::text("{{ messages }}")),
    ];
    entries.extend(said.clone());
    let read = Tokens::read(&mut entries, false).unwrap().unwrap();
    let tokenizer = read.tokenizer(first as usize + 3).unwrap();
    assert_eq!(tokenizer.end_of_text(), Some(first + 2));
    assert_eq!(tokenizer.encode(b"<|im_end|>cat").unwrap()[0], first + 2);
    let again = Tokens::of(&*tokenizer).unwrap().entries();
    for (name, value) in said {
        let found = again.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
        assert_eq!(found, Some(&value), "{name}");
    }
}

#[test]
fn a_text_ends_at_a_token_that_is_for_it() {
    let export_of = |tokenizer: &dyn Tokenizer| {
        let folder = tempfile::tempdir().unwrap();
        let model = model(Config::gpt2(tokenizer.vocab_size(), 4, 8, 1), Modern::new(1));
        let path = folder.path().join("m");
        let exported = export(&path, &model, tokenizer, Stored::F32, "m").unwrap();
        let bytes = std::fs::read(path).unwrap();
        let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
        let end = file.metadata["tokenizer.ggml.eos_token_id"].whole().unwrap();
        (exported.ends_at, end)
    };
    let chars = CharTokenizer::from_text(b"ab\n").unwrap();
    assert_eq!(export_of(&ByteTokenizer), (None, 0));
    assert_eq!(export_of(&chars), (Some(2), 2));
    let ended = WithEndOfText::extend(Arc::new(chars)).unwrap();
    assert_eq!(export_of(&*ended), (None, 3));
}

/// A file by hand.
struct Draft {
    entries: Vec<(String, MetaValue)>,
    /// Name, axes with the last one first, number of the type, offset.
    tensors: Vec<(String, Vec<u64>, u32, u64)>,
    body: Vec<u8>,
}

impl Draft {
    /// Two tensors: `a [2, 3]` in F32 and `b [32]` in Q8_0.
    fn good() -> Draft {
        let entries = vec![
            ("x.text".to_string(), MetaValue::text("猫")),
            ("x.list".into(), MetaValue::Texts(vec!["a".into(), String::new()])),
            ("x.ints".into(), MetaValue::Ints(vec![1, -2])),
            ("x.others".into(), MetaValue::Others(1, vec![1, 2, 255])),
        ];
        let tensors = vec![("a".to_string(), vec![3, 2], 0, 0), ("b".into(), vec![32], 8, 32)];
        let mut body: Vec<u8> = (0..6).flat_map(|x| (x as f32).to_le_bytes()).collect();
        body.resize(32, 0);
        body.extend([0x00, 0x3C]); // 1 as f16
        body.extend(0..32);
        body.resize(96, 0);
        Draft { entries, tensors, body }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.entries.len() as u64).to_le_bytes());
        for (key, value) in &self.entries {
            write_text(key, &mut out);
            value.write(&mut out);
        }
        for (name, axes, kind, offset) in &self.tensors {
            write_text(name, &mut out);
            out.extend((axes.len() as u32).to_le_bytes());
            axes.iter().for_each(|n| out.extend(n.to_le_bytes()));
            out.extend(kind.to_le_bytes());
            out.extend(offset.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(&self.body);
        out
    }
}

fn tensors(bytes: &[u8]) -> Result<Vec<(usize, Vec<f32>)>> {
    let mut found = Vec::new();
    let needed = |name: &str, shape: &[usize]| Needed { name: name.into(), shape: shape.into() };
    let list = [needed("b", &[32]), needed("a", &[2, 3])];
    Gguf::open(bytes, bytes.len() as u64)?.read(&list, |i, first, rows| {
        assert_eq!(first, 0);
        found.push((i, rows.to_vec()));
        Ok(())
    })?;
    Ok(found)
}

fn why(bytes: &[u8]) -> String {
    match tensors(bytes) {
        Err(FormatError::Content(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_several_roundings_that_of_most_numbers_is_named() {
    let kind_of = |draft: &Draft| {
        let bytes = draft.bytes();
        rounded(&Gguf::open(&bytes[..], bytes.len() as u64).unwrap().tensors).map(BlockType::name)
    };
    let mut draft = Draft::good();
    assert_eq!(kind_of(&draft), Some("Q8_0"));
    const Q4_1: u32 = 3;
    draft.tensors.push(("c".into(), vec![64], Q4_1, 96)); // two blocks of 20 bytes
    draft.body.resize(96 + 64, 0);
    assert_eq!(kind_of(&draft), Some("Q4_1"));
    draft.tensors.truncate(1);
    draft.body.truncate(32);
    assert_eq!(kind_of(&draft), None);
}

#[test]
fn a_file_by_hand_is_read() {
    let draft = Draft::good();
    let found = tensors(&draft.bytes()).unwrap();
    let b: Vec<f32> = (0..32).map(|x| x as f32).collect();
    assert_eq!(found, [(1, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), (0, b)]);
    let bytes = draft.bytes();
    let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
    assert!(draft.entries.iter().all(|(key, value)| file.metadata[key] == *value));
    // The padding behind the last tensor may be missing.
    let short = &bytes[..bytes.len() - 30];
    assert!(tensors(short).is_ok());
    let mut version_2 = bytes.clone();
    version_2[4] = 2;
    assert!(tensors(&version_2).is_ok());
}

#[test]
fn every_cut_is_refused() {
    let bytes = Draft::good().bytes();
    for end in 0..bytes.len() - 30 {
        let refused = why(&bytes[..end]);
        assert!(refused.contains("ends too early"), "{end}: {refused}");
    }
}

#[test]
fn files_that_cannot_be_are_refused() {
    let changed = |change: fn(&mut Draft)| {
        let mut draft = Draft::good();
        change(&mut draft);
        why(&draft.bytes())
    };
    let at = |place: usize, bytes: &[u8]| {
        let mut file = Draft::good().bytes();
        file[place..place + bytes.len()].copy_from_slice(bytes);
        why(&file)
    };
    for (found, needle) in [
        (at(0, b"GGML"), "not a GGUF file"),
        (at(4, &[1]), "version 1"),
        (at(4, &[0, 0, 0, 3]), "big-endian"),
        (at(8, &[0xFF; 8]), "18446744073709551615 tensors"),
        (at(16, &[0xFF; 4]), "4294967295 entries"),
        (at(24, &[0xFF; 8]), "a text of 18446744073709551615 bytes"),
        (at(32, &[0xFF]), "no UTF-8"),
        (changed(|d| d.tensors[0].1[0] = 0), "tensor a: no numbers"),
        (changed(|d| d.tensors[0].1 = vec![u64::MAX, 3]), "more than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 40, 1 << 23]), "more bytes than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 62]), "more bytes than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 61]), "tensor b: it begins at byte 32"),
        (changed(|d| d.tensors[0].1 = vec![1 << 40]), "tensor b: it begins at byte 32"),
        (changed(|d| d.tensors[1].1 = vec![64]), "ends too early"),
        (changed(|d| d.tensors[0].1 = vec![1; 5]), "5 axes"),
        (changed(|d| d.tensors[0].1 = vec![]), "0 axes"),
        (changed(|d| d.tensors[0].2 = 10), "it is Q2_K, only F32, F16, BF16, Q8_0"),
        (changed(|d| d.tensors[0].2 = 99), "of type number 99"),
        (changed(|d| d.tensors[1].1 = vec![31]), "no whole blocks of 32 (Q8_0)"),
        (changed(|d| d.tensors[1].3 = 0), "it begins at byte 0, not at 32"),
        (changed(|d| d.tensors[1].3 = 64), "it begins at byte 64, not at 32"),
        (changed(|d| d.tensors[1].3 = u64::MAX), "it begins at byte 18446744073709551615"),
        (changed(|d| d.tensors[1].0 = "a".into()), "tensor a: it is there twice"),
        (changed(|d| d.tensors[1].0 = "c".into()), "tensor c does not belong"),
        (changed(|d| drop(d.tensors.pop())), "bytes follow the last tensor"),
        (changed(|d| d.tensors[0].1 = vec![2, 3]), "tensor a is [3, 2], this model needs [2, 3]"),
        (changed(|d| d.body.extend([0; 32])), "bytes follow the last tensor"),
        (changed(|d| d.body[..4].fill(0xFF)), "tensor a has a value that is not finite"),
        (changed(|d| d.body[33] = 0x7C), "tensor b has a value that is not finite"),
        (changed(|d| d.entries[1].0 = "x.text".into()), "x.text is there twice"),
        (
            changed(|d| d.entries.push(("general.alignment".into(), MetaValue::u32(48)))),
            "alignment is 48",
        ),
        (
            changed(|d| d.entries.push(("general.alignment".into(), MetaValue::u32(8192)))),
            "alignment is 8192",
        ),
        (changed(|d| d.entries.push(("x".repeat(300), MetaValue::u32(1)))), "a text of 300 bytes"),
        (
            changed(|d| d.entries.push(("y".into(), MetaValue::Others(9, vec![0])))),
            "a list of lists",
        ),
        (
            changed(|d| d.entries.push(("y".into(), MetaValue::Others(77, vec![0])))),
            "unknown type 77",
        ),
    ] {
        assert!(found.contains(needle), "{found} / {needle}");
    }
    let long = "x".repeat((1 << 20) + 1);
    let draft = Draft { entries: vec![("y".into(), MetaValue::Text(long))], ..Draft::good() };
    assert!(why(&draft.bytes()).contains("y: a text of 1048577 bytes"));
    let many = MetaValue::Others(0, vec![0; (1 << 20) + 1]);
    let draft = Draft { entries: vec![("y".into(), many)], ..Draft::good() };
    assert!(why(&draft.bytes()).contains("a list of 1048577 values"));
    let list = |i: u32| (i.to_string(), MetaValue::Texts(vec![String::new(); 1 << 20]));
    let draft = Draft { entries: (0..3).map(list).collect(), ..Draft::good() };
    assert!(why(&draft.bytes()).contains("more than 64 MiB"));
}

/// An exported file with one entry of its metadata changed.
fn lies(family: Architecture, key: &str, value: Option<MetaValue>) -> String {
    let kinds = kinds();
    let (_, model) = kinds.iter().find(|(of, _)| *of == family).unwrap();
    let file = written(model, &ByteTokenizer, Stored::F32);
    let parsed = Gguf::open(&file[..], file.len() as u64).unwrap();
    let mut entries = parsed.metadata.clone();
    match value {
        Some(value) => drop(entries.insert(key.into(), value)),
        None => drop(entries.remove(key)),
    }
    let mut offset = 0;
    let tensors = parsed.tensors.iter().map(|tensor| {
        let axes = tensor.shape.iter().rev().map(|n| *n as u64).collect();
        let at = offset;
        let length = 4 * tensor.shape.iter().product::<usize>() as u64;
        offset += length.next_multiple_of(32);
        (tensor.name.clone(), axes, tensor.kind.id(), at)
    });
    let tensors: Vec<_> = tensors.collect();
    let body = file[file.len() - offset as usize..].to_vec();
    let draft = Draft { entries: entries.into_iter().collect(), tensors, body };
    match of_bytes(&draft.bytes()) {
        Err(e) => e.to_string(),
        Ok(_) => "accepted".into(),
    }
}

#[test]
fn a_config_that_lies_is_refused_by_its_key() {
    let n = MetaValue::u32;
    let text = MetaValue::text;
    for (family, key, value, needle) in [
        (
            Architecture::Gpt2,
            "general.architecture",
            Some(text("falcon")),
            "'falcon', supported: gpt2",
        ),
        (Architecture::Gpt2, "general.architecture", None, "does not say general.architecture"),
        (Architecture::Gpt2, "gpt2.embedding_length", Some(n(25)), "do not divide"),
        (Architecture::Gpt2, "gpt2.embedding_length", Some(n(27)), "this model needs [256, 27]"),
        (Architecture::Gpt2, "gpt2.embedding_length", Some(n(0)), "gpt2.embedding_length is 0"),
        (
            Architecture::Gpt2,
            "gpt2.embedding_length",
            Some(text("24")),
            "is '24', supported: a whole",
        ),
        (Architecture::Gpt2, "gpt2.embedding_length", Some(n(u32::MAX)), "d_model"),
        (Architecture::Gpt2, "gpt2.context_length", Some(n(9)), "position_embd.weight is [8, 24]"),
        (Architecture::Gpt2, "gpt2.context_length", None, "does not say gpt2.context_length"),
        (
            Architecture::Gpt2,
            "gpt2.block_count",
            Some(n(1)),
            "blk.1.attn_norm.weight does not belong",
        ),
        (Architecture::Gpt2, "gpt2.block_count", Some(n(3)), "blk.2.attn_norm.weight is missing"),
        (Architecture::Gpt2, "gpt2.block_count", Some(n(100_000)), "n_layers"),
        (Architecture::Gpt2, "gpt2.feed_forward_length", Some(n(95)), "ffn_up.weight is [96, 24]"),
        (Architecture::Gpt2, "gpt2.attention.head_count", Some(n(5)), "5 heads do not divide"),
        (
            Architecture::Gpt2,
            "gpt2.attention.head_count_kv",
            Some(n(1)),
            "head_count_kv is 1, supported: 3",
        ),
        (Architecture::Gpt2, "gpt2.vocab_size", Some(n(255)), "vocab_size is 255, supported: 256"),
        (
            Architecture::Gpt2,
            "gpt2.attention.layer_norm_epsilon",
            Some(MetaValue::Single(-1e-6)),
            "supported: a number above 0, up to 1",
        ),
        (
            Architecture::Gpt2,
            "gpt2.logit_scale",
            Some(MetaValue::Single(2.0)),
            "gpt2.logit_scale is 2, which",
        ),
        (
            Architecture::Gpt2,
            "tokenizer.ggml.model",
            Some(text("llama")),
            "model is 'llama', supported: 'gpt2'",
        ),
        (
            Architecture::Gpt2,
            "tokenizer.ggml.pre",
            Some(text("tekken")),
            "pre is 'tekken', supported: gpt-2",
        ),
        (
            Architecture::Llama,
            "tokenizer.ggml.pre",
            Some(text("default")),
            "pre is 'default', supported: gpt-2",
        ),
        (Architecture::Llama, "tokenizer.ggml.pre", None, "pre is missing"),
        (Architecture::Gpt2, "tokenizer.ggml.pre", None, "accepted"),
        (Architecture::Gpt2, "tokenizer.ggml.pre", Some(text("default")), "accepted"),
        (
            Architecture::Gpt2,
            "tokenizer.ggml.tokens",
            Some(MetaValue::Texts(vec!["a".into()])),
            "token_type has 256 numbers for 1 tokens",
        ),
        (Architecture::Gpt2, "tokenizer.ggml.tokens", Some(n(1)), "tokens is no list"),
        (Architecture::Gpt2, "tokenizer.ggml.merges", None, "merges is missing"),
        (
            Architecture::Gpt2,
            "tokenizer.ggml.token_type",
            Some(MetaValue::Ints(vec![9; 256])),
            "is 9, not 1, 3, 4 or 5",
        ),
        (
            Architecture::Gpt2,
            "tokenizer.ggml.merges",
            Some(MetaValue::Texts(vec!["ab".into()])),
            "merges has 'ab'",
        ),
        (
            Architecture::Llama,
            "llama.attention.head_count_kv",
            Some(n(3)),
            "3 do not divide 4 heads",
        ),
        (
            Architecture::Llama,
            "llama.attention.head_count_kv",
            Some(n(1)),
            "attn_k.weight is [12, 24]",
        ),
        (
            Architecture::Llama,
            "llama.attention.key_length",
            Some(n(8)),
            "value_length is 6, supported: 8",
        ),
        (
            Architecture::Llama,
            "llama.rope.dimension_count",
            Some(n(4)),
            "rope.dimension_count is 4",
        ),
        (
            Architecture::Llama,
            "llama.rope.freq_base",
            Some(MetaValue::Single(0.5)),
            "rope_theta: 0.5",
        ),
        (
            Architecture::Llama,
            "llama.rope.scaling.type",
            Some(text("yarn")),
            "rope.scaling.type is 'yarn'",
        ),
        (Architecture::Llama, "llama.rope.scaling.type", Some(text("none")), "accepted"),
        (Architecture::Llama, "llama.expert_count", Some(n(8)), "llama.expert_count is 8"),
        (Architecture::Llama, "llama.expert_count", Some(n(0)), "accepted"),
        (
            Architecture::Llama,
            "llama.attention.layer_norm_rms_epsilon",
            None,
            "does not say llama.attention",
        ),
    ] {
        let found = lies(family, key, value);
        assert!(found.contains(needle), "{key}: {found} / {needle}");
    }
}

#[test]
fn a_file_that_is_not_there_or_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let refused = import(&path, &modern).unwrap_err();
    assert_eq!(mend(&refused), Mend::Place);
    std::fs::write(&path, b"GGUF").unwrap();
    assert_eq!(mend(&import(&path, &modern).unwrap_err()), Mend::Content);
    assert!(!is_ours(&path));
}

#[test]
fn a_number_that_a_block_cannot_hold_leaves_the_old_file() {
    let mut model = model(Config::gpt2(256, 8, 32, 1), Modern::new(1));
    let values = vec![1e9; 256 * 32];
    model.wte = crate::imported::parameter(&[256, 32], values).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, b"old").unwrap();
    let refused = export(&path, &model, &ByteTokenizer, Stored::Q8_0, "m").unwrap_err();
    let FormatError::Core(llm_core::Error::Io { source, .. }) = refused else {
        panic!("{refused}");
    };
    assert_eq!(source.to_string(), "Q8_0 cannot hold 1e9 of tensor token_embd.weight");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_model_comes_back(
        sizes in (1usize..5, 1usize..4, 1usize..4, 1usize..3, 1usize..20), tied in any::<bool>(),
        llama_like in any::<bool>(), qkv_bias in any::<bool>(),
    ) {
        let (seq, groups, per_group, layers, half) = sizes;
        let (heads, head_dim) = (groups * per_group, 2 * half);
        let (config, attention) = match llama_like {
            true => (
                Config { seq_len: seq, n_layers: layers, d_model: 3 * heads, ..llama(tied) },
                Modern::grouped(heads, groups).with_rotary(1e4).with_biases(qkv_bias, false)
                    .with_head_dim(head_dim),
            ),
            false => (
                Config { tied_head: tied, ..Config::gpt2(256, seq, heads * head_dim, layers) },
                Modern::new(heads),
            ),
        };
        let model = model(config, attention);
        let bytes = written(&model, &ByteTokenizer, Stored::F32);
        let (again, _) = of_bytes(&bytes).unwrap().into_model().unwrap();
        for ((name, a), (_, b)) in model.parameters().zip(again.parameters()) {
            prop_assert_eq!(a.data(), b.data(), "{}", name);
        }
        prop_assert_eq!(bytes, written(&again, &ByteTokenizer, Stored::F32));
    }
}
