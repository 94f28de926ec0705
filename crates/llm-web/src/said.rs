//! What a run did and what was found, as the page gets it.

use crate::run::{Measuring, Run};
use crate::words::Words;
use llm_core::recipe::DataSource;
use llm_core::train::{StepReport, Trainer};
use llm_run::data::Validation;
use serde_json::{Value, json};

/// Steps that were done.
pub fn steps(run: &Run, reports: &[StepReport]) -> Value {
    let Trainer { recipe, step, .. } = &run.trainer;
    json!({
        "step": step,
        "steps": recipe.total_steps,
        "losses": reports.iter().map(|report| report.loss).collect::<Vec<_>>(),
        "tokens": recipe.tokens_per_step() * reports.len() as u64,
        "rate": recipe.schedule.at(step.saturating_sub(1)),
        "done": run.left() == 0,
    })
}

/// A remembered moment.
pub fn moment(step: u64) -> Value {
    json!({ "moment": step, "step": step })
}

/// What a measurement found, or how far it is.
pub fn measured(Measuring { step, tokens, slices, .. }: &Measuring, val: &Validation) -> Value {
    let part = slices.part();
    if part < 1.0 {
        return json!({ "done": false, "part": part, "step": step });
    }
    let (report, windows) = (slices.report(val), &val.windows_of(*tokens));
    let mut said = json!({
        "done": true,
        "step": step,
        "validation_tokens": report.evaluation.tokens,
        "validation_loss": report.evaluation.loss,
        "top1": report.evaluation.accuracy,
    });
    if let (Some(facts), Some(stories)) = (&report.facts, &val.stories) {
        let guessed = stories.guessed(windows);
        let kinds = facts.kinds.iter().map(|(kind, of)| {
            let guessed = guessed.get(kind).copied().unwrap_or_default();
            json!({
                "kind": kind.name(),
                "places": kind.places(),
                "right": of.right,
                "of": of.all,
                "frequent": guessed.most_frequent,
                "last": guessed.last_mentioned,
            })
        });
        said["facts"] = kinds.collect();
        said["facts_share"] = json!(facts.total().share());
        said["floor"] = json!(stories.floor_of(windows));
    }
    said
}

/// What a run is.
pub fn described(run: &Run) -> Value {
    let Trainer { model, recipe, step, .. } = &run.trainer;
    let (config, spec) = (model.config(), model.attention().spec());
    let source = match (&recipe.data, recipe.data == DataSource::NONE) {
        (_, true) => "none",
        (DataSource::Stories { .. }, _) => "stories",
        (DataSource::Files { .. }, _) => "text",
    };
    let gpt2 = config.tied_head && config.norm_affine;
    let data = run.data.as_ref();
    let val = data.and_then(|data| data.val.as_ref());
    let mut said = json!({
        "program": if spec.n_heads == 1 && spec.head_mask.is_empty() { "train-gpt" } else { "train-gpt-mha" },
        "attention": spec.name,
        "heads": spec.n_heads,
        "heads_off": spec.head_mask.iter().enumerate().filter(|(_, on)| !**on)
            .map(|(i, _)| [i / spec.n_heads.max(1), i % spec.n_heads.max(1)]).collect::<Vec<_>>(),
        "layers": config.n_layers,
        "width": config.d_model,
        "window": config.seq_len,
        "arch": if gpt2 { "gpt2" } else { "baseline" },
        "tokenizer": run.tokenizer.name(),
        "vocabulary": config.vocab_size,
        "parameters": model.parameter_count(),
        "data": source,
        "has_data": data.is_some(),
        "train_tokens": data.map_or(0, |data| data.train.len()),
        "validation_tokens": val.map_or(0, Validation::tokens),
        "opening": data.and_then(|data| data.opening.as_ref()),
        "batch": recipe.batch_size,
        "train_window": recipe.seq_len,
        "rate": recipe.schedule.lr,
        "seed": recipe.seed,
        "step": step,
        "trained": step,
        "steps": recipe.total_steps,
        "tokens_per_step": recipe.tokens_per_step(),
    });
    if let (Some(data), "text") = (data, source) {
        let label = |words: Words| data.label.said(&words);
        said["label"] = json!({ "en": label(Words::English), "zh": label(Words::Chinese) });
    }
    if let Some((name, has_optimizer)) = &run.origin {
        said["name"] = json!(name);
        said["optimizer"] = json!(has_optimizer);
    }
    said
}
