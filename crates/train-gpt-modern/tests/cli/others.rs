//! Beside the two other programs: with the baseline's options it is `train-gpt-mha`, and it opens their files.

use crate::{RUN, sandbox};
use llm_core::TinyGPT;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::model::SingleHead;
use llm_core::train::Trainer;
use llm_variant_modern::Modern;
use std::sync::Arc;

/// The attention of a checkpoint.
fn attention(file: &std::path::Path) -> (String, usize) {
    let spec = Checkpoint::load(file).unwrap().meta.attention;
    (spec.name.clone(), spec.settings().unwrap().len())
}

#[test]
fn with_the_baselines_options_files_are_those_of_the_others() {
    let sandbox = sandbox();
    for (flags, name) in [
        (&["--heads", "4"][..], "multi-head"),
        (&["--heads", "1"], "single-head"),
        (&["--heads", "4", "--kv-heads", "4", "--qk-norm", "0"], "multi-head"),
        (&["--norm", "rms"], "multi-head"),
    ] {
        sandbox.train(&[&RUN[..], &["model"], flags].concat());
        assert_eq!(attention(&sandbox.path("model")), (name.into(), 0), "{flags:?}");
    }
    sandbox.train(&[&RUN[..], &["model", "--kv-heads", "2"]].concat());
    assert_eq!(attention(&sandbox.path("model")), ("modern".into(), 1));
}

#[test]
fn files_of_the_others_are_opened() {
    let sandbox = sandbox();
    sandbox.train(&[&RUN[..], &["model", "--heads", "1"]].concat());
    let trainer = Checkpoint::load(&sandbox.path("model")).unwrap();
    let trainer = trainer.into_trainer(Arc::new(SingleHead)).unwrap();
    let parameters = trainer.model.parameters().map(|(n, p)| (n, p.clone())).collect();
    let config = trainer.model.config().clone();
    let model = TinyGPT::from_parameters(config, Arc::new(Modern::new(4)), parameters).unwrap();
    let trainer = Trainer::new(model, trainer.recipe.clone()).unwrap();
    save(&sandbox.path("four"), &trainer, &TokenizerSpec::bytes(), false).unwrap();
    for (file, heads) in [("model", "1 head"), ("four", "4 heads")] {
        let on = ["--load", file, "--data", "text.txt", "--steps", "1", "--no-save"];
        sandbox.ok(&on).says(&[heads]);
    }
}
