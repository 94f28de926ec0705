//! The page of a training run.

mod attention;
mod causes;
pub(crate) mod rewards;
mod unseen;

use crate::bilingual::Bilingual;
use crate::data::{Curves, Fact, HeadRow, Page, named};
use crate::facts::{Shared, percent, settings};
use crate::labels::fact_label;
use llm_core::base::{Message, escape, thousands};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId, message};
use llm_formats::tokenizers::unit;
use llm_run::Result;
use llm_run::data::Data;
use llm_run::log::Sample;
use llm_run::plan::Plan;
use llm_run::training::{Identity, PageOf};
use llm_stories::FactTable;
use std::sync::Arc;
use unseen::Unseen;

/// Most samples on a page: those of a long run are thinned out, the first and the last stay.
const MOST_SAMPLES: usize = 24;

/// What is known about a run when it begins.
#[derive(Debug)]
pub struct About {
    program: &'static str,
    threads: usize,
    data: Message,
    tokenizer: Arc<dyn Tokenizer>,
    /// Unseen text, or else training text.
    text: Vec<TokenId>,
    /// Unseen text to measure heads on.
    measured: attention::Measured,
    /// How much there is to score.
    unseen: Option<Unseen>,
    /// Facts right without reading, 0..=1: the most frequent word, the last mentioned.
    without_reading: Option<[f64; 2]>,
}

impl About {
    /// From the plan of a run that is about to begin.
    ///
    /// # Errors
    /// What reading its data says.
    pub fn of(who: &Identity, plan: &Plan) -> Result<About> {
        About::new(who, plan.data.as_ref(), &plan.trainer.model, &plan.tokenizer)
    }

    /// From what a run learns, if anything, and its model.
    ///
    /// # Errors
    /// What reading its data says.
    pub fn new(
        who: &Identity,
        data: Option<&Data>,
        model: &TinyGPT,
        tokenizer: &Arc<dyn Tokenizer>,
    ) -> Result<About> {
        let most = attention::most_tokens(model);
        let text = match data.map(|data| (data.val.as_ref(), &data.train)) {
            Some((Some(val), _)) => val.beginning(most)?,
            Some((None, train)) => train.tokens(0, most.min(train.len()))?,
            None => Vec::new(),
        };
        let val = data.and_then(|data| data.val.as_ref());
        let measured = val.map(|val| attention::Measured::of(val, model)).transpose()?;
        let stories = data.and_then(|d| d.val.as_ref()?.stories.as_ref());
        Ok(About {
            program: who.face,
            threads: who.threads,
            data: data.map_or_else(|| message!(""), |data| data.label.clone()),
            tokenizer: tokenizer.clone(),
            text,
            measured: measured.unwrap_or_default(),
            unseen: val.map(Unseen::of),
            without_reading: stories.map(|s| [s.most_frequent, s.last_mentioned]),
        })
    }
}

/// The page: what the run is now, what its log says, and what its heads look at; and why it ended
/// `early`, if it did.
pub fn page(about: &About, of: &PageOf<'_>, early: Option<Bilingual>) -> Page {
    let (run, ending) = (of.run, &of.ending);
    let curves = Curves::from(&of.curves);
    let curves = match about.unseen {
        Some(unseen) => unseen.with_last(curves, run.step, ending.report),
        None => curves,
    };
    let mut notes: Vec<_> = early.into_iter().collect();
    let (model, tokenizer) = (run.model, about.tokenizer.as_ref());
    let attention = attention::maps(model, &about.text, tokenizer);
    let measured = about.measured.heads(model, tokenizer);
    let (heads, even) = measured
        .map(|found| (found.rows.iter().map(HeadRow::from).collect(), named(&found.uniform)))
        .unwrap_or_default();
    if about.measured.too_large {
        let why = message!(
            "What its heads do is not measured here, the model is too large for that; inspect heads \
             does it."
        );
        notes.push(why.into());
    }
    let attention = attention.map_err(|why| notes.push(why.into())).ok();
    Page {
        title: escape::path(of.folder),
        made_by: format!("{} {}", about.program, env!("CARGO_PKG_VERSION")),
        facts: facts(about, of, &curves),
        curves: has_points(&curves).then_some(curves),
        rewards: rewards::rewards(&of.rewards, &of.answers),
        pairs: rewards::pairs(&of.pairs),
        samples: thinned(&of.samples),
        attention,
        heads,
        even,
        causes: causes::causes(&of.run, tokenizer, &of.heads),
        lens: causes::lens(model, &about.text, tokenizer),
        notes,
        ..Page::default()
    }
}

fn has_points(curves: &Curves) -> bool {
    !curves.train.is_empty() || !curves.val.is_empty()
}

fn facts(about: &About, of: &PageOf<'_>, curves: &Curves) -> Vec<Fact> {
    let PageOf { run, ending, tokens, .. } = of;
    let (recipe, tokenizer) = (run.recipe, about.tokenizer.as_ref());
    let (model, attention) = (run.model, run.model.attention());
    let mut facts = settings(&Shared {
        program: about.program,
        data: about.data.clone(),
        tokenizer: about.tokenizer.clone(),
        config: model.config().clone(),
        heads: vec![attention.spec().n_heads],
        head_dims: vec![attention.spec().head_dim(model.config().d_model)],
        parameters: model.parameter_count(),
        recipe: recipe.clone(),
        seeds: vec![recipe.seed],
        threads: about.threads,
    });
    let (step, all) = (thousands(run.step), thousands(recipe.total_steps));
    facts.push(Fact::new(message!("Steps"), format!("{step} / {all}")));
    facts.push(Fact::new(message!("Tokens"), thousands(*tokens)));
    facts.push(Fact::new(message!("Time of this command"), format!("{:.1} s", ending.seconds)));
    if let Some((_, loss)) = curves.smooth.last() {
        facts.push(Fact::new(message!("Training loss, smoothed"), format!("{loss:.4}")));
    }
    if let Some(report) = ending.report {
        let of = &report.evaluation;
        let is_all = about.unseen.is_some_and(|unseen| unseen.all == of.tokens);
        let (loss, tokens) = (format!("{:.4}", of.loss), thousands(of.tokens));
        let unit = unit(tokenizer);
        let on = match is_all {
            true => {
                message!("{} nats / {}, on all {} tokens of the unseen text", loss, unit, tokens)
            }
            false => message!("{} nats / {}, on {} tokens of the unseen text", loss, unit, tokens),
        };
        facts.push(Fact::new(message!("Validation loss at the end"), on));
        let bits = report.bits_per_byte();
        facts.extend(bits.map(|bits| Fact::new(message!("Bits per byte"), format!("{bits:.3}"))));
        facts.push(Fact::new(message!("Top-1"), percent(of.accuracy)));
        let known = report.facts.as_ref().filter(|known| !known.kinds.is_empty());
        known.into_iter().for_each(|known| facts.extend(facts_right(about, known)));
    }
    if !ending.checkpoints.is_empty() {
        let paths: Vec<_> = ending.checkpoints.iter().map(|path| escape::path(path)).collect();
        facts.push(Fact::new(message!("Checkpoints"), paths.join("\n")));
    }
    facts
}

fn facts_right(about: &About, known: &FactTable) -> Vec<Fact> {
    let by_kind = known
        .kinds
        .iter()
        .map(|(kind, of)| message!("{}\u{a0}{}", fact_label(*kind), percent(of.share())));
    let by_kind = Message::joined("{} · {}", by_kind).unwrap_or_default();
    let mut facts = vec![
        Fact::new(message!("Facts right on unseen stories"), percent(known.total().share())),
        Fact::new(message!("… that depend on one place"), percent(known.with_places(1).share())),
        Fact::new(message!("… that depend on two places"), percent(known.with_places(2).share())),
        Fact::new(message!("… by kind"), by_kind),
    ];
    if let Some([frequent, last]) = about.without_reading {
        facts.push(Fact::new(
            message!("… without reading: most frequent / last mentioned word"),
            format!("{} / {}", percent(frequent), percent(last)),
        ));
    }
    facts
}

/// Evenly spaced samples, the first and the last among them.
fn thinned(samples: &[Sample]) -> Vec<Sample> {
    let (n, most) = (samples.len(), MOST_SAMPLES);
    let kept = |i: usize| n <= most || (0..most).any(|k| k * (n - 1) / (most - 1) == i);
    samples.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, s)| s.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_samples_the_first_and_the_last_stay() {
        let sample = |step| Sample { step, prompt: String::new(), text: String::new() };
        for n in [0, 1, 24, 25, 1000] {
            let steps: Vec<u64> =
                thinned(&(0..n).map(sample).collect::<Vec<_>>()).iter().map(|s| s.step).collect();
            assert_eq!(steps.len(), MOST_SAMPLES.min(n as usize));
            assert_eq!(
                (steps.first(), steps.last()),
                ((n > 0).then_some(&0), (0..n).last().as_ref())
            );
        }
    }
}
