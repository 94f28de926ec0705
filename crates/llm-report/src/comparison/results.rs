//! What was measured so far.

use super::conclusions::conclude;
use super::costs::{AtLength, Costs};
use super::ladder::{Measured, climbed};
use super::variant::{HEADS, KIND, Variant, by_name};
use crate::bilingual::Bilingual;
use crate::data::{Climbed, Compared, ComparedCosts, Comparison};
use crate::facts::Shared;
use llm_core::base::Message;
use llm_run::data::Report;
use llm_run::ladder::Ladder;
use llm_stories::FactKind;
use serde::Serialize;

/// One training.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Apart from its seed.
    #[serde(flatten)]
    pub variant: Variant,
    /// Seed of weights, batches and samples.
    pub seed: u64,
    /// Seconds of training, without measurements and saves.
    pub seconds: f64,
    /// The folder of the run.
    pub path: String,
    /// What was measured at its end.
    #[serde(flatten)]
    pub report: Report,
    /// What else there is to say where kinds of models are compared.
    #[serde(flatten)]
    pub costs: Option<Costs>,
}

/// A training that ran away before its last step.
#[derive(Clone, Debug, Serialize)]
pub struct Diverged {
    /// The settings of its [`Variant`].
    #[serde(serialize_with = "by_name")]
    pub settings: Vec<(String, String)>,
    /// The seed, as of a [`Run`].
    pub seed: u64,
    /// How that was seen.
    pub why: String,
    /// The folder of the run.
    pub path: String,
}

/// Everything, and what is still to come.
#[derive(Debug)]
pub struct Results {
    /// What all trainings have in common; config, recipe and number of weights are the first one's.
    pub common: Shared,
    /// What is trained with each seed.
    pub variants: Vec<Variant>,
    /// Everything that was asked for, by which a comparison that goes on is known.
    pub plan: serde_json::Value,
    /// The rules of the sizes, where they are those of a ladder.
    pub ladder: Option<Ladder>,
    /// The floor of the stories' loss, see [`Comparison`].
    pub floor: Option<f64>,
    /// Facts right without reading, see [`Comparison`].
    pub without_reading: Option<[f64; 2]>,
    /// The runs that are done.
    pub runs: Vec<Run>,
    /// The runs that diverged.
    pub diverged: Vec<Diverged>,
}

impl Results {
    /// Number of trainings that were asked for.
    pub fn planned(&self) -> usize {
        self.variants.len() * self.common.seeds.len()
    }

    /// The settings in which they differ.
    pub fn differ_in(&self) -> Vec<&str> {
        let first = self.variants.first().map_or(&[][..], |variant| &variant.settings);
        first.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Whether they are kinds of models.
    pub fn by_kind(&self) -> bool {
        self.differ_in().contains(&KIND)
    }

    /// By what differs, and what is to be said about it.
    pub fn comparison(&self) -> Comparison {
        let (rows, differ_in) = (self.variants.iter().map(|of| self.row(of)), self.differ_in());
        let mut comparison = Comparison {
            complete: self.runs.len() + self.diverged.len() == self.planned(),
            by_heads: differ_in == [HEADS],
            differ_in: differ_in.join("/"),
            rows: rows.filter(|row| !row.loss.is_empty()).collect(),
            floor: self.floor,
            without_reading: self.without_reading,
            differences: Vec::new(),
            conclusion: Vec::new(),
            ladder: self.ladder.as_ref().map(|of| self.climbed(of)),
        };
        let (differences, said) = conclude(&comparison, self.planned(), &self.ran_away());
        comparison.differences = differences;
        comparison.conclusion = said.into_iter().map(Bilingual::from).collect();
        comparison
    }

    /// The laws of the sizes so far.
    fn climbed(&self, of: &Ladder) -> Climbed {
        let measured = |variant| {
            let losses = self.row(variant).loss;
            Measured { variant, is_whole: losses.len() == self.common.seeds.len(), losses }
        };
        climbed(of, &self.variants.iter().map(measured).collect::<Vec<_>>(), self.floor)
    }

    /// The kinds of trainings of which some ran away, and how many.
    fn ran_away(&self) -> Vec<(Message, usize)> {
        let of = |variant: &Variant| {
            let n = self.diverged.iter().filter(|run| run.settings == variant.settings).count();
            (n > 0).then(|| (variant.name(), n))
        };
        self.variants.iter().filter_map(of).collect()
    }

    fn row(&self, of: &Variant) -> Compared {
        let runs: Vec<&Run> = self.runs.iter().filter(|run| run.variant == *of).collect();
        let facts = || runs.iter().filter_map(|run| run.report.facts.as_ref());
        let shares = |kind: &FactKind| {
            let shares = facts().filter_map(|facts| Some(facts.kinds.get(kind)?.share()));
            (*kind, shares.collect::<Vec<_>>())
        };
        let kinds = FactKind::ALL.iter().map(shares);
        Compared {
            name: of.name(),
            values: of.values(),
            n_heads: of.n_heads,
            head_dim: of.head_dim,
            parameters: of.parameters,
            learned: of.learned(),
            rung: of.rung.clone(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            loss: runs.iter().map(|run| run.report.evaluation.loss).collect(),
            seconds: runs.iter().map(|run| run.seconds).collect(),
            facts_total: facts().map(|facts| facts.total().share()).collect(),
            facts: kinds.filter(|(_, shares)| !shares.is_empty()).collect(),
            costs: costs(of, &runs),
        }
    }
}

/// What a kind costs, and its losses in longer windows.
fn costs(of: &Variant, runs: &[&Run]) -> Option<ComparedCosts> {
    let first = runs.first()?.costs.as_ref()?;
    let steps = of.steps.max(1) as f64;
    let tokens = steps * of.tokens_per_step as f64;
    let at = |length: &AtLength| {
        let same = |run: &&Run| {
            let lengths = &run.costs.as_ref()?.at_lengths;
            lengths.iter().find(|other| other.times == length.times)?.loss
        };
        (length.times, runs.iter().filter_map(same).collect())
    };
    Some(ComparedCosts {
        step_ms: runs.iter().map(|run| 1e3 * run.seconds / steps).collect(),
        tokens_per_s: runs.iter().map(|run| tokens / run.seconds.max(1e-9)).collect(),
        cache_bytes: first.cache_bytes_per_token,
        at_lengths: first.at_lengths.iter().map(at).collect(),
        refused: first.at_lengths.iter().any(|length| length.refused),
    })
}
