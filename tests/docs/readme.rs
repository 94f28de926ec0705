//! The code of README.md, and its first screen.

/// What one learns here, both commands, the way to all pages and both programs are seen at once.
#[test]
fn the_first_screen_says_what_this_is() {
    for (page, course, pages) in [
        ("README.md", "multi-head attention", "(docs/README.md)"),
        ("README.zh-CN.md", "多头注意力", "(docs/README.zh-CN.md)"),
    ] {
        let text = std::fs::read_to_string(super::crate_root().join(page)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 160, "{page}: {} lines", lines.len());
        let screen = lines[..25].join("\n");
        let commands =
            ["cargo run --release -p train-gpt-mha", "cargo test --workspace", ".ci/run"];
        let more = [course, pages, "exercises/README", "`train-gpt`", "`train-gpt-mha`"];
        for what in commands.iter().chain(&more) {
            assert!(screen.contains(what), "{page}: {what}");
        }
    }
}

#[test]
fn the_code_of_the_readme_trains() -> Result<(), Box<dyn std::error::Error>> {
    use llm_core::train::{OneProcess, Update, train_step};
    use llm_core::{AdamW, BatchShape, Config, Hyperparameters, TinyGPT, TokenDataset};

    let data = TokenDataset::from_bytes(std::fs::read("Cargo.toml")?); // any file
    let mut model = TinyGPT::new(Config { d_model: 32, ..Config::default() }, 1)?; // drawn from a seed
    let mut optimizer = AdamW::new(Hyperparameters::default())?;
    let (work, mut losses) = (&mut OneProcess, Vec::new());
    for step in 0..100 {
        let batch = data.batch(1, step, BatchShape { batch_size: 4, seq_len: 64 }); // of seed 1
        let update = Update { step, lr: 3e-3, clip: 1.0 };
        losses.push(train_step(&mut model, &mut optimizer, [batch], update, work, &mut ())?.loss);
    }
    assert!(losses[99] < losses[0] - 1.0, "{losses:?}");
    Ok(())
}
