//! What a report shows. Every part is optional: a page has the sections that it has data for.

use serde::Serialize;

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
    /// What the model wrote.
    pub samples: Vec<Sample>,
    /// Who looks at whom.
    pub attention: Option<AttentionMaps>,
    /// What each head does.
    pub heads: Vec<HeadRow>,
    /// What the model loses without which heads.
    pub prune: Option<Pruning>,
    /// Runs side by side.
    pub compare: Option<Comparison>,
}

/// The same in both languages of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bilingual {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}

/// A line of the table of facts.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: Bilingual,
    /// Its value, with its unit.
    pub value: String,
}

/// Losses by step, in nats for a token.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curves {
    /// Step and training loss.
    pub train: Vec<(u64, f64)>,
    /// Step and validation loss.
    pub val: Vec<(u64, f64)>,
    /// ln V, what an untrained model is expected to have.
    pub start: Option<f64>,
    /// What no model can be better than, where it is known.
    pub floor: Option<f64>,
}

/// A piece of text.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// After which step.
    pub step: u64,
    /// What it began with.
    pub prompt: String,
    /// What the model wrote after it.
    pub text: String,
}

/// P of every layer and head for one text.
#[derive(Clone, Debug, Serialize)]
pub struct AttentionMaps {
    /// The T tokens as one can show them.
    pub tokens: Vec<String>,
    /// `[L][H][T]`: row i holds the i + 1 weights of query i, of which the later ones are 0.
    pub layers: Vec<Vec<Vec<Vec<f32>>>>,
}

/// What one head was measured to do, by `inspect heads`. Shares are in 0..=1.
#[derive(Clone, Debug, Serialize)]
pub struct HeadRow {
    /// Its block, from 0.
    pub layer: usize,
    /// Its number in the block, from 0.
    pub head: usize,
    /// Measured quantities in the order of their columns: a name and a value.
    pub scores: Vec<(&'static str, f64)>,
    /// What it does most, in words; empty when nothing stands out.
    pub role: Bilingual,
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

/// A head switched off and what is left.
#[derive(Clone, Debug, Serialize)]
pub struct Pruned {
    /// Its block, from 0.
    pub layer: usize,
    /// Its number in the block, from 0.
    pub head: usize,
    /// Validation loss then.
    pub loss: f64,
    /// Facts right then.
    pub facts: Option<f64>,
}

/// Models that differ in their number of heads only, each trained with several seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// One for each number of heads.
    pub rows: Vec<Compared>,
    /// What was measured, in words.
    pub conclusion: Vec<Bilingual>,
}

/// One number of heads.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// H.
    pub n_heads: usize,
    /// Validation loss of each seed, in nats for a token.
    pub loss: Vec<f64>,
    /// Seconds of training of each seed.
    pub seconds: Vec<f64>,
    /// For each kind of fact: its name, and the share right with each seed.
    pub facts: Vec<(String, Vec<f64>)>,
}
