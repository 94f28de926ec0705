//! A ladder of sizes: a name moves depth, width, heads, steps and rate together.
//!
//! The shape is that of nanochat's speedruns, in small: depth alone is chosen, width = 32·depth, as in the usual
//! model of a text, tokens are a multiple of the parameters, and the rate falls as 1/√width.

use crate::error::{Result, usage};
use crate::models::{Heads, Models};
use crate::options::Options;
use crate::plan::{SharedData, SharedDecision};
use crate::settings::Given;
use llm_core::base::Message;
use llm_core::message;
use llm_core::recipe::Recipe;
use serde::Serialize;

/// Sizes that have a name, and their depths.
pub const SIZES: [(&str, u64); 5] =
    [("tiny", 1), ("mini", 2), ("small", 4), ("medium", 6), ("large", 8)];
/// The deepest.
const MOST_LAYERS: u64 = 1000;
/// Channels of a head, of which there are as many as layers.
pub const WIDTH_PER_LAYER: u64 = 32;
/// Tokens that are learned for each parameter of the blocks, where nothing else is said. A text of one megabyte is
/// then read eight times by four blocks of width 128.
pub const TOKENS_PER_PARAMETER: f64 = 10.0;
/// Settings that the ladder moves.
pub const MOVED: [&str; 5] = ["layers", "dmodel", "heads", "lr", "steps"];

/// The rules that all sizes of a ladder share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ladder {
    /// Tokens that are learned for each parameter of the blocks.
    pub tokens_per_parameter: f64,
    /// The width at which the rate is the usual one for its steps.
    pub usual_width: u64,
    /// The optimizer of all sizes, unless it is varied.
    pub optimizer: String,
}

/// A size of a ladder, made of its rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rung {
    /// The name, as it was typed.
    pub size: String,
    /// L.
    pub layers: u64,
    /// C.
    pub d_model: u64,
    /// H.
    pub n_heads: u64,
    /// N: parameters of the blocks, without tables of tokens and positions and without the output head.
    pub block_parameters: u64,
    /// Parameters in all.
    pub parameters: u64,
    /// Steps.
    pub steps: u64,
    /// Tokens that are learned, repetitions included.
    pub learned: u64,
    /// Passes over the training data.
    pub passes: f64,
    /// Peak of the rate.
    pub lr: f32,
    /// Whether a limit of steps left fewer tokens than the rule has.
    pub is_limited: bool,
}

/// The depth of a size: a name, or a number of layers.
///
/// # Errors
/// [`RunError::Usage`](crate::RunError::Usage) for anything else.
pub fn depth(size: &str) -> Result<u64> {
    let named = SIZES.iter().find(|(name, _)| *name == size).map(|(_, depth)| *depth);
    let number = || size.parse().ok().filter(|depth| (1..=MOST_LAYERS).contains(depth));
    let Some(depth) = named.or_else(number) else {
        let names = Message::list(SIZES.iter().map(|(name, _)| *name));
        return usage(message!(
            "{ladder} '{}': valid are {}, or a number of layers up to {}",
            size.escape_default(),
            names,
            MOST_LAYERS
        ));
    };
    Ok(depth)
}

impl Ladder {
    /// The rules on top of a usual training: its width, and its optimizer.
    pub fn new(tokens_per_parameter: f64, d_model: usize, recipe: &Recipe) -> Ladder {
        let optimizer = recipe.optimizer.to_string();
        Ladder { tokens_per_parameter, usual_width: d_model as u64, optimizer }
    }

    /// A size, and its settings, those of `options` among them. Steps and epochs that were asked for are the most
    /// that there may be.
    ///
    /// # Errors
    /// As [`depth`]; what such a training is refused for.
    pub fn rung(
        &self,
        size: &str,
        data: &SharedData,
        models: &Models,
        options: &Options,
    ) -> Result<(Rung, Given)> {
        let layers = depth(size)?;
        let (d_model, mut options) = (WIDTH_PER_LAYER * layers, options.clone());
        let is_limited = options.epochs.is_some() || options.given.contains_key("steps");
        let n_heads = if matches!(models.heads, Heads::Many { .. }) { layers } else { 1 };
        let given = &mut options.given;
        given.insert("layers", layers.into());
        given.insert("dmodel", d_model.into());
        given.insert("heads", n_heads.into());
        // It depends on the width, and a law is one of one optimizer.
        given.entry("optimizer").or_insert_with(|| self.optimizer.clone().into());
        let SharedDecision { recipe, parameters, block_parameters, .. } =
            data.decided(models, &options)?;
        let tokens = self.tokens_per_parameter * block_parameters as f64;
        let by_rule = ((tokens / recipe.tokens_per_step() as f64).ceil() as u64).max(1);
        let most = if is_limited { recipe.total_steps } else { u64::MAX };
        let steps = by_rule.min(most);
        options.epochs = None;
        options.given.insert("steps", steps.into());
        let usual = data.decided(models, &options)?.recipe;
        let lr = usual.schedule.lr * (self.usual_width as f32 / d_model as f32).sqrt();
        options.given.insert("lr", lr.into());
        let tokens = steps.saturating_mul(usual.tokens_per_step());
        let learned = data.data().map_or(0, |data| data.train.len());
        let rung = Rung {
            size: size.into(),
            layers,
            d_model,
            n_heads,
            block_parameters,
            parameters,
            steps,
            learned: tokens,
            passes: tokens as f64 / learned.max(1) as f64,
            lr,
            is_limited: steps < by_rule,
        };
        Ok((rung, options.given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::BASELINE;
    use crate::plan::Plan;
    use llm_core::settings::Value;

    fn data(options: &Options) -> (SharedData, Ladder) {
        let plan = Plan::new(&BASELINE, options, &|_, _| ()).unwrap();
        let width = plan.trainer.model.config().d_model;
        let ladder = Ladder::new(TOKENS_PER_PARAMETER, width, &plan.trainer.recipe);
        (SharedData::of(plan), ladder)
    }

    #[test]
    fn names_are_depths_and_depths_are_names() {
        for (name, layers) in SIZES {
            assert_eq!(depth(name).unwrap(), layers);
            assert_eq!(depth(&layers.to_string()).unwrap(), layers);
        }
        for wrong in ["", "0", "huge", "1001", "-1", "2.5", "Tiny"] {
            assert!(depth(wrong).unwrap_err().to_string().contains("tiny, mini, small"), "{wrong}");
        }
    }

    /// Width, heads, tokens and rate as the rules say them, at every depth; what was given stays.
    #[test]
    fn every_size_follows_the_rules() {
        let mut options = Options::default();
        options.given.insert("weight_decay", Value::Float(0.3));
        let (data, ladder) = data(&options);
        let mut before: Option<Rung> = None;
        for layers in 1..=6 {
            let size = layers.to_string();
            let (rung, given) = ladder.rung(&size, &data, &BASELINE, &options).unwrap();
            let c = 32 * layers;
            assert_eq!((rung.layers, rung.d_model, rung.n_heads), (layers, c, 1));
            // Four squares of attention and eight of the MLP, with their biases.
            assert_eq!(rung.block_parameters, layers * (12 * c * c + 9 * c));
            let per_step = (8 * 256) as f64;
            let most = 10.0 * rung.block_parameters as f64;
            assert!(rung.learned as f64 >= most && (rung.learned as f64) < most + per_step);
            assert_eq!(rung.steps as f64 * per_step, rung.learned as f64);
            assert!(!rung.is_limited && rung.passes > 0.0);
            let is = |name: &str, value: Value| assert_eq!(given[name], value, "{name}");
            is("lr", rung.lr.into());
            is("steps", rung.steps.into());
            is("dmodel", c.into());
            is("weight_decay", Value::Float(0.3));
            is("optimizer", ladder.optimizer.clone().into());
            let usual: f32 = 1.2e-2 * (64.0 / c as f32).sqrt();
            assert!((rung.lr - usual).abs() < 1e-6, "{}", rung.lr);
            assert!(before.is_none_or(|of| of.steps < rung.steps && of.lr > rung.lr));
            before = Some(rung);
        }
    }

    /// Steps and passes that are asked for are the most, and never more than the rule has.
    #[test]
    fn a_limit_of_steps_is_kept() {
        let mut options = Options::default();
        let (data, ladder) = data(&options);
        let rung =
            |size, options: &Options| ladder.rung(size, &data, &BASELINE, options).unwrap().0;
        let free = rung("mini", &options);
        options.given.insert("steps", (free.steps - 1).into());
        let [tiny, mini] = ["tiny", "mini"].map(|size| rung(size, &options));
        assert_eq!((mini.steps, mini.is_limited), (free.steps - 1, true));
        assert!(!tiny.is_limited && tiny.steps < free.steps - 1);
        let options = Options { epochs: Some(0.01), ..Options::default() };
        let few = rung("mini", &options);
        assert!(few.is_limited && few.passes < 0.011, "{few:?}");
    }
}
