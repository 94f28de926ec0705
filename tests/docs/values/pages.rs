//! Values of the other pages.

use super::{Values, list};
use llm_cli::error::Kind;
use llm_core::{Config, Tensor, TinyGPT, ops};
use llm_courses::permute;
use llm_variant_mha::MultiHead;
use std::sync::Arc;

pub fn add(values: &mut Values) {
    let config = Config::new(256, 64, 64, 1);
    let counts = [1, 4].map(|h| {
        let attention = Arc::new(MultiHead::new(h));
        let model = TinyGPT::with_attention(config.clone(), attention, 1).unwrap();
        let names = ["w_qkv", "b_qkv", "w_proj", "b_proj"];
        let size = |name: &str| {
            let full = format!("blocks.0.{name}");
            let found = model.parameters().find(|(n, _)| *n == full);
            found.map_or(0, |(_, p)| p.numel() as u32)
        };
        let total: usize = model.parameters().map(|(_, p)| p.numel()).sum();
        (names.map(size), total as u32)
    });
    assert_eq!(counts[0], counts[1], "one head and four");
    let ([w_qkv, b_qkv, w_proj, b_proj], total) = counts[0];
    let sum = w_qkv + b_qkv + w_proj + b_proj;
    values.insert(
        "changed.params",
        list![64, w_qkv, b_qkv, w_proj, b_proj, sum, 1, 4, 256, 64, 1, total],
    );
    let keys = Tensor::from_vec(&[4, 16, 512], vec![0.0; 4 * 16 * 512]).unwrap();
    let cut = ops::reshape(&keys, &[4, 16, 4, 128]).unwrap();
    let in_front = permute(&cut, &[0, 2, 1, 3]).unwrap();
    let shapes = [&keys, &cut, &in_front].map(|x| x.shape().to_vec()).concat();
    values.insert("math.section", list![5]); // of docs/transformer_math_to_code.md
    values.insert("changed.split", shapes.iter().map(|&n| n as f64).collect());
    let codes = [
        0u8,
        Kind::Usage.code(),
        Kind::Diverged.code(),
        Kind::BadData.code(),
        Kind::NoInput.code(),
        Kind::Unavailable.code(),
        Kind::Internal.code(),
        Kind::NoMemory.code(),
        Kind::CannotCreate.code(),
        Kind::Io.code(),
        Kind::Busy.code(),
    ];
    let signal = Kind::Signal(0).code();
    values.insert("run.exit_codes", codes.into_iter().chain([signal]).map(f64::from).collect());
    let tab = include_str!("../../browser/gpu.mjs");
    assert!(tab.contains("const NEAR = 1e-4;"), "a ten-thousandth, say the pages");
    let steps = tab.split("+ 1]) || ").nth(1).unwrap();
    values.insert("browser.gpu", list![steps.split(';').next().unwrap().parse::<f64>().unwrap()]);
    let manifest = include_str!("../../../Cargo.toml");
    let version = manifest.split("rust-version = \"").nth(1).unwrap();
    values.insert("layout.rust", list![version.split('"').next().unwrap().parse::<f64>().unwrap()]);
}
