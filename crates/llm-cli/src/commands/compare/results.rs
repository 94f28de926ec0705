//! What was measured so far, as numbers, a table and a page.

use super::costs::{AtLength, Costs};
use super::statistics::{conclude, values_of};
use super::vary::{HEADS, KIND, Variant};
use crate::error::Result;
use crate::events::Scores;
use crate::lang::Lang;
use crate::messages::{compare as say, fact_said, said, spelled};
use crate::table::{Column, table};
use llm_core::Config;
use llm_core::base::escape::escaped_json;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_report::{
    Bilingual, Compared, ComparedCosts, Comparison, Fact, GroupSpread, Page, RunFolder,
    SeveralRuns, Shared, fact_label, settings,
};
use llm_stories::FactKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// One training.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// Which of [`Common::variants`].
    #[serde(skip)]
    pub variant: usize,
    pub heads: usize,
    pub head_dim: usize,
    pub parameters: u64,
    /// The settings in which it differs, by their flags.
    pub settings: BTreeMap<String, String>,
    pub seed: u64,
    /// Of training, without measurements and saves.
    pub seconds: f64,
    /// Its folder.
    pub path: String,
    #[serde(flatten)]
    pub scores: Scores,
    /// What else there is to say where kinds of models are compared.
    #[serde(flatten)]
    pub costs: Option<Costs>,
    #[serde(skip)]
    pub steps: u64,
    #[serde(skip)]
    pub tokens_per_step: u64,
}

/// A training that ran away before its last step.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Diverged {
    /// Which of [`Common::variants`].
    #[serde(skip)]
    pub variant: usize,
    /// As of [`Run`].
    pub settings: BTreeMap<String, String>,
    pub seed: u64,
    /// How that was seen.
    pub why: String,
    /// Its folder.
    pub path: String,
}

/// What all trainings have in common.
pub(super) struct Common {
    pub program: &'static str,
    pub threads: usize,
    pub data: Message,
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Of the first training, as the recipe and the number of weights.
    pub config: Config,
    pub parameters: u64,
    /// D, of each variant.
    pub head_dims: Vec<usize>,
    pub recipe: Recipe,
    pub variants: Vec<Variant>,
    pub seeds: Vec<u64>,
    /// Of the stories, see [`Comparison`].
    pub floor: Option<f64>,
    pub without_reading: Option<[f64; 2]>,
}

/// Everything, and what is still to come.
pub(super) struct Results {
    pub common: Common,
    pub runs: Vec<Run>,
    pub diverged: Vec<Diverged>,
}

impl Results {
    /// Number of trainings that were asked for.
    pub(super) fn planned(&self) -> usize {
        self.common.variants.len() * self.common.seeds.len()
    }

    /// The flags in which they differ.
    pub(super) fn differ_in(&self) -> Vec<&str> {
        let first = self.common.variants.first().map_or(&[][..], |variant| &variant.settings);
        first.iter().map(|(flag, _)| flag.as_str()).collect()
    }

    /// Are they kinds of models?
    pub(super) fn by_kind(&self) -> bool {
        self.differ_in().contains(&KIND)
    }

    /// By what differs, and what is to be said about it.
    pub(super) fn comparison(&self) -> Comparison {
        let rows = (0..self.common.variants.len()).map(|variant| self.row(variant));
        let differ_in = self.differ_in();
        let mut comparison = Comparison {
            complete: self.runs.len() + self.diverged.len() == self.planned(),
            by_heads: differ_in == [HEADS],
            differ_in: differ_in.join("/"),
            rows: rows.filter(|row| !row.loss.is_empty()).collect(),
            floor: self.common.floor,
            without_reading: self.common.without_reading,
            conclusion: Vec::new(),
        };
        let conclusions = conclude(&comparison, self.planned(), &self.ran_away());
        comparison.conclusion = conclusions.iter().map(say::Conclusion::text).collect();
        comparison
    }

    /// The kinds of trainings of which some ran away, and how many.
    fn ran_away(&self) -> Vec<(Bilingual, usize)> {
        let of = |variant: usize| {
            let n = self.diverged.iter().filter(|run| run.variant == variant).count();
            (n > 0).then(|| (self.common.variants[variant].name(), n))
        };
        (0..self.common.variants.len()).filter_map(of).collect()
    }

    fn row(&self, variant: usize) -> Compared {
        let runs = || self.runs.iter().filter(move |run| run.variant == variant);
        let Variant { n_heads, .. } = self.common.variants[variant];
        let of_first = |of: fn(&Run) -> u64| runs().next().map_or(0, of);
        let share = |run: &Run, kind: &str| run.scores.facts.as_ref()?.get(kind).copied();
        let facts = FactKind::ALL.iter().map(|kind| {
            (kind.name().to_string(), runs().filter_map(|run| share(run, kind.name())).collect())
        });
        Compared {
            name: self.common.variants[variant].name(),
            values: self.common.variants[variant].values(),
            n_heads,
            head_dim: of_first(|run| run.head_dim as u64) as usize,
            parameters: of_first(|run| run.parameters),
            tokens: of_first(|run| run.steps.saturating_mul(run.tokens_per_step)),
            seeds: runs().map(|run| run.seed).collect(),
            loss: runs().map(|run| run.scores.val_loss).collect(),
            seconds: runs().map(|run| run.seconds).collect(),
            facts_total: runs().filter_map(|run| run.scores.facts_accuracy).collect(),
            facts: facts.filter(|(_, values): &(_, Vec<f64>)| !values.is_empty()).collect(),
            costs: self.costs(variant),
        }
    }

    /// What a kind costs, and its losses in longer windows.
    fn costs(&self, variant: usize) -> Option<ComparedCosts> {
        let runs = || self.runs.iter().filter(move |run| run.variant == variant);
        let first = runs().next()?.costs.as_ref()?;
        let steps = |run: &Run| run.steps.max(1) as f64;
        let per_second =
            |run: &Run| steps(run) * run.tokens_per_step as f64 / run.seconds.max(1e-9);
        let at = |length: &AtLength| {
            let same = |run: &Run| {
                let lengths = &run.costs.as_ref()?.at_lengths;
                lengths.iter().find(|other| other.times == length.times)?.loss
            };
            (length.times, runs().filter_map(same).collect())
        };
        Some(ComparedCosts {
            step_ms: runs().map(|run| 1e3 * run.seconds / steps(run)).collect(),
            tokens_per_s: runs().map(per_second).collect(),
            cache_bytes: first.cache_bytes_per_token,
            at_lengths: first.at_lengths.iter().map(at).collect(),
            refused: first.at_lengths.iter().any(|length| length.refused),
        })
    }

    /// `compare.json`.
    pub(super) fn json(&self) -> serde_json::Result<String> {
        let Common { program, config, recipe, seeds, .. } = &self.common;
        let (comparison, heads) = (self.comparison(), self.heads());
        let whole = serde_json::json!({
            "program": program,
            "version": env!("CARGO_PKG_VERSION"),
            "threads": self.common.threads,
            "data": spelled(&self.common.data),
            "heads": heads,
            "seeds": seeds,
            "steps": recipe.total_steps,
            "recipe": recipe,
            "model": { "vocab_size": config.vocab_size, "seq_len": config.seq_len,
                       "d_model": config.d_model, "n_layers": config.n_layers },
            "complete": comparison.complete,
            "runs": self.runs,
            "diverged": self.diverged,
            "comparison": comparison,
        });
        Ok(escaped_json(&serde_json::to_string_pretty(&whole)?) + "\n")
    }

    /// `compare.csv`: a row for each run.
    pub(super) fn csv(&self) -> io::Result<Vec<u8>> {
        let mut table = csv::Writer::from_writer(Vec::new());
        let names = ["heads", "head_dim", "parameters", "seed", "seconds", "val_loss"];
        let more = ["bits_per_byte", "accuracy", "tokens", "facts_accuracy"];
        let kinds = || FactKind::ALL.iter().map(|kind| kind.name());
        let varied = self.differ_in().into_iter().filter(|flag| *flag != HEADS);
        let last: Vec<&str> = varied.chain(["path"]).collect();
        table.write_record(names.into_iter().chain(more).chain(kinds()).chain(last.clone()))?;
        for run in &self.runs {
            let Run { heads, head_dim, parameters, seed, seconds, scores, settings, path, .. } =
                run;
            let known = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
            let first = [heads.to_string(), head_dim.to_string(), parameters.to_string()];
            let then = [seed.to_string(), seconds.to_string(), scores.val_loss.to_string()];
            let next = [known(scores.bits_per_byte), scores.accuracy.to_string()];
            let all = [scores.tokens.to_string(), known(scores.facts_accuracy)];
            let facts = scores.facts.as_ref();
            let facts = kinds().map(|kind| known(facts.and_then(|f| f.get(kind).copied())));
            let own = |flag: &&str| settings.get(*flag).unwrap_or(path).clone();
            let cells = first.into_iter().chain(then).chain(next).chain(all).chain(facts);
            let cells = cells.chain(last.iter().map(own));
            table.write_record(cells)?;
        }
        table.into_inner().map_err(|e| io::Error::other(e.to_string()))
    }

    /// `report.html`.
    pub(super) fn page(&self, title: &str) -> Result<Page> {
        let Common { program, threads, data, tokenizer, config, parameters, .. } = &self.common;
        let Common { head_dims, recipe, seeds, .. } = &self.common;
        let mut facts = settings(&Shared {
            program,
            data,
            tokenizer: tokenizer.as_ref(),
            config,
            heads: &self.heads(),
            head_dims: &each_once(head_dims.iter().copied()),
            parameters: *parameters,
            recipe,
            seeds,
            threads: *threads,
        });
        if self.differ_in() != [HEADS] {
            facts.insert(0, Fact::new(say::varied(), say::first_below(self.compared())));
        }
        let steps = thousands(recipe.total_steps);
        facts.push(Fact::new(say::steps(), steps));
        let runs = format!("{} / {}", self.runs.len(), self.planned());
        facts.push(Fact::new(say::runs(), runs));
        Ok(Page {
            title: title.to_string(),
            made_by: format!("{program} {} compare", env!("CARGO_PKG_VERSION")),
            facts,
            compare: Some(self.comparison()),
            runs: Some(self.curves()?),
            kinds: FactKind::ALL.iter().map(|kind| (kind.name(), fact_label(*kind))).collect(),
            ..Page::default()
        })
    }

    /// Their curves: those that differ in the seed alone look alike.
    fn curves(&self) -> Result<SeveralRuns> {
        let done = self.runs.iter().map(|run| (run.variant, &run.settings, run.seed, &run.path));
        let ran_away =
            self.diverged.iter().map(|run| (run.variant, &run.settings, run.seed, &run.path));
        let runs: Vec<_> = done.chain(ran_away).collect();
        let folders: Vec<_> =
            runs.iter().map(|(.., path)| RunFolder::read(Path::new(path))).collect();
        let differing = self.differ_in();
        let told = runs.iter().map(|&(variant, settings, seed, _)| {
            let value = |flag: &&str| settings.get(*flag).cloned().unwrap_or_default();
            (variant, differing.iter().map(value).chain([seed.to_string()]).collect())
        });
        let columns = differing.iter().copied().chain(["seed"]).map(String::from).collect();
        let groups = self.common.variants.iter().map(Variant::name).collect();
        SeveralRuns::in_groups(&folders, columns, told, groups)
    }

    /// What is compared, in a line: `heads 1, 4`, or `lr 1e-3, 3e-3 · heads 1, 4`.
    pub(super) fn compared(&self) -> String {
        let variants = &self.common.variants;
        let values = |flag: &str| {
            let of = |variant: &Variant| {
                let found = variant.settings.iter().find(|(known, _)| known == flag);
                found.map(|(_, value)| value.clone())
            };
            let values = each_once(variants.iter().filter_map(of));
            format!("{flag} {}", values.join(", "))
        };
        self.differ_in().into_iter().map(values).collect::<Vec<_>>().join(" · ")
    }

    /// The name of the first run's folder.
    pub(super) fn first_folder(&self) -> String {
        let Common { variants, seeds, .. } = &self.common;
        let first = variants.first().zip(seeds.first());
        first.map_or_else(String::new, |(variant, seed)| variant.folder(*seed))
    }

    /// Their numbers of heads, each once.
    pub(super) fn heads(&self) -> Vec<usize> {
        each_once(self.common.variants.iter().map(|of| of.n_heads))
    }

    /// Everything for a person at a terminal.
    pub(super) fn text(&self, room: usize) -> String {
        let comparison = self.comparison();
        let mut text = main_table(&comparison, room);
        text.push_str(&super::costs::text(&comparison, room));
        text.push_str(&facts_table(&comparison, room));
        if let Some([frequent, last]) = comparison.without_reading {
            text.push_str(&said(message!(
                "without reading: most frequent word {:.1} %, last mentioned {:.1} %\n",
                100.0 * frequent,
                100.0 * last
            )));
        }
        if let Some(floor) = comparison.floor {
            text.push_str(&said(message!(
                "floor: {:.4} nats, the stories' own entropy; no model's expected loss is below\n",
                floor
            )));
        }
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        for line in &comparison.conclusion {
            text.push_str(&format!("{}\n", Lang::said(line.clone())));
        }
        text
    }
}

/// Without those that came before, in order.
fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

fn main_table(comparison: &Comparison, room: usize) -> String {
    let has_facts = comparison.rows.iter().any(|row| !row.facts_total.is_empty());
    let (mut columns, mut first) = match comparison.by_heads {
        true => (vec![Column::right(0, 5), Column::right(1, 5)], vec![said("heads"), "D".into()]),
        false => (vec![Column::left(0, 0)], vec![comparison.differ_in.clone()]),
    };
    columns.extend([Column::right(1, 12), Column::right(1, 7), Column::left(3, 34)]);
    columns.extend(has_facts.then_some(Column::left(3, 30)));
    columns.push(Column::right(1, 7));
    first.extend(["parameters", "seeds", "validation loss (min–max)"].map(said));
    first.extend(has_facts.then(|| said("facts right (min–max)")));
    first.push(said("s/run"));
    let cells = |row: &Compared| {
        let loss = GroupSpread::of(&row.loss).map_or(String::new(), |s| shown(&s, 1.0, 4, ""));
        let facts = GroupSpread::of(&row.facts_total);
        let facts = facts.map_or("–".to_string(), |s| shown(&s, 100.0, 1, " %"));
        let seconds = GroupSpread::of(&row.seconds).map_or(0.0, |s| s.mean);
        let mut cells = match comparison.by_heads {
            true => vec![row.n_heads.to_string(), row.head_dim.to_string()],
            false => vec![row.values.clone()],
        };
        cells.extend([thousands(row.parameters), row.seeds.len().to_string()]);
        cells.push(loss);
        cells.extend(has_facts.then_some(facts));
        cells.push(format!("{seconds:.1}"));
        cells
    };
    let rows: Vec<_> = std::iter::once(first).chain(comparison.rows.iter().map(cells)).collect();
    let below =
        "(mean ± sample standard deviation over the seeds; all other settings are the same)\n\n";
    table(&columns, &rows, room) + &said(below)
}

fn facts_table(comparison: &Comparison, room: usize) -> String {
    let kinds = comparison.rows.first().map_or(&[][..], |row| &row.facts);
    if kinds.is_empty() {
        return String::new();
    }
    let row = |name: String, places: String, of: &dyn Fn(&Compared) -> String| {
        [name, places].into_iter().chain(comparison.rows.iter().map(of)).collect::<Vec<_>>()
    };
    let names = |row: &Compared| Lang::said(row.name.clone());
    let mut rows = vec![row(said("facts right, %"), said("places"), &names)];
    for (name, _) in kinds {
        let kind = FactKind::ALL.iter().copied().find(|kind| kind.name() == name);
        let said = kind.map_or_else(|| name.clone(), fact_said);
        let places = kind.map_or(0, FactKind::places);
        rows.push(row(said, places.to_string(), &|row| cell(values_of(row, name))));
    }
    rows.push(row(said("all"), String::new(), &|row| cell(&row.facts_total)));
    let mut columns = vec![Column::left(0, 14), Column::right(2, 6)];
    columns.resize(2 + comparison.rows.len(), Column::right(2, 13));
    table(&columns, &rows, room)
}

fn cell(values: &[f64]) -> String {
    match GroupSpread::of(values) {
        Some(GroupSpread { mean, deviation: Some(sd), .. }) => {
            format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * sd)
        }
        Some(GroupSpread { mean, .. }) => format!("{:.1}", 100.0 * mean),
        None => "–".to_string(),
    }
}

/// Mean ± deviation, and the range.
fn shown(spread: &GroupSpread, scale: f64, decimals: usize, unit: &str) -> String {
    let of = |x: f64| format!("{:.decimals$}", scale * x);
    let GroupSpread { mean, deviation, low, high } = *spread;
    match deviation {
        Some(sd) => format!("{} ± {}{unit} ({}–{})", of(mean), of(sd), of(low), of(high)),
        None => format!("{}{unit}", of(mean)),
    }
}
