//! What the targets share.

use llm_cli::{Arch, Heads, Models, Program};
use llm_core::buffer::release_pool;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::data::TokenDataset;
use llm_core::model::SingleHead;
use llm_core::optim::{AdamW, Lion, OPTIMIZERS};
use llm_core::recipe::{DataForm, DataSource, EndOfText, Recipe};
use llm_core::train::Trainer;
use llm_core::{Config, TinyGPT};
use llm_variant_mha::MultiHead;
use std::path::Path;
use std::sync::Arc;

/// The program with one head.
pub const ONE: Program = Program {
    about: "",
    models: Models {
        name: "train-gpt",
        heads: Heads::One { other: "train-gpt-mha" },
        attention: SingleHead::NAME,
        options: &[],
        for_text: Arch::Baseline,
        beyond: None,
        from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
        optimizers: OPTIMIZERS,
    },
    attend: None,
};

/// The program with as many heads as one likes.
pub const MANY: Program = Program {
    models: Models {
        name: "train-gpt-mha",
        heads: Heads::Many { default: 4 },
        attention: MultiHead::NAME,
        from_spec: |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)),
        ..ONE.models
    },
    ..ONE
};

/// Writes the inputs to begin with into the corpus, the first folder among the arguments, when it
/// is empty. libFuzzer reads it after the target's `init`.
pub fn seed(inputs: impl IntoIterator<Item = Vec<u8>>) {
    one_thread();
    let mut words = std::env::args().skip(1).filter(|w| !w.starts_with('-'));
    let Some(corpus) = words.next().filter(|w| Path::new(w).is_dir()) else { return };
    if std::fs::read_dir(&corpus).is_ok_and(|mut files| files.next().is_some()) {
        return;
    }
    for (i, input) in inputs.into_iter().enumerate() {
        let written = std::fs::write(Path::new(&corpus).join(format!("seed-{i:03}")), input);
        written.expect("the corpus can be written");
    }
}

/// libFuzzer watches one thread.
fn one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    let _ = pool.build_global(); // an error only says that there is one
}

/// Small checkpoints of several kinds.
pub fn checkpoints() -> Vec<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("llm-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the seeds");
    let path = folder.join("seed");
    let data = TokenDataset::from_bytes(vec![0, 1, 1, 0, 1, 0, 0, 0, 1, 1]);
    let mut files = Vec::new();
    for (config, name) in
        [(Config::new(2, 2, 1, 1), AdamW::NAME), (Config::gpt2(3, 4, 2, 2), Lion::NAME)]
    {
        for (steps, optimizer, blob) in [(0, true, ""), (1, true, "ab"), (1, false, "c")] {
            let model = TinyGPT::new(config.clone(), 1).expect("a model");
            let mut trainer =
                Trainer::new(model, Recipe { optimizer: name.into(), ..recipe() }).expect("a run");
            for _ in 0..steps {
                trainer.step(&data).expect("a step");
            }
            let tokenizer = TokenizerSpec { kind: "t".into(), blob: blob.into() };
            save(&path, &trainer, &tokenizer, optimizer).expect("a checkpoint");
            files.push(std::fs::read(&path).expect("a checkpoint"));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    files
}

fn recipe() -> Recipe {
    Recipe {
        val_frac: 0.5,
        data: DataSource::Files {
            len: 10,
            blake3: [1; 32],
            form: DataForm::U16,
            end_of_text: EndOfText::Marked,
        },
        val_data: Some(DataSource::Stories { version: 1, seed: 1, count: 2 }),
        ..Recipe::new([1, 2], 3, 0.01)
    }
}

/// What was accepted must make a run. If that is small it takes a step (and may diverge); not for
/// every input, since a step takes much longer than reading.
pub fn use_it(checkpoint: Checkpoint, input: &[u8]) {
    release_pool(); // what the input before left: tensors of sizes that do not come again
    let Ok(attention) = SingleHead::from_spec(&checkpoint.meta.attention) else { return };
    let vocab = checkpoint.meta.config.vocab_size;
    let Ok(mut trainer) = checkpoint.into_trainer(Arc::new(attention)) else { return };
    let recipe = &trainer.recipe;
    let tokens = recipe.batch_size * recipe.seq_len * recipe.accum as usize;
    let small = trainer.model.parameter_count() < 2000 && tokens <= 16 && vocab <= 64;
    let chosen = input.iter().fold(0u8, |sum, b| sum.wrapping_add(*b)) % 16 == 0;
    if chosen && small {
        let tokens = (0..80).map(|i| i * i % vocab as u32).collect();
        let _ = trainer.step(&TokenDataset::from_tokens(tokens));
    }
}

/// GPT-2's characters for the 256 bytes.
pub fn byte_symbols() -> impl Iterator<Item = char> {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let others: Vec<u8> = (0..=255).filter(|&b| !printable(b)).collect();
    (0..=255u8).filter_map(move |b| match others.binary_search(&b) {
        Ok(i) => char::from_u32(0x100 + i as u32),
        Err(_) => Some(char::from(b)),
    })
}
