//! Lines about settings that a run and a comparison share.

use super::Fact;
use crate::flags::flags;
use crate::messages::report as label;
use llm_core::Config;
use llm_core::base::thousands;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;

/// What there is to say.
pub(crate) struct Shared<'a> {
    pub program: &'a str,
    pub data: &'a str,
    pub tokenizer: &'a dyn Tokenizer,
    pub config: &'a Config,
    /// H, of each model.
    pub heads: &'a [usize],
    pub recipe: &'a Recipe,
    pub seeds: &'a [u64],
    pub threads: usize,
}

/// The lines, what is learnt first.
pub(crate) fn settings(of: &Shared<'_>) -> Vec<Fact> {
    let Shared { program, data, tokenizer, config, heads, recipe, seeds, threads } = of;
    let (schedule, update) = (&recipe.schedule, &recipe.hyperparameters);
    let kind = format!("{:?}", schedule.kind).to_lowercase();
    let accum = if recipe.accum > 1 { format!(" × {}", recipe.accum) } else { String::new() };
    let further = flags().filter_map(|flag| {
        let (name, value) = (flag.report?, flag.value(config, recipe)?);
        Some(format!(" · {name} {value}"))
    });
    let further: String = further.collect();
    let dims: Vec<_> = heads.iter().map(|h| config.d_model / (*h).max(1)).collect();
    let vocab_size = thousands(config.vocab_size as u64);
    vec![
        Fact::new(label::program(), format!("{program} {}", env!("CARGO_PKG_VERSION"))),
        Fact::new(label::data(), *data),
        Fact::new(label::tokenizer(), format!("{}, V {vocab_size}", tokenizer.name())),
        Fact::new(
            label::model(),
            format!(
                "L {} · C {} · H {} · D {} · T {}",
                config.n_layers,
                config.d_model,
                list(heads),
                list(&dims),
                config.seq_len
            ),
        ),
        Fact::new(label::parameters(), thousands(config.parameter_count())),
        Fact::new(
            label::recipe(),
            format!(
                "B {}{accum} × T {} · lr {} ({kind}) · warm-up {} · clip {} · weight decay {} · \
                 β {} / {} · dropout {}{further}",
                recipe.batch_size,
                recipe.seq_len,
                schedule.lr,
                schedule.warmup_steps,
                recipe.clip,
                update.weight_decay,
                update.beta1,
                update.beta2,
                config.dropout
            ),
        ),
        Fact::new(label::seed(), from_to(seeds)),
        Fact::new(label::threads(), threads.to_string()),
    ]
}

fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Seeds that follow each other, however many.
pub(crate) fn from_to(seeds: &[u64]) -> String {
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
