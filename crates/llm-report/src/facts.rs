//! Lines about settings that a run and a comparison share.

use crate::bilingual::Bilingual;
use crate::data::Fact;
use crate::labels as label;
use llm_core::Config;
use llm_core::base::{Message, thousands};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_run::settings;
use std::sync::Arc;

/// What there is to say.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Who trains.
    pub program: &'static str,
    /// The training data.
    pub data: Message,
    /// How it is cut.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Sizes and options of the model.
    pub config: Config,
    /// H, of each model.
    pub heads: Vec<usize>,
    /// D, of each model.
    pub head_dims: Vec<usize>,
    /// Number of weights.
    pub parameters: u64,
    /// How it learns.
    pub recipe: Recipe,
    /// Of the runs.
    pub seeds: Vec<u64>,
    /// Threads at work.
    pub threads: usize,
}

/// The lines, the training data first.
pub(crate) fn settings(of: &Shared) -> Vec<Fact> {
    let Shared { program, data, tokenizer, config, heads, head_dims, .. } = of;
    let Shared { parameters, recipe, seeds, threads, .. } = of;
    let (schedule, update) = (&recipe.schedule, &recipe.hyperparameters);
    let accum = if recipe.accum > 1 { format!(" × {}", recipe.accum) } else { String::new() };
    let learning = |course: String| {
        label::learning(
            format!("B {}{accum} × T {}", recipe.batch_size, recipe.seq_len),
            format!("{} ({course})", schedule.lr),
            schedule.warmup_steps,
            recipe.clip,
            update.weight_decay,
            format!("{} / {}", update.beta1, update.beta2),
            config.dropout,
        )
    };
    let course = label::course_label(schedule.kind);
    let learning = Bilingual::new(learning(course.en).en, learning(course.zh).zh);
    let further = settings::settings().filter_map(|flag| {
        let (name, value) = (flag.report?(), flag.value(config, recipe)?);
        Some((Bilingual::of(&name), value))
    });
    let joined = |all: Bilingual, (name, value): (Bilingual, _)| {
        let one = |all: String, name: String| format!("{all} · {name} {value}");
        Bilingual::new(one(all.en, name.en), one(all.zh, name.zh))
    };
    let vocab_size = thousands(config.vocab_size as u64);
    vec![
        Fact::new(label::program(), format!("{program} {}", env!("CARGO_PKG_VERSION"))),
        Fact::new(label::data(), Bilingual::of(data)),
        Fact::new(label::tokenizer(), format!("{}, V {vocab_size}", tokenizer.name())),
        Fact::new(
            label::model(),
            format!(
                "L {} · C {} · H {} · D {} · T {}",
                config.n_layers,
                config.d_model,
                list(heads),
                list(head_dims),
                config.seq_len
            ),
        ),
        Fact::new(label::parameters(), thousands(*parameters)),
        Fact::new(label::recipe(), further.fold(learning, joined)),
        Fact::new(label::seed(), from_to(seeds)),
        Fact::new(label::threads(), threads.to_string()),
    ]
}

fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Seeds that follow each other, however many.
pub fn from_to(seeds: &[u64]) -> String {
    match seeds {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    }
}

/// 0..=1 as a person reads it.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::message;
    use llm_core::tokenizer::ByteTokenizer;

    #[test]
    fn values_with_words_are_said_in_both_languages() {
        let facts = settings(&Shared {
            program: "train-gpt",
            data: message!("the last {} % unseen", 10),
            tokenizer: Arc::new(ByteTokenizer),
            config: Config::new(256, 64, 128, 4),
            heads: vec![4],
            head_dims: vec![32],
            parameters: 1000,
            recipe: Recipe::new([8, 64], 1500, 1e-3),
            seeds: vec![1],
            threads: 2,
        });
        let chinese = |label: &str| {
            let fact = facts.iter().find(|fact| fact.label.en == label).unwrap();
            (fact.value.en.clone(), fact.value.zh.clone())
        };
        assert_eq!(chinese("Data").1, "最后 10 % 留着不学");
        let (en, zh) = chinese("Recipe");
        assert!(en.starts_with("B 8 × T 64 · lr 0.001 (constant) · warm-up 0 · "), "{en}");
        assert!(en.ends_with(" · dropout 0 · optimizer adamw"), "{en}");
        assert!(zh.starts_with("B 8 × T 64 · 学习率 0.001 (恒定) · 预热 0 · "), "{zh}");
        assert!(zh.ends_with(" · dropout 0 · 优化器 adamw"), "{zh}");
    }
}
