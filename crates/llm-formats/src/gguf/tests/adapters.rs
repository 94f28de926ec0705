//! Adapters by themselves: what llama.cpp makes of base and adapter is what the merged file holds.

use super::models::tensor;
use super::{kinds, model, of_bytes, written};
use crate::adapter::adapter_parts;
use crate::gguf::{Gguf, MetaValue, Stored, export, export_adapter, is_ours};
use llm_core::model::{AdapterSpec, Part};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, TinyGPT};
use llm_variant_modern::Modern;

/// The model with an adapter whose numbers are drawn, its ranks and scales different by part.
fn adapted(model: TinyGPT) -> TinyGPT {
    let matrices = adapter_parts(model.config(), model.attention().as_ref());
    let parts = |(at, (name, widths)): (usize, (String, Vec<usize>))| {
        let part = |(i, columns)| Part {
            columns,
            rank: if (at, i) == (0, 1) { 0 } else { 1 + (at + i) % 3 },
            scale: [0.5, 2.0, 0.0, 1.5][(at + 2 * i) % 4],
        };
        (name, widths.into_iter().enumerate().map(part).collect())
    };
    let spec = AdapterSpec(matrices.into_iter().enumerate().map(parts).collect());
    let mut model = model.with_adapter(&spec, 3).unwrap();
    for (_, p) in model.trained_mut() {
        p.data_mut()
            .iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = ((7 * i + 3) % 11) as f32 / 8.0 - 0.5);
    }
    model
}

#[test]
fn base_and_adapter_are_the_merged_model() {
    let masked = Modern::new(2).with_head_mask(vec![true, false, true, true]);
    let masked = model(Config::gpt2(256, 8, 24, 2), masked);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adapter.gguf");
    for (family, base) in kinds().into_iter().chain([(super::Architecture::Gpt2, masked)]) {
        let model = adapted(base.clone());
        assert_eq!(export_adapter(&path, &model, "a").unwrap(), family);
        assert!(is_ours(&path));
        let bytes = std::fs::read(&path).unwrap();
        let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
        let said = |key: &str| file.metadata[key].clone();
        assert_eq!(said("general.type"), MetaValue::text("adapter"));
        assert_eq!(said("adapter.type"), MetaValue::text("lora"));
        assert_eq!(said("general.architecture"), MetaValue::text(family.name()));
        let MetaValue::Single(alpha) = said("adapter.lora.alpha") else { panic!() };
        let of = |model| written(model, &ByteTokenizer, Stored::F32);
        let (before, after) = (of(&base), of(&model));
        let names = Gguf::open(&before[..], before.len() as u64).unwrap().tensors;
        let mut pairs = 0;
        for name in names.into_iter().map(|t| t.name) {
            let (shape, mut want) = tensor(&before, &name);
            let has = |kind: &str| file.tensors.iter().any(|t| t.name == format!("{name}.{kind}"));
            assert_eq!(has("lora_a"), has("lora_b"));
            if has("lora_a") {
                pairs += 1;
                let (a, b) = (
                    tensor(&bytes, &format!("{name}.lora_a")),
                    tensor(&bytes, &format!("{name}.lora_b")),
                );
                let (rank, width) = (a.0[0], shape[1]);
                assert_eq!((a.0, b.0), (vec![rank, width], vec![shape[0], rank]));
                for (i, x) in want.iter_mut().enumerate() {
                    let (row, column) = (i / width, i % width);
                    let sum: f32 =
                        (0..rank).map(|r| b.1[row * rank + r] * a.1[r * width + column]).sum();
                    *x += alpha / rank as f32 * sum;
                }
            }
            let (_, got) = tensor(&after, &name);
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() < 1e-4 * want.abs().max(1.0), "{name}: {got} {want}");
            }
        }
        assert_eq!(2 * pairs, file.tensors.len());
        assert!(of_bytes(&bytes).unwrap_err().to_string().contains("general.type"));
    }
    let plain = &kinds()[0].1;
    assert!(export_adapter(&path, plain, "a").unwrap_err().to_string().contains("no adapter"));
}

/// Weights that were rounded before lose a small change altogether; others keep it on average.
#[test]
fn what_rounding_leaves_of_a_change() {
    let config = Config::gpt2(256, 8, 64, 2);
    let drawn = TinyGPT::new(config.clone(), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let exported = |model: &TinyGPT, stored| {
        let exported = export(&path, model, &ByteTokenizer, stored, "m").unwrap();
        exported.survival
    };
    assert_eq!(exported(&drawn, Stored::Q8_0), None);
    let rounded = of_bytes(&written(&drawn, &ByteTokenizer, Stored::Q8_0)).unwrap();
    let rounded = rounded.into_model().unwrap().0;
    let of_size = |model: &TinyGPT, size: f32| {
        let parts = adapter_parts(model.config(), model.attention().as_ref());
        let spec = AdapterSpec::uniform(parts, 2, 1.0);
        let mut model = model.clone().with_adapter(&spec, 5).unwrap();
        for (name, p) in model.trained_mut() {
            if name.ends_with(".lora_b") {
                let draw = |(i, x): (usize, &mut f32)| *x = size * ((37 * i % 101) as f32 - 50.0);
                p.data_mut().iter_mut().enumerate().for_each(draw);
            }
        }
        model
    };
    assert_eq!(exported(&of_size(&drawn, 0.01), Stored::F32), None);
    assert_eq!(exported(&of_size(&drawn, 0.0), Stored::Q8_0), None);
    let large = exported(&of_size(&drawn, 0.01), Stored::Q8_0).unwrap();
    assert!((large.kept - 1.0).abs() < 0.01 && large.noise < 0.1, "{large:?}");
    let small = exported(&of_size(&drawn, 1e-6), Stored::Q8_0).unwrap();
    assert!((small.kept - 1.0).abs() < 0.5 && small.noise > 2.0, "{small:?}");
    let gone = exported(&of_size(&rounded, 1e-6), Stored::Q8_0).unwrap();
    assert!(gone.kept.abs() < 0.1, "{gone:?}");
}
