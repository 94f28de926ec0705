//! Values of docs/gguf.md.

use super::Values;
use llm_core::model::{Mlp, Norm, Positions};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, TinyGPT};
use llm_formats::gguf::{BlockType, Gguf, Stored, dequantise, export, modelfile, quantise};
use llm_formats::safetensors::Wanted;
use llm_variant_modern::Modern;
use std::sync::Arc;

pub fn add(values: &mut Values) {
    let blocks = BlockType::ALL.into_iter().flat_map(|kind| {
        let (numbers, bytes) = (kind.numbers() as f64, kind.bytes() as f64);
        [numbers, bytes, 8.0 * bytes / numbers]
    });
    values.insert("gguf.blocks", blocks.collect());

    let mut block = [0.0f32; 32];
    block[..4].copy_from_slice(&[63.5, -63.5, 0.25, 0.2]);
    let (mut bytes, mut again) = (Vec::new(), [0.0; 32]);
    quantise(Stored::Q8_0, &block, &mut bytes).unwrap();
    dequantise(BlockType::Q8_0, &bytes, &mut again);
    let wide = |numbers: &[f32]| numbers[..4].iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let whole = bytes[2..6].iter().map(|q| f64::from(q.cast_signed())).collect();
    values.insert("gguf.hand", [wide(&block), whole, wide(&again)].concat());
    let largest = f64::from(bytes[2].cast_signed());
    values.insert("gguf.largest", vec![f64::from(block[0])]);
    values.insert("gguf.divisor", vec![largest]);
    values.insert("gguf.neighbours", vec![(BlockType::Q8_0.numbers() - 1) as f64]);
    values.insert("gguf.rows", rows());
    values.insert("ollama.modelfile", of_ollama());
}

/// The numbers of the Modelfile in docs/ollama.md, which is the one that is written.
fn of_ollama() -> Vec<f64> {
    let (written, _) = modelfile("book.gguf", 64, None, false);
    for page in
        [include_str!("../../../docs/ollama.md"), include_str!("../../../docs/ollama.zh-CN.md")]
    {
        assert!(page.contains(&format!("```text\n{written}```")), "{written}");
    }
    written.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The rows of attn_q of a head of six channels, by the channel that each is here.
fn rows() -> Vec<f64> {
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    let config = Config { norm, mlp, positions, mlp_bias: false, ..Config::gpt2(256, 2, 6, 1) };
    let attention = Arc::new(Modern::new(1).with_rotary(100.0).without_biases());
    let mut model = TinyGPT::with_attention(config, attention, 1).unwrap();
    // Every number of w_qkv [6, 18] is its column.
    let columns = llm_core::Tensor::from_vec(&[6, 18], (0..108).map(|i| (i % 18) as f32).collect());
    *model.blocks[0].attention.get_mut("w_qkv").unwrap() = columns.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    export(&path, &model, &ByteTokenizer, Stored::F32, "m").unwrap();
    let bytes = std::fs::read(path).unwrap();
    let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
    let needed: Vec<_> =
        file.tensors.iter().map(|t| Wanted::parameter(t.name.clone(), t.shape.clone())).collect();
    let queries = needed.iter().position(|needed| needed.name == "blk.0.attn_q.weight").unwrap();
    let mut found = Vec::new();
    file.read(&needed, |i, _, rows| {
        if i == queries {
            found = rows.chunks_exact(6).map(|row| f64::from(row[0])).collect();
        }
        Ok(())
    })
    .unwrap();
    found
}
