//! The page of a comparison.

use super::results::Results;
use super::variant::{HEADS, Variant, each_once};
use crate::bilingual::Bilingual;
use crate::data::{Fact, Page};
use crate::facts::settings;
use crate::labels::fact_label;
use crate::left::RunFolder;
use crate::runs::SeveralRuns;
use llm_core::base::thousands;
use llm_core::message;
use llm_run::Result;
use llm_stories::FactKind;
use std::path::Path;

impl Results {
    /// What is compared, in a line: `heads 1, 4`, or `lr 1e-3, 3e-3 · heads 1, 4`.
    pub fn compared(&self) -> String {
        let values = |name: &str| {
            let settings = self.variants.iter().flat_map(|variant| &variant.settings);
            let values =
                settings.filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
            format!("{name} {}", each_once(values).join(", "))
        };
        self.differ_in().into_iter().map(values).collect::<Vec<_>>().join(" · ")
    }

    /// All of it, and every run's curves.
    ///
    /// # Errors
    /// When a run's log cannot be read.
    pub(super) fn page(&self, title: String) -> Result<Page> {
        let mut facts = settings(&self.common);
        if self.differ_in() != [HEADS] {
            facts.insert(
                0,
                Fact::new(
                    message!("Varied"),
                    message!("{} (below stand those of the first)", self.compared()),
                ),
            );
        }
        let steps = thousands(self.common.recipe.total_steps);
        facts.push(Fact::new(message!("Steps of each run"), steps));
        let runs = format!("{} / {}", self.runs.len(), self.planned());
        facts.push(Fact::new(message!("Runs done"), runs));
        let kinds = FactKind::ALL.iter();
        Ok(Page {
            title,
            made_by: format!("{} {} compare", self.common.program, env!("CARGO_PKG_VERSION")),
            facts,
            compare: Some(self.comparison()),
            runs: Some(self.curves()?),
            kinds: kinds.map(|kind| (kind.name(), fact_label(*kind).into())).collect(),
            ..Page::default()
        })
    }

    /// Curves of the runs: those that differ in the seed alone look alike.
    fn curves(&self) -> Result<SeveralRuns> {
        let done = self.runs.iter().map(|run| (&run.variant.settings, run.seed, &run.path));
        let ran_away = self.diverged.iter().map(|run| (&run.settings, run.seed, &run.path));
        let runs: Vec<_> = done.chain(ran_away).collect();
        let folders: Vec<_> =
            runs.iter().map(|(.., path)| RunFolder::read(Path::new(path))).collect();
        let told = runs.iter().map(|(settings, seed, _)| {
            let group = self.variants.iter().position(|variant| variant.settings == **settings);
            let values = settings.iter().map(|(_, value)| value.clone());
            (group.unwrap_or(0), values.chain([seed.to_string()]).collect())
        });
        let columns = self.differ_in().into_iter().chain(["seed"]).map(String::from).collect();
        let groups = self.variants.iter().map(Variant::name);
        let groups = groups.map(Bilingual::from).collect();
        SeveralRuns::in_groups(&folders, columns, told, groups)
    }
}
