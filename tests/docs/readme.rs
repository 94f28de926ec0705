//! The code of README.md.

#[test]
fn the_code_of_the_readme_trains() -> Result<(), Box<dyn std::error::Error>> {
    use llm_core::train::{Update, train_step};
    use llm_core::{AdamW, Config, Hyperparameters, TinyGPT, TokenDataset};

    let data = TokenDataset::from_bytes(std::fs::read("Cargo.toml")?); // any file
    let mut model = TinyGPT::new(Config::new(256, 64, 32, 1), 1)?; // V, T, C, L; a seed
    let mut optimizer = AdamW::new(Hyperparameters::default())?;
    let mut losses = Vec::new();
    for step in 0..100 {
        let batch = data.batch(1, step, [4, 64]); // a seed, B and T
        let update = Update { step, lr: 3e-3, clip: 1.0 };
        losses.push(train_step(&mut model, &mut optimizer, [batch], update, &mut ())?.loss);
    }
    assert!(losses[99] < losses[0] - 1.0, "{losses:?}");
    Ok(())
}
