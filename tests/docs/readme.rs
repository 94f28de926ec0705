//! The code of README.md, its first screen, and the story that its model wrote.

use super::pages::{Kind, Page};

/// Lines of a screen, of a line of text and of its picture on the page of a repository.
const SCREEN: usize = 46;
const COLUMNS: usize = 110;
const PICTURE: usize = 13;

/// Both READMEs.
fn readmes() -> [Page; 2] {
    ["README.md", "README.zh-CN.md"].map(|path| {
        Page::new(path, &std::fs::read_to_string(super::crate_root().join(path)).unwrap())
    })
}

/// Columns that a text takes; a Chinese character takes two.
fn width(text: &str) -> usize {
    text.chars().map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum()
}

/// Lines that blocks take where they are shown, a blank one behind each.
fn shown(page: &Page, until: usize) -> usize {
    let lines = &page.lines[..until];
    let blocks = lines.chunk_by(|a, b| a.block == b.block);
    let heights = blocks.filter(|b| !matches!(b[0].kind, Kind::Blank | Kind::Mark)).map(|block| {
        let columns: usize = block.iter().map(|line| width(&line.text)).sum();
        1 + match block[0].kind {
            Kind::Code(_) => block.len() - 1, // two fences, and a margin of a line
            _ if block[0].text.starts_with("<img") => PICTURE,
            _ => columns.div_ceil(COLUMNS),
        }
    });
    heights.sum()
}

/// From one sentence to the commands of the first run, by a figure, a story and a picture.
#[test]
fn the_first_screen_ends_with_the_first_run() {
    let what = [
        "docs/performance",
        "<img src=",
        "1.89",
        "build-essential",
        "xcode-select --install",
        "Visual Studio",
        "git clone",
        "cargo run --release -p train-gpt-mha",
        "train-gpt-mha generate",
    ];
    for page in readmes() {
        let ends = |line: &super::pages::Line| line.text.contains("inspect heads");
        let until = page.lines.iter().position(ends).unwrap();
        let lines: Vec<&str> = page.lines[..until].iter().map(|line| &line.text[..]).collect();
        let screen = lines.join("\n");
        for what in what {
            assert!(screen.contains(what), "{}: {what}", page.path);
        }
        let height = shown(&page, until);
        assert!(height <= SCREEN, "{}: the first run ends in line {height}", page.path);
        let picture = lines.iter().find_map(|line| line.strip_prefix("<img src=\""));
        let path = picture.and_then(|rest| rest.split('"').next());
        assert!(path.is_some_and(|path| super::crate_root().join(path).is_file()), "{path:?}");
        let limits = page.lines.iter().position(|line| line.mark("check") == Some("readme.limits"));
        assert!(limits.is_some_and(|at| at < until + 15), "{}: what it is not", page.path);
    }
}

#[test]
fn lines_of_the_readme_are_short() {
    for page in readmes() {
        let long = |line: &&super::pages::Line| {
            let text = line.visible();
            line.kind != Kind::Table && !text.starts_with("![") && width(&text) > 100
        };
        let found: Vec<String> =
            page.lines.iter().filter(long).map(|line| page.at(line, &line.text)).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(page.lines.len() < 230, "{}: {} lines", page.path, page.lines.len());
    }
}

#[test]
fn the_story_is_the_one_that_the_model_wrote() {
    let measured = include_str!("../../benches/measured.json");
    let measured: serde_json::Value = serde_json::from_str(measured).unwrap();
    let story = measured["readme"]["story"].as_str().unwrap();
    for page in readmes() {
        let quoted = page.lines.iter().skip(1).filter_map(|line| line.text.strip_prefix("> "));
        assert_eq!(quoted.collect::<Vec<_>>().join(" "), story, "{}", page.path);
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
