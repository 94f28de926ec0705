//! Models there and back, and those that cannot be written.

use super::{kinds, llama, model, modern, of_bytes, written};
use crate::error::FormatError;
use crate::gguf::{Gguf, Stored, check_model, export, import};
use crate::imported::Note;
use crate::safetensors::Wanted;
use llm_core::model::{Activation, Mlp, Norm, Positions, Rotary, RotaryScaling};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, TinyGPT};
use llm_variant_modern::Modern;
use proptest::prelude::*;

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

/// Rows may be wider than a piece of what is written at once.
#[test]
fn a_wide_mlp_is_written_in_every_type() {
    let wide = Config { n_inner: 16_416, ..Config::gpt2(256, 4, 32, 1) };
    let model = TinyGPT::new(wide, 1).unwrap();
    for stored in [Stored::F32, Stored::BF16, Stored::Q8_0] {
        let imported = of_bytes(&written(&model, &ByteTokenizer, stored)).unwrap();
        assert_eq!(imported.config.n_inner, 16_416, "{stored:?}");
    }
}

/// What a file has under a name: its shape, and its numbers.
pub(super) fn tensor(file: &[u8], name: &str) -> (Vec<usize>, Vec<f32>) {
    let file = Gguf::open(file, file.len() as u64).unwrap();
    let all = file.tensors.iter().map(|t| Wanted::parameter(t.name.clone(), t.shape.clone()));
    let wanted: Vec<Wanted> = all.collect();
    let place = wanted.iter().position(|wanted| wanted.name == name).unwrap();
    let (shape, mut found) = (wanted[place].shape.clone(), Vec::new());
    let take = |i, _, rows: &[f32]| {
        if i == place {
            found.extend(rows);
        }
        Ok(())
    };
    file.read(&wanted, take).unwrap();
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
    let scaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
    let slowed = Rotary { scaling: Some(scaling), ..Rotary::new(100.0) };
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
        (llama(true), rotary.clone().with_window(3), "which a GGUF file for llama"),
        (llama(true), Modern::new(3).with_rotary(Rotary::partial(100.0, 4)), "(rotary.width)"),
        (llama(true), rotary.clone().with_rotary(slowed), "(rotary.scaling.factor)"),
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
