//! Lines about settings that a run and a comparison share.

use crate::data::Fact;
use crate::labels::course_label;
use llm_core::base::{Message, thousands};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Config, message};
use llm_run::settings;
use std::sync::Arc;

/// What there is to say.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The name of the program.
    pub program: &'static str,
    /// The training data.
    pub data: Message,
    /// The tokenizer of the data.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Sizes and options of the model.
    pub config: Config,
    /// H, of each model.
    pub heads: Vec<usize>,
    /// D, of each model.
    pub head_dims: Vec<usize>,
    /// Number of weights.
    pub parameters: u64,
    /// The recipe of training.
    pub recipe: Recipe,
    /// Seeds of the runs.
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
    let learning = message!(
        "{} · lr {} ({}) · warm-up {} · clip {} · weight decay {} · β {} · dropout {}",
        format!("B {}{accum} × T {}", recipe.batch_size, recipe.seq_len),
        schedule.lr.to_string(),
        course_label(schedule.kind),
        schedule.warmup_steps.to_string(),
        recipe.clip.to_string(),
        update.weight_decay.to_string(),
        format!("{} / {}", update.beta1, update.beta2),
        config.dropout.to_string()
    );
    let further = settings::settings().filter_map(|flag| {
        let (name, value) = (flag.report?(), flag.value(config, recipe)?);
        Some(message!("{} {}", name, value))
    });
    let all = Message::joined("{} · {}", [learning].into_iter().chain(further)).unwrap_or_default();
    let vocab_size = thousands(config.vocab_size as u64);
    vec![
        Fact::new(message!("Program"), format!("{program} {}", env!("CARGO_PKG_VERSION"))),
        Fact::new(message!("Data"), data.clone()),
        Fact::new(message!("Tokenizer"), format!("{}, V {vocab_size}", tokenizer.name())),
        Fact::new(
            message!("Model"),
            format!(
                "L {} · C {} · H {} · D {} · T {}",
                config.n_layers,
                config.d_model,
                list(heads),
                list(head_dims),
                config.seq_len
            ),
        ),
        Fact::new(message!("Parameters"), thousands(*parameters)),
        Fact::new(message!("Recipe"), all),
        Fact::new(message!("Seed"), from_to(seeds)),
        Fact::new(message!("Threads"), threads.to_string()),
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
