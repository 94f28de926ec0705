//! What a report shows. Every part is optional: a page has the sections that it has data for.

use crate::bilingual::Bilingual;
use crate::label::label;
use crate::labels::role_label;
use crate::runs::SeveralRuns;
use llm_core::base::Message;
use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use llm_lens::{Carried, Column, MeasuredHead, PruneReport, Scored};
use llm_run::data::Report;
use llm_run::ladder::{Ladder, Rung};
use llm_run::log::{AnswerMoment, HeadMoment, Paired, Sample};
use llm_stories::FactKind;
use serde::{Serialize, Serializer};

/// One page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What it is about, for example the run's folder.
    pub title: String,
    /// Which program and command made it.
    pub made_by: String,
    /// What is known about run and model, in the order in which it is shown.
    pub facts: Vec<Fact>,
    /// The losses of a run.
    pub curves: Option<Curves>,
    /// What its answers were worth, where a run learns from rewards.
    pub rewards: Option<Rewards>,
    /// What it made of pairs of answers, where a run learns from them.
    pub pairs: Option<Pairs>,
    /// What the model wrote.
    pub samples: Vec<Sample>,
    /// Maps of attention weights.
    pub attention: Option<AttentionMaps>,
    /// What each head does.
    pub heads: Vec<HeadRow>,
    /// What attention that is spread evenly has in their columns.
    pub even: Vec<(&'static str, f64)>,
    /// What the model loses without which heads.
    pub prune: Option<Pruning>,
    /// What carries an answer of the stories.
    pub causes: Option<Causes>,
    /// What the model would say after each block, for the text of the maps.
    pub lens: Option<Lens>,
    /// Numbers of heads side by side.
    pub compare: Option<Comparison>,
    /// Runs side by side.
    pub runs: Option<SeveralRuns>,
    /// Kinds of facts: the name in the data, and what a person reads.
    pub kinds: Vec<(&'static str, Bilingual)>,
    /// What is not on the page, and why.
    pub notes: Vec<Bilingual>,
}

/// A line of the table of facts.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: Bilingual,
    /// The value, with its unit.
    pub value: Bilingual,
}

impl Fact {
    /// A label and its value.
    pub fn new(label: impl Into<Bilingual>, value: impl Into<Bilingual>) -> Fact {
        Fact { label: label.into(), value: value.into() }
    }
}

/// Losses by step, in nats for a token, and the curves logged with them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curves {
    /// Step and training loss.
    pub train: Vec<(u64, f64)>,
    /// Step and training loss, as a mean over its neighbours.
    pub smooth: Vec<(u64, f64)>,
    /// Step and validation loss, of measurements on the same tokens.
    pub val: Vec<(u64, f64)>,
    /// The number of these tokens.
    pub val_tokens: Option<u64>,
    /// The measurement after the last step, when it was made on other tokens than those.
    pub final_val: Option<FinalLoss>,
    /// Step and learning rate.
    pub lr: Vec<(u64, f64)>,
    /// Step and norm of the gradient before clipping.
    pub grad_norm: Vec<(u64, f64)>,
    /// Step and speed.
    pub tokens_per_s: Vec<(u64, f64)>,
    /// ln V, what an untrained model is expected to have.
    pub start: Option<f64>,
    /// What no model can be better than, where it is known.
    pub floor: Option<f64>,
}

/// What answers were worth by step, and what was answered on the way.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rewards {
    /// Step and mean reward.
    pub reward: Vec<(u64, f64)>,
    /// Step and share of the questions whose answers differ in their rewards.
    pub differ: Vec<(u64, f64)>,
    /// Step and mean length of an answer, in tokens.
    pub length: Vec<(u64, f64)>,
    /// Step and entropy over the tokens of answers, in nats.
    pub entropy: Vec<(u64, f64)>,
    /// Step and KL(now ‖ start), in nats a token, of a run that is held to its start.
    pub kl: Vec<(u64, f64)>,
    /// Step and KL(start ‖ now), in nats a token.
    pub start_kl: Vec<(u64, f64)>,
    /// Answers to questions that stay the same.
    pub moments: Vec<AnswerMoment>,
}

/// What a model made of pairs of answers by step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pairs {
    /// The pairs of the steps.
    pub learned: Vec<Paired>,
    /// Pairs that no step learns from.
    pub unseen: Vec<Paired>,
}

/// A validation loss without another one to compare it with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FinalLoss {
    /// The number of steps before it.
    pub step: u64,
    /// In nats for a token.
    pub loss: f64,
    /// The number of tokens it is measured on, ..
    pub tokens: u64,
    /// Whether these are all tokens that there are.
    pub all: bool,
}

/// As many digits of a loss as a page has use for.
pub(crate) fn rounded(loss: f64) -> f64 {
    (1e5 * loss).round() / 1e5
}

/// Four digits that count: rates and norms have any size.
fn four_digits(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}

impl From<&llm_run::log::Curves> for Curves {
    /// A log's curves have a few hundred points, however long the run was.
    fn from(log: &llm_run::log::Curves) -> Curves {
        let points = |from: &[llm_run::log::Point], short: fn(f64) -> f64| {
            from.iter().map(|&(step, value)| (step.round() as u64, short(value))).collect()
        };
        Curves {
            train: points(&log.train, rounded),
            smooth: points(&log.smooth, rounded),
            val: points(&log.val, rounded),
            val_tokens: None,
            final_val: None,
            lr: points(&log.lr, four_digits),
            grad_norm: points(&log.grad_norm, four_digits),
            tokens_per_s: points(&log.tokens_per_s, four_digits),
            start: (log.vocab_size > 1).then(|| (log.vocab_size as f64).ln()),
            floor: log.entropy_floor,
        }
    }
}

/// P of every layer and head for one text.
#[derive(Clone, Debug, Serialize)]
pub struct AttentionMaps {
    /// The T tokens as one can show them.
    pub tokens: Vec<String>,
    /// `[L][H][T][T]`: row i holds the weights of query i; those after i are 0, and the page leaves
    /// them out. It has the others in steps of `WEIGHT_STEP`.
    #[serde(serialize_with = "in_steps")]
    pub layers: Vec<Vec<Vec<Vec<f32>>>>,
}

impl AttentionMaps {
    /// With the tokens' labels.
    pub fn new(maps: llm_lens::AttentionMaps, tokenizer: &dyn Tokenizer) -> AttentionMaps {
        let tokens = maps.tokens.into_iter().map(|token| label(tokenizer, token));
        AttentionMaps { tokens: tokens.collect(), layers: maps.layers }
    }
}

/// The weights on a page are whole multiples of this: finer than a screen can show, and a page with
/// many heads stays small.
pub const WEIGHT_STEP: f64 = 1e-4;

fn in_steps<S: Serializer>(layers: &[Vec<Vec<Vec<f32>>>], to: S) -> Result<S::Ok, S::Error> {
    let steps = |&p: &f32| (f64::from(p) / WEIGHT_STEP).round() as u32;
    let row = |(i, row): (usize, &Vec<f32>)| row.iter().take(i + 1).map(steps).collect();
    let head =
        |head: &Vec<Vec<f32>>| -> Vec<Vec<u32>> { head.iter().enumerate().map(row).collect() };
    to.collect_seq(layers.iter().map(|heads| heads.iter().map(head).collect::<Vec<_>>()))
}

/// What one head was measured to do, by `inspect heads`. Shares are in 0..=1.
#[derive(Clone, Debug, Serialize)]
pub struct HeadRow {
    /// The number of the block, from 0.
    pub layer: usize,
    /// The number of the head in the block, from 0.
    pub head: usize,
    /// Measured quantities in the order of their columns: a name and a value.
    pub scores: Vec<(&'static str, f64)>,
    /// What it does most, in words; empty when nothing stands out.
    pub role: Bilingual,
    /// The column that says so.
    pub evidence: Option<&'static str>,
}

impl From<&MeasuredHead> for HeadRow {
    fn from(measured: &MeasuredHead) -> HeadRow {
        let MeasuredHead { layer, head, scores, role, is_off } = measured;
        let (role, evidence) = match (role, is_off) {
            (_, true) => (message!("switched off").into(), None),
            (Some(role), false) => (role_label(*role).into(), Some(role.name())),
            (None, false) => (Bilingual::default(), None),
        };
        HeadRow { layer: *layer, head: *head, scores: named(scores), role, evidence }
    }
}

/// Columns under the names that a page has for them.
pub fn named(columns: &[(Column, f64)]) -> Vec<(&'static str, f64)> {
    columns.iter().map(|(column, value)| (column.name(), *value)).collect()
}

/// What carries the name of the other person, by `inspect patch`.
#[derive(Clone, Debug, Serialize)]
pub struct Causes {
    /// Pairs of stories that were tried.
    pub tried: usize,
    /// Pairs that the model is right on, which are measured.
    pub right: usize,
    /// Heads, all heads of a block, and MLPs, at the end.
    pub parts: Vec<Carried>,
    /// What heads looked at and carried on the way.
    pub moments: Vec<HeadMoment>,
}

/// The end of a text, and what would be said there after each block.
#[derive(Clone, Debug, Serialize)]
pub struct Lens {
    /// The tokens' texts.
    pub tokens: Vec<String>,
    /// For each block, the first before it, the first choice at each token and its probability.
    pub layers: Vec<Vec<(String, f64)>>,
}

/// Heads switched off one after the other, the least missed first.
#[derive(Clone, Debug, Serialize)]
pub struct Pruning {
    /// Validation loss with all heads, in nats for a token.
    pub loss: f64,
    /// Facts right with all heads, 0..=1; none for text without facts.
    pub facts: Option<f64>,
    /// Each head alone switched off.
    pub alone: Vec<Pruned>,
    /// In order, each with all before it switched off too.
    pub greedy: Vec<Pruned>,
}

impl From<&PruneReport<Report>> for Pruning {
    fn from(PruneReport { whole, alone, greedy, .. }: &PruneReport<Report>) -> Pruning {
        let pruned = |s: &Scored<Report>| Pruned {
            layer: s.head.layer,
            head: s.head.head,
            loss: s.score.loss,
            facts: s.score.details.facts_share(),
        };
        Pruning {
            loss: whole.loss,
            facts: whole.details.facts_share(),
            alone: alone.iter().map(pruned).collect(),
            greedy: greedy.iter().map(pruned).collect(),
        }
    }
}

/// A head switched off and what is left.
#[derive(Clone, Debug, Serialize)]
pub struct Pruned {
    /// The number of the block, from 0.
    pub layer: usize,
    /// The number of the head in the block, from 0.
    pub head: usize,
    /// Validation loss then.
    pub loss: f64,
    /// Facts right then.
    pub facts: Option<f64>,
}

/// Models that differ in some settings only, each trained with several seeds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Every planned run is done.
    pub complete: bool,
    /// The settings in which they differ: `heads`, or `lr/heads`.
    pub differ_in: String,
    /// Whether they differ in their number of heads only.
    pub by_heads: bool,
    /// One for each combination of these settings.
    pub rows: Vec<Compared>,
    /// What no model's expected loss is below, where that is known.
    pub floor: Option<f64>,
    /// Facts right without reading, 0..=1: the most frequent word of the kind, the last mentioned.
    pub without_reading: Option<[f64; 2]>,
    /// Each setting against the first one, seed by seed.
    pub differences: Vec<Judged>,
    /// What was measured, in words.
    pub conclusion: Vec<Bilingual>,
    /// The law of the sizes, where they are those of a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Climbed>,
}

/// Sizes that follow rules, and how the loss falls with them.
#[derive(Clone, Debug, Serialize)]
pub struct Climbed {
    /// The rules.
    #[serde(flatten)]
    pub ladder: Ladder,
    /// The rules in words.
    pub rules: Vec<Bilingual>,
    /// One for each combination of other settings.
    pub laws: Vec<SizeLaw>,
}

/// The losses of models by their size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeLaw {
    /// Values of the other settings; empty when there are none.
    pub of: String,
    /// The sizes, the smallest first.
    pub points: Vec<LawPoint>,
    /// The law that was found; none where the points do not bear one.
    pub law: Option<FoundLaw>,
    /// The law in words, or why it is refused.
    pub said: Vec<Bilingual>,
}

/// A size.
#[derive(Clone, Debug, Serialize)]
pub struct LawPoint {
    /// The name.
    pub size: String,
    /// N, parameters of the blocks.
    pub n: u64,
    /// Validation loss of each seed, in nats for a token.
    pub losses: Vec<f64>,
}

/// Validation loss = floor + scale·N^-exponent.
#[derive(Clone, Debug, Serialize)]
pub struct FoundLaw {
    /// E, in nats for a token.
    pub floor: f64,
    /// A.
    pub scale: f64,
    /// α.
    pub exponent: f64,
    /// The interval of the exponent, of 95 %.
    pub exponent_interval: [f64; 2],
    /// Whether the intervals are by the sizes' distance from the curve, as the seeds do not explain it.
    pub by_sizes: bool,
    /// N, the loss, and its interval, from the smallest size to ten times the largest.
    pub curve: Vec<[f64; 4]>,
    /// Point of the curve at ten times the largest.
    pub ten_times: [f64; 4],
}

/// By how much a setting differs from the first one in a quantity.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// `val_loss`, `facts_accuracy`, or a kind of facts.
    pub quantity: &'static str,
    /// The setting's values, as in [`Compared::values`].
    pub setting: String,
    /// Seeds that both have.
    pub seeds: usize,
    /// Mean of the differences.
    pub mean: f64,
    /// Sample standard deviation of the differences.
    pub sd: f64,
    /// Half the width of the interval that holds the true mean with a chance of 95 %.
    pub half_width: f64,
    /// The chance of such a difference between equals, among all of the comparison.
    pub p: f64,
    /// Whether it is beyond chance.
    pub counts: bool,
}

/// One number of heads, or one combination of other settings.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compared {
    /// In words: `4 heads`, `lr 0.003`.
    #[serde(serialize_with = "in_both")]
    pub name: Message,
    /// The values alone: `4`, `0.003`.
    pub values: String,
    /// H.
    pub n_heads: usize,
    /// D = C / H.
    pub head_dim: usize,
    /// Number of parameters.
    pub parameters: u64,
    /// Tokens that each of its runs was trained on, repetitions included.
    pub learned: u64,
    /// The size of a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// Seeds, in the order of all that follows.
    pub seeds: Vec<u64>,
    /// Validation loss of each seed, in nats for a token.
    pub loss: Vec<f64>,
    /// Seconds of training of each seed.
    pub seconds: Vec<f64>,
    /// All facts together: the share right with each seed; empty for text without facts.
    pub facts_total: Vec<f64>,
    /// For each kind of fact that occurred: the share right with each seed.
    #[serde(serialize_with = "by_name")]
    pub facts: Vec<(FactKind, Vec<f64>)>,
    /// What kinds of models cost; none where other settings are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<ComparedCosts>,
}

impl Compared {
    /// The share right of a kind with each seed; empty when it did not occur.
    pub fn facts_of(&self, kind: FactKind) -> &[f64] {
        self.facts.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, shares)| shares)
    }
}

fn in_both<S: Serializer>(message: &Message, to: S) -> Result<S::Ok, S::Error> {
    Bilingual::from(message.clone()).serialize(to)
}

fn by_name<S: Serializer>(facts: &[(FactKind, Vec<f64>)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(facts.iter().map(|(kind, shares)| (kind.name(), shares)))
}

/// What a kind of model costs, and how it reads longer texts than it was trained on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ComparedCosts {
    /// Milliseconds of a step, for each seed.
    pub step_ms: Vec<f64>,
    /// Tokens trained on per second, for each seed.
    pub tokens_per_s: Vec<f64>,
    /// Bytes that are kept of a token while text is written, in all blocks.
    pub cache_bytes: u64,
    /// Multiples of the trained length, and the loss of each seed in windows as long; no losses where
    /// there is no such window.
    pub at_lengths: Vec<(usize, Vec<f64>)>,
    /// Longer windows are refused: the table of positions ends at the trained length.
    pub refused: bool,
}
